"""Whether a plan is one of this model and this optimizer."""

import collections
import copy
import re

import torch

from .errors import ApplyError
from .numbers import HYPER
from .tensors import DTYPES

ONLY_AT_FIRST = {"initial_accumulator_value"}  # numbers that make state, and no update reads
REMEDY = "Record and plan the step of this model again."
# What stands before the names of a model in another, and what to give instead.
WRAPPERS = {
    "module.": "Give the model without its wrapper (model.module): apply does what "
               "DistributedDataParallel does.",
    "_orig_mod.": "Give the model that torch.compile was given: apply compiles the step itself "
                  "(compile=True).",
}
WIDER = "Give apply the model in the type in which the plan keeps parameters (mixed_precision)."


def named_tensors(model, loss):
    """Recorded name -> tensor, of parameters and buffers; tied ones under their first name."""
    found = {}
    roots = [(model, "")]
    if isinstance(loss, torch.nn.Module):
        roots.append((loss, "loss." if not hasattr(model, "loss") else "loss_."))
    seen = set()
    for root, prefix in roots:
        for kind, tensors in (("param", root.named_parameters()), ("buffer", root.named_buffers())):
            for path, tensor in tensors:
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    found[f"{kind}:{prefix}{path}"] = tensor
    return found


def constant_of(model, name):
    """A tensor in a plain attribute, by its recorded name, or None."""
    found = model
    for part in name.partition(":")[2].split("."):
        if isinstance(found, (list, tuple)) and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        elif isinstance(found, dict) and part in found:
            found = found[part]
        else:
            found = getattr(found, part, None)
    return found if isinstance(found, torch.Tensor) else None


def check_kinds(model, optimizer):
    """Whether a model and an optimizer are given as such."""
    for name, value, kind in (("model", model, torch.nn.Module),
                              ("optimizer", optimizer, torch.optim.Optimizer)):
        if not isinstance(value, kind):
            what = f"the class {value.__name__}" if isinstance(value, type) else \
                f"of {type(value).__name__}"
            raise ApplyError("argument", f"it is {what}, no torch.{kind.__module__.split('.')[1]}."
                             f"{kind.__name__}", name, "apply takes plan, model and optimizer.")


def check_model(step, tensors):
    """`tensors`: those of named_tensors()."""
    recorded = {name: r for name, r in step.recorded.items() if r["kind"] in ("param", "buffer")
                and not name.startswith("buffer:placewright.")}
    for name, record in recorded.items():
        what = name.replace("param:", "the parameter ").replace("buffer:", "the buffer ")
        other = ("buffer:" if name.startswith("param:") else "param:") + name.partition(":")[2]
        tensor = tensors.get(name, tensors.get(other))
        if tensor is None:
            raise ApplyError("plan-mismatch", "the model has none of this name", what,
                             _wrapped(name, tensors) or REMEDY)
        if list(tensor.shape) != record["shape"] or not may_be(step, name, tensor.dtype):
            raise ApplyError(
                "plan-mismatch", f"the model's is {list(tensor.shape)} of {tensor.dtype}, the "
                f"plan's {record['shape']} of {DTYPES[record['dtype']]}", what,
                WIDER if name in step.wider else REMEDY)
        if tensor.device.type == "meta":
            raise ApplyError("no-weights", "it has no values (device \"meta\")", what,
                             "Load the weights first.")
    for name, tensor in tensors.items():
        if name.startswith("param:") and name not in recorded and tensor.requires_grad:
            raise ApplyError("plan-mismatch", "the plan has none of this name",
                             name.replace("param:", "the parameter "), REMEDY)


def _wrapped(name, tensors):
    kind, _, path = name.partition(":")
    return next((remedy for wrapper, remedy in WRAPPERS.items()
                 if f"{kind}:{wrapper}{path}" in tensors), None)


def may_be(step, name, dtype):
    """Whether the model's tensor may be of this type. Where a plan keeps parameters in a wider type
    than the step computes in, buffers are cast."""
    recorded = DTYPES[step.recorded[name]["dtype"]]
    casts = bool(step.wider) and name.startswith("buffer:")
    return dtype == recorded or (casts and dtype.is_floating_point and recorded.is_floating_point)


def check_unscaled(step):
    for op in step.ops:
        if op.target.startswith("aten._amp_"):
            raise ApplyError("not-supported", "the step scales its loss (GradScaler), which apply "
                             "does not", op.target, "Record it without the scaler: bfloat16 needs "
                             "none.")


def check_optimizer(step, optimizer):
    own = type(optimizer).__name__
    if not step.optimizer:
        raise ApplyError("plan-mismatch", "the recorded step has no update", str(step.path),
                         "Record it with the optimizer.")
    if own.lower() != step.optimizer:
        raise ApplyError("plan-mismatch", f"the optimizer is {own}, the recorded one was "
                         f"{step.optimizer}", str(step.path),
                         "Record and plan the step with this optimizer.")
    if not step.numbers:
        raise ApplyError("number-constant", "the recorded step holds the numbers of its update "
                         "(the rate, the count of steps) as constants", str(step.path),
                         "Record it with python/placewright_export.py of this version.")
    for name in step.numbers:
        found = HYPER.match(name)
        if found and int(found.group(1)) >= len(optimizer.param_groups):
            raise ApplyError("plan-mismatch", f"the optimizer has {len(optimizer.param_groups)} "
                             "groups, the recorded one more", f"number {name}", REMEDY)
    for i, group in enumerate(optimizer.param_groups):
        for key in optimizer.defaults.keys() - ONLY_AT_FIRST:  # not what schedulers add
            value = group.get(key)
            for name, number in _numbers_of(f"{i}.{key}", value):
                if number not in (0, 1, -1) and name not in step.numbers:
                    raise ApplyError(
                        "plan-mismatch", f"the optimizer's is {number}, and no number of the "
                        "recorded update follows it", f"{own}'s {name}",
                        "Record and plan the step with this optimizer.")


