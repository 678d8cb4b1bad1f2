"""What a plan makes of parameters and of the batch, read off its compiled step.

Nothing here goes by an algorithm's name: the state of a parameter is what each device's ops read.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from typing import Any

from ..applied import plan_files
from ..errors import InputError

Json = dict[str, Any]
PARAMETER, BUFFER, BATCH = "param", "buffer", "input"


def refused(message: str, place: str, remedy: str) -> InputError:
    """What an engine cannot say; `place` is the module, or what else is in the way."""
    return InputError("not-expressible", message, place=place, remedy=remedy)


def module_of(path: str) -> str:
    """"layers.0.norm.weight" -> "layers.0.norm"."""
    return path.rpartition(".")[0]


def shown(module: str) -> str:
    return f"module {module}" if module else "the model itself"


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of the model, as the plan has it.

    Attributes
    ----------
    path : str
        As `named_parameters` has it, the first of tied ones.
    shape : tuple of int
        Of the whole.
    dimension : int or None
        Along which each rank has an equal part, in the order of the ranks; None: each has all.
    obstacle : str
        Why it is neither; or an empty text.
    readers : frozenset of str
        Modules whose forward pass reads it.
    gathered_again : bool
        The backward pass gathers its parts once more.
    """

    path: str
    shape: tuple[int, ...]
    dimension: int | None
    obstacle: str
    readers: frozenset[str]
    gathered_again: bool

    @property
    def module(self) -> str:
        return module_of(self.path)


@dataclasses.dataclass(frozen=True)
class Instance:
    """An op of the compiled step on one device. `of`: the op of the recorded step that it is an
    instance of; an empty text: it moves, joins or sums pieces."""

    name: str
    target: str
    phase: str
    scope: str
    device: str
    of: str
    inputs: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def communicates(self) -> bool:
        return self.target.startswith("placewright.") and self.kind in (
            "all_gather", "all_reduce", "reduce_scatter", "all_to_all", "broadcast", "reduce")

    @property
    def kind(self) -> str:
        """"aten.mm.default" -> "mm"."""
        return self.target.split(".")[1] if "." in self.target else self.target


