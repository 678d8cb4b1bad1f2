"""A plan's files as one step: ops with devices, inputs and collectives.

Plans of version 2 have a compiled step beside them, whose ops are instances on one device each;
plans of version 1 place the ops of the recorded step. See docs/formats/aten-graph.md.
"""

import dataclasses
import gzip
import hashlib
import json
import pathlib
import tempfile

from .. import _program
from .errors import ApplyError

SCHEMAS = ("placewright.plan/1", "placewright.plan/2")


@dataclasses.dataclass
class Op:
    name: str
    target: str
    device: str
    phase: str
    inputs: list
    args: list
    kwargs: dict
    results: list  # {"shape", "dtype"} each, or None
    after: list
    numbers: list  # [*path, formula] of arguments that change between steps

    @property
    def outputs(self):
        return max(len(self.results), 1)


@dataclasses.dataclass
class Input:
    """A tensor from before the step. `of` is the recorded input that it is a part of, `box` the
    part: a list of {"dimension", "outer", "size", "from", "to"}, empty for all of it."""
    name: str
    kind: str
    shape: list
    dtype: str
    of: str
    box: list


@dataclasses.dataclass
class PlannedStep:
    path: pathlib.Path
    ops: list
    inputs: dict  # name -> Input
    collectives: list  # of lists of names of ops
    devices: list  # names of those that have ops, in the plan's order
    classes: dict  # name of a device -> "gpu", "cpu" or another
    loss: str  # a reference
    recorded: dict  # name -> record of the recorded step's inputs, no numbers; in the plan's types
    wider: dict  # recorded name -> the type it was recorded in, where that is another
    numbers: dict  # name without "hyper:" -> value in the recorded step
    batch: int  # samples of the global batch; 0: not known
    optimizer: str  # the class's name in small letters, or ""
    outputs: list


def read(plan_path):
    """Reads the plan and what it names; every file must be the one that was planned."""
    plan, recorded, step = documents(plan_path)
    batch = plan["graph"].get("batch_option") or recorded.get("batch") or 0
    return _step_of(pathlib.Path(plan_path), plan, recorded, step, batch)


def documents(plan_path):
    """The objects of a plan's file, of the recorded step at the plan's batch, and of the step that
    runs: the compiled one, or the recorded one itself."""
    path = pathlib.Path(plan_path)
    plan = _json_of(path)
    if plan.get("schema") not in SCHEMAS:
        raise ApplyError("plan-format", f"its schema is {plan.get('schema')!r}, not one of a plan",
                         str(path), "Write the plan with `placewright plan ... -o FILE`.")
    if not plan.get("feasible", True):
        raise ApplyError("plan-infeasible", "the plan does not fit into the devices' memory",
                         str(path))
    recorded = _json_of(_checked(path, plan["graph"], "recorded step"))
    batch = plan["graph"].get("batch_option") or recorded.get("batch") or 0
    if batch and batch != recorded.get("batch"):
        recorded = _at_batch(recorded, batch)
    if "step" in plan and "lanes" not in plan:
        return plan, recorded, _json_of(_checked(path, plan["step"], "compiled step"))
    if "lanes" in plan or "transforms" in plan:
        return plan, recorded, _compiled(path)
    return plan, recorded, recorded


def _compiled(plan_path):
    """The step of a plan that has none beside it, as one that places ops of a rewritten step, or
    that of one device of each class."""
    with tempfile.TemporaryDirectory() as folder:
        step = pathlib.Path(folder) / "step.json"
        _program.run(["compile", str(plan_path), "-o", str(step)])
        return _json_of(step)


def _json_of(path):
    try:
        data = path.read_bytes()
        return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (OSError, ValueError, EOFError) as error:
        raise ApplyError("file-unreadable", f"cannot be read: {error}", str(path),
                         "The files that a plan names lie where they were when it was made.") \
            from error


def _checked(plan_path, named, what):
    path = plan_path.parent / named.get("path", "")
    if not named.get("path"):
        raise ApplyError("not-recorded", f"the plan names no file of its {what}", str(plan_path),
                         "Plan a step that was recorded from PyTorch.")
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ApplyError("file-unreadable", f"cannot be read: {error}", str(path),
                         "The files that a plan names lie where they were when it was made.") \
            from error
    if found != named["sha256"]:
        raise ApplyError("plan-mismatch", f"it is no longer the {what} that was planned", str(path),
                         "Plan it again.")
    return path


def _at_batch(graph, to):
    """The recorded step at another batch, by its slopes."""
    from placewright_torch.batch_laws import number_at
    batch = graph["batch"]
    tensors = list(graph["inputs"])
    for op in graph["ops"]:
        tensors += [output for output in op["outputs"] if output]
        for *way, law in op.get("slopes", ()):
            holder = op["kwargs"] if isinstance(way[0], str) else op["args"]
            for part in way[:-1]:
                holder = holder[part]
            holder[way[-1]] = number_at(holder[way[-1]], law, batch, to)
    for tensor in tensors:
        for dimension, law in enumerate(tensor.get("slopes", ())):
            tensor["shape"][dimension] = number_at(tensor["shape"][dimension], law, batch, to)
    return graph


def _step_of(path, plan, recorded, step, batch):
    placement = plan.get("placement", {})
    numbers_of = {op["name"]: op for op in recorded["ops"] if "numbers" in op}
    ops = []
    for record in step["ops"]:
        device = placement[record["name"]] if placement else record["device"]
        origin = numbers_of.get(record.get("of", record["name"]))
        numbers = (origin["numbers"] if origin is not None and origin["target"] == record["target"]
                   else [])
        ops.append(Op(record["name"], record["target"], device, record["phase"], record["inputs"],
                      record["args"], record.get("kwargs", {}), record["outputs"],
                      record.get("after", []), numbers))
    used = {op.device for op in ops}
    tensors = {r["name"]: r for r in recorded["inputs"] if r["kind"] != "hyper"}
    inputs = {r["name"]: _input_of(r) for r in step["inputs"] if r["kind"] != "hyper"}
    kept = {one.of: one.dtype for one in inputs.values()}
    wider = {name: r["dtype"] for name, r in tensors.items() if kept.get(name, r["dtype"])
             != r["dtype"]}
    tensors.update({name: {**tensors[name], "dtype": kept[name]} for name in wider})
    return PlannedStep(
        path, ops, inputs,
        [one["members"] for one in step.get("collectives", ())],
        [d["name"] for d in plan["devices"] if d["name"] in used],
        {d["name"]: d.get("class", "") for d in plan["devices"]}, step["outputs"][0],
        tensors, wider,
        {r["name"][len("hyper:"):]: r["value"] for r in recorded["inputs"] if r["kind"] == "hyper"},
        batch, recorded.get("optimizer", ""), step["outputs"])


def _input_of(record):
    of = record.get("of", {"input": record["name"]})
    box = of.get("box", [of] if "dimension" in of else [])
    return Input(record["name"], record["kind"], record["shape"], record["dtype"], of["input"], box)