def _numbers_of(name, value):
    if isinstance(value, float):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for k, item in enumerate(value):
            yield from _numbers_of(f"{name}.{k}", item)


def like(optimizer, members, state):
    """An optimizer of the same class and numbers, whose groups have other parameters."""
    made = copy.copy(optimizer)
    for name, value in vars(made).items():
        if name.endswith("_hooks") and isinstance(value, dict):
            setattr(made, name, type(value)())
    vars(made).pop("step", None)  # as schedulers wrap it
    made.state = state
    made.param_groups = [{**group, "params": own}
                         for group, own in zip(optimizer.param_groups, members, strict=True)]
    return made


def fresh_state(optimizer):
    """For each group of the optimizer the state that its class makes for a parameter of one element
    in a first step with a gradient of 0. The optimizer itself is left as it is."""
    made = []
    for group in optimizer.param_groups:
        dtype = next((parameter.dtype for parameter in group["params"]), torch.float32)
        made.append(torch.nn.Parameter(torch.zeros(1, dtype=dtype)))
        made[-1].grad = torch.zeros_like(made[-1])
    scratch = like(optimizer, [[one] for one in made], collections.defaultdict(dict))
    for group in scratch.param_groups:
        group.update(foreach=False, fused=False, capturable=False)
    type(optimizer).step(scratch)
    return [dict(scratch.state.get(one, {})) for one in made]


def steps_behind(optimizer):
    """How many steps the optimizer's state has behind it."""
    counts = set()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.requires_grad:
                state = optimizer.state.get(parameter, {})
                counts.add(int(float(state.get("step", 0))))
    if len(counts) > 1:
        raise ApplyError("number-unknown", f"parameters stand at {sorted(counts)} steps",
                         type(optimizer).__name__,
                         "apply counts the steps of all parameters together.")
    return counts.pop() if counts else 0


SLOT = re.compile(r"opt_state:(.+)$")


class OptimizerState:
    """The user's optimizer state by recorded names, and what a fresh optimizer begins with."""

    def __init__(self, step, tensors, optimizer):
        self._optimizer = optimizer
        self._fresh = None
        self._groups = {id(p): i for i, group in enumerate(optimizer.param_groups)
                        for p in group["params"]}
        paths = {name.partition(":")[2]: t for name, t in tensors.items()
                 if name.startswith("param:")}
        self.slots = {}  # recorded name -> (parameter, slot)
        for name, record in step.recorded.items():
            if record["kind"] != "opt_state":
                continue
            rest = name.partition(":")[2]
            path = max((p for p in paths if rest.startswith(p + ".")), key=len, default=None)
            if path is None:
                raise ApplyError("plan-mismatch", "it belongs to no parameter", name, REMEDY)
            if id(paths[path]) not in self._groups:
                raise ApplyError("plan-mismatch", "the optimizer does not update it",
                                 f"the parameter {path}", REMEDY)
            self.slots[name] = paths[path], rest[len(path) + 1:]
        self._check_slots()

    def _check_slots(self):
        """What the class keeps for a parameter is what the recorded step updates."""
        recorded: dict = {}
        for parameter, slot in self.slots.values():
            recorded.setdefault(id(parameter), set()).add(slot)
        for name, (parameter, _) in self.slots.items():
            state = self.state_of(parameter)
            own = {key for key, value in state.items()
                   if isinstance(value, torch.Tensor) and value.dim() > 0}
            if parameter.dim() > 0 and own != recorded[id(parameter)]:
                raise ApplyError(
                    "plan-mismatch", f"the optimizer keeps {sorted(own)}, the recorded one "
                    f"{sorted(recorded[id(parameter)])}", name,
                    "Record and plan the step with this optimizer.")

    def state_of(self, parameter):
        """Its state, or what a first step would make of it."""
        state = self._optimizer.state.get(parameter)
        if state:
            return state
        if self._fresh is None:
            self._fresh = fresh_state(self._optimizer)
        return self._fresh[self._groups[id(parameter)]]

    def value_of(self, name):
        parameter, slot = self.slots[name]
        state = self._optimizer.state.get(parameter)
        if state:
            return state[slot]
        first = self.state_of(parameter)[slot]
        group = self._optimizer.param_groups[self._groups[id(parameter)]]
        if first.abs().max() != 0:
            raise ApplyError("state-unknown", "what a first step begins with is not known", name,
                             "Make one step with the optimizer, then apply the plan.")
        if slot == "momentum_buffer" and group.get("dampening"):
            raise ApplyError("state-unknown", "with dampening, a first step is another than the "
                             "recorded one", name,
                             "Make one step with the optimizer, then apply the plan.")
        return torch.zeros_like(parameter, memory_format=torch.contiguous_format)