class DistributedStep:
    """A plan that splits or copies ops over several devices.

    Attributes
    ----------
    plan, recorded : dict
        The plan's object, and that of the step as it was recorded.
    devices : list of str
        Of the ranks.
    instances : list of Instance
        Ops, in an order in which they can run.
    parameters : list of Parameter
        In the model's order.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.plan, self.recorded, step = plan_files.documents(path)  # type: ignore[no-untyped-call]
        if "step" not in self.plan:
            raise refused("the plan places whole operations on devices", "the plan",
                          "Plan with for_engine= (--for), or train by placewright.apply().")
        rewritten = [str(how) for how in self.plan.get("transforms", []) if how != "counted-draws"]
        if rewritten:
            raise refused(f"the step is rewritten ({', '.join(rewritten)})", "the plan",
                          "Record the model as it is to run (gradient checkpointing is its own), "
                          "or train by placewright.apply().")
        self.instances = [one for op in step["ops"] for one in _instances(op)]
        used = {one.device for one in self.instances}
        self.devices = [one["name"] for one in self.plan["devices"] if one["name"] in used]
        if len(self.devices) < 2:
            raise refused("the plan uses one device alone", self.devices[0],
                          "Train without any of this.")
        self._inputs: dict[str, Json] = {one["name"]: one for one in step["inputs"]}
        self.makers = {one.name: one for one in self.instances}
        self.shapes = {op["name"]: _shapes(op) for op in self.recorded["ops"]}
        self.recorded_inputs: dict[str, Json] = {
            one["name"]: one for one in self.recorded["inputs"] if one["kind"] != "hyper"}

    @property
    def ranks(self) -> int:
        return len(self.devices)

    @property
    def batch(self) -> int:
        """Samples of the step; 0: not known."""
        return int(self.recorded.get("batch") or 0)

    # Tensors

    def maker(self, tensor: str) -> Instance | None:
        """Of "op@device" or "op@device:1"; None for an input of the step."""
        if tensor in self.makers:
            return self.makers[tensor]
        name, colon, _ = tensor.rpartition(":")
        return self.makers.get(name) if colon else None

    def whole_shape(self, tensor: str) -> tuple[int, ...] | None:
        """The shape of what a tensor is, or is a piece of, in the recorded step; None: it is no
        tensor of that step."""
        if tensor in self._inputs:
            found = self.recorded_inputs.get(self.input_of(tensor))
            return None if found is None else tuple(found["shape"])
        made = self.maker(tensor)
        if made is None:
            return None
        if not made.of:
            moves = made.target.startswith("placewright.") and len(made.inputs) == 1
            return self.whole_shape(made.inputs[0]) if moves else None
        index = tensor.rpartition(":")[2] if tensor != made.name else "0"
        outputs = self.shapes.get(made.of, ())
        return outputs[int(index)] if index.isdigit() and int(index) < len(outputs) else None

    def shape(self, tensor: str) -> tuple[int, ...]:
        if tensor in self._inputs:
            return tuple(self._inputs[tensor]["shape"])
        made = self.maker(tensor)
        assert made is not None
        index = int(tensor.rpartition(":")[2]) if tensor != made.name else 0
        return made.shapes[index] if index < len(made.shapes) else ()

    def is_part(self, tensor: str) -> bool:
        """Whether it is a piece of a recorded tensor, smaller than that."""
        whole = self.whole_shape(tensor)
        return whole is not None and whole != self.shape(tensor)

    def input_of(self, tensor: str) -> str:
        """The recorded input that an input of the compiled step is of."""
        of = self._inputs[tensor].get("of")
        return str(of["input"]) if of else tensor

    @functools.cache  # noqa: B019 (a step lives as long as its recipe)
    def parameter_of(self, tensor: str) -> str | None:
        """The parameter, as "param:PATH", that a tensor is, is a piece or a view of."""
        if tensor in self._inputs:
            of = self.input_of(tensor)
            return of if of.startswith(f"{PARAMETER}:") else None
        made = self.maker(tensor)
        if made is None or len(made.inputs) != 1:
            return None
        if made.of and made.kind not in VIEWS:
            return None
        return self.parameter_of(made.inputs[0])

    @functools.cached_property
    def users(self) -> dict[str, list[Instance]]:
        """What reads something that an instance makes, by the instance's name."""
        found: dict[str, list[Instance]] = {}
        for one in self.instances:
            for name in one.inputs:
                made = self.maker(name)
                if made is not None:
                    found.setdefault(made.name, []).append(one)
        return found

    # The batch

    def is_batch(self, tensor: str) -> bool:
        """Whether it is an input that is given anew in every step, or a part of one."""
        return tensor in self._inputs and self._inputs[tensor]["kind"] == BATCH

    def check_batch(self, engine: str) -> None:
        """The batch is in equal parts, one for each rank in their order, and nothing needs others.

        Raises
        ------
        InputError
            With what is in the way.
        """
        for one in self.instances:
            for name in one.inputs:
                if not self.is_batch(name):
                    continue
                dimension = self._batch_dimension(self.input_of(name))
                if dimension is None:
                    continue
                rank, whole = self.devices.index(one.device), self.whole_shape(name)
                found = _even(_box(self._inputs[name]), whole or (), self.ranks, rank)
                if found != dimension:
                    raise refused(
                        f"{one.of or one.name} on {one.device} reads {_shares(self, name)}; "
                        f"{engine} gives each of {self.ranks} ranks an equal part of the batch",
                        _where(one), f"Plan with for_engine={_ENGINE[engine]!r} (--for).")
        self._check_sums(engine)

    def _batch_dimension(self, name: str) -> int | None:
        """Of a recorded input: where the batch is; None: nowhere."""
        slopes = self.recorded_inputs[name].get("slopes", ())
        return next((i for i, slope in enumerate(slopes) if slope), None)

    def _check_sums(self, engine: str) -> None:
        """The forward pass brings nothing together but parameters, losses and statistics."""
        for one in self.instances:
            if one.phase != "fwd" or not one.communicates:
                continue
            if all(self.parameter_of(name) for name in one.inputs) or \
                    one.name not in self._given:
                continue
            if one.kind == "all_reduce" and math.prod(one.shapes[0]) == 1:
                continue
            if one.scope in self.batch_norms:
                continue
            raise refused(
                f"the forward pass brings {one.inputs[0]} together from all ranks ({one.kind}); "
                f"under {engine} ranks exchange nothing but parameters and gradients", _where(one),
                "Train by placewright.apply(), which does that.")

    @functools.cached_property
    def _given(self) -> frozenset[str]:
        """Instances that follow from the batch; others, as positions, are equal on all ranks."""
        found: set[str] = set()
        for one in self.instances:
            made = (self.maker(name) for name in one.inputs)
            if any(map(self.is_batch, one.inputs)) or any(
                    maker is not None and maker.name in found for maker in made):
                found.add(one.name)
        return frozenset(found)

    @functools.cached_property
    def batch_norms(self) -> frozenset[str]:
        """Modules that normalise by the statistics of the batch."""
        return frozenset(op["scope"] for op in self.recorded["ops"]
                         if "batch_norm" in op["target"] and "backward" not in op["target"]
                         and any(value is True for value in op["args"]))

    @functools.cached_property
    def draws(self) -> bool:
        """Whether the step draws random numbers."""
        return any(word in op["target"] for op in self.recorded["ops"]
                   for word in ("bernoulli", "dropout", "aten.rand", "aten.normal"))

    # Parameters

    @functools.cached_property
    def parameters(self) -> list[Parameter]:
        read: dict[str, dict[str, set[str]]] = {}
        readers: dict[str, set[str]] = {}
        again: set[str] = set()
        for one in self.instances:
            for name in one.inputs:
                of = self.parameter_of(name)
                if of is None:
                    continue
                if name in self._inputs:
                    read.setdefault(of, {}).setdefault(one.device, set()).add(name)
                if one.phase == "fwd" and one.of and one.kind not in VIEWS:
                    readers.setdefault(of, set()).add(one.scope)
                if one.phase == "bwd" and one.kind == "all_gather":
                    again.add(of)
        found = []
        for name, record in self.recorded_inputs.items():
            if record["kind"] != PARAMETER or name not in read:
                continue
            dimension, obstacle = self._state(read[name], tuple(record["shape"]))
            found.append(Parameter(name.partition(":")[2], tuple(record["shape"]), dimension,
                                   obstacle, frozenset(readers.get(name, ())), name in again))
        return found

    def _state(self, read: dict[str, set[str]],
               shape: tuple[int, ...]) -> tuple[int | None, str]:
        """Along which dimension it is in parts, and why it cannot be said."""
        missing = [device for device in self.devices if device not in read]
        if missing:
            return None, f"lies on {', '.join(sorted(read))}, and not on {', '.join(missing)}"
        dimensions: set[int | None] = set()
        for rank, device in enumerate(self.devices):
            if len(read[device]) > 1:
                return None, f"is read in several parts by {device}"
            box = _box(self._inputs[next(iter(read[device]))])
            if not box:
                dimensions.add(None)
                continue
            even = _even(box, shape, self.ranks, rank)
            if even is None:
                return None, _uneven(box, device)
            dimensions.add(even)
        if len(dimensions) > 1:
            return None, "is whole on some ranks and in parts on others"
        return dimensions.pop(), ""


_ENGINE = {"DistributedDataParallel": "ddp", "fully_shard": "fsdp2"}
VIEWS = frozenset((
    "t", "view", "_unsafe_view", "transpose", "permute", "alias", "detach", "expand", "unsqueeze",
    "squeeze", "reshape", "all_gather", "split", "_to_copy", "clone", "slice", "select"))


def _instances(op: Json) -> list[Instance]:
    """An op; of a member of a collective of several tensors one for each, with its name."""
    one = Instance(op["name"], op["target"], op["phase"], op.get("scope", ""),
                   op.get("device", ""), op.get("of", ""), tuple(op["inputs"]), _shapes(op))
    single = one.target.removesuffix(".coalesced")
    if single == one.target:
        return [one]
    return [dataclasses.replace(one, name=f"{one.name}:{k}", target=f"{single}.default",
                                inputs=(name,), shapes=(shape,))
            for k, (name, shape) in enumerate(zip(one.inputs, one.shapes, strict=True))]


def _shapes(op: Json) -> tuple[tuple[int, ...], ...]:
    """Of an op's results."""
    return tuple(tuple(one["shape"]) if one else () for one in op["outputs"])


def _where(one: Instance) -> str:
    return shown(one.scope)


def _box(record: Json) -> list[Json]:
    """The part that an input of the compiled step is, by axes; empty: all of it."""
    of = record.get("of") or {}
    if "box" in of:
        return list(of["box"])
    return [of] if "dimension" in of else []


def _even(box: list[Json], shape: tuple[int, ...], ranks: int, rank: int) -> int | None:
    """The dimension of which a rank has its equal, contiguous part; None: it has another one."""
    if len(box) != 1:
        return None
    axis = box[0]
    size = axis["size"]
    even = (axis["outer"] == 1 and size % ranks == 0 and axis["from"] == rank * size // ranks
            and axis["to"] == (rank + 1) * size // ranks and shape[axis["dimension"]] % size == 0)
    return int(axis["dimension"]) if even else None


def _uneven(box: list[Json], device: str) -> str:
    if len(box) > 1:
        return "is in parts along several dimensions"
    axis = box[0]
    part = f"{axis['from']} to {axis['to']} of {axis['size']} along dimension {axis['dimension']}"
    if axis["outer"] > 1:
        return f"is in parts that lie apart, in {axis['outer']} pieces of dimension " \
               f"{axis['dimension']}"
    return f"is in uneven parts ({device} has {part})"


def _shares(step: DistributedStep, name: str) -> str:
    whole, part = step.whole_shape(name), step.shape(name)
    what = step.input_of(name)
    return f"all of {what}" if whole == part else f"{list(part)} of {what} {list(whole or ())}"
