"""The step of one rank as Python source: a function with one line an op.

    def step(state, batch, numbers):
        s0, s1 = state           # pieces on this rank's devices, which the update writes in place
        b0, = batch              # its part of the batch
        n0, = numbers            # rates and counters of this step
        v0 = aten_t_default(s0)
        ...
        return v17, []           # the loss, where this rank has it; gradients of an own update

A collective or transfer begins in a line of its own and ends before its first reader. Tensors are
forgotten behind their last reader.
"""

import dataclasses
import linecache

import torch

from . import op_schemas, own_ops
from .device_ops import operator_on
from .errors import ApplyError
from .exchanges import (
    AllGather,
    AllReduce,
    AllToAll,
    Broadcast,
    ReduceScatter,
    Together,
    copied,
    received,
    sent,
)
from .gradients import Clip, scaled
from .in_place import InPlace
from .order import References
from .tensors import DTYPES


# Where numbers that change are tensors, as compiled steps need them so as not to be compiled again:
# operators that take a tensor in that place, and what those that take none come to.
TAKE_TENSORS = {f"aten.{name}.Tensor" for name in ("mul", "mul_", "div", "div_", "add", "add_",
                                                   "sub", "sub_")}
TENSOR_FORMS = {
    ("aten.addcdiv_.default", "value"): "{0}.add_({1} / {2} * {value})",
    ("aten.addcmul_.default", "value"): "{0}.add_({1} * {2} * {value})",
    ("aten.lerp_.Scalar", 2): "{0}.add_(({1} - {0}) * {2})",
    ("aten.add_.Tensor", "alpha"): "{0}.add_({1} * {alpha})",
    ("aten.sub_.Tensor", "alpha"): "{0}.sub_({1} * {alpha})",
    ("aten.add.Tensor", "alpha"): "({0} + {1} * {alpha})",
    ("aten.sub.Tensor", "alpha"): "({0} - {1} * {alpha})",
}


# Compiled convolutions over two dimensions -> how many of their arguments are images or weights. On
# CPUs inductor has these with channels last, but keeps what a convolution's backward op reads as the
# step had it, so that a step with both copies each of them from one form into the other and back.
CONVOLUTIONS = {"aten.convolution.default": 2, "aten.convolution_backward.default": 3}
# What looks at how elements lie, beside views of what is written behind them.
STRIDED = ("aten.as_strided.default", "aten.as_strided_.default", "aten.view.dtype",
           "aten.view_as_complex.default", "aten.view_as_real.default")


@dataclasses.dataclass
class RankStep:
    function: object
    source: str
    state: list      # (name of an input of the step, device of the plan), in the order of `state`
    batch: list
    formulas: list   # of `numbers`
    transfers: bool  # whether something is sent to or received from one other rank


def generate(step, ordered, groups, clip=None, tensor_numbers=False):
    """The step of the rank that has the devices `groups.places.own`. `clip`: the norm to which
    gradients are clipped, where `ordered` has a place for it. `tensor_numbers`: whether `numbers`
    are tensors without dimensions."""
    writer = _Writer(step, ordered, groups, clip)
    writer.tensor_numbers = tensor_numbers
    return writer.write()


class _Writer:
    def __init__(self, step, ordered, groups, clip):
        self._step, self._ordered, self._groups = step, ordered, groups
        self._limit, self.tensor_numbers = clip, False
        self._own = groups.places.own
        self._device_variables = {name: f"d{i}" for i, name in enumerate(self._own)}
        self._references = References(step)
        self._known = {"torch": torch, "received": received, "sent": sent, "copied": copied,
                       "inf": float("inf"), "nan": float("nan")}
        for name, variable in self._device_variables.items():
            self._known[variable] = self._own[name]
        self._lines = []
        self._variables = {}   # (canonical reference, device of the plan) or transfer -> variable
        self._pending = {}     # variable -> the line that ends what it waits for
        self._sends = {}       # storage -> variables of sends that are under way
        self._uses = {}        # what self._variables has -> place of its last use in the order
        self._last = {}        # place -> what is used there for the last time
        self._formulas = []
        self._results = []     # variables of gradients that are returned
        self._count = 0
        self._transfers = False
        self._in_place = None
        self._last_write = {}  # storage -> place
        self._channels_last = False

    def write(self):
        state, batch = self._inputs()
        own = [(place, node) for place, node in enumerate(self._ordered.nodes)
               if self._takes_part(node)]
        self._find_last_uses(own)
        if self.tensor_numbers:
            self._channels_last = not any(self._looks_at_strides(place, node) for place, node in own)
        else:  # torch.compile decides by itself what it overwrites
            self._in_place = InPlace(self._ordered, self._references, self._own, own, self._uses)
        for place, node in own:
            self._finish_writers_sends(node)
            getattr(self, f"_{node.kind}")(place, node)
            self._forget(place)
        for variables in self._sends.values():
            for variable in variables:
                self._lines.append(f"sent({variable})")
        self._return()
        head = [f"{', '.join(names)}, = {what}" for what, names in (
            ("state", [self._variables[key] for key in state]),
            ("batch", [self._variables[key] for key in batch]),
            ("numbers", [f"n{i}" for i in range(len(self._formulas))])) if names]
        source = "def step(state, batch, numbers):\n" + "".join(
            f"    {line}\n" for line in head + self._lines)
        return RankStep(self._compiled(source), source, state, batch, self._formulas,
                        self._transfers)

    def _compiled(self, source):
        name = f"<step of {', '.join(self._own)} in {self._step.path.name}>"
        # So that a traceback shows the line.
        linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
        exec(compile(source, name, "exec"), self._known)
        return self._known["step"]

    # Inputs and variables

    def _inputs(self):
        state: list = []
        batch: list = []
        for name, one in self._step.inputs.items():
            for device in self._ordered.held[name]:
                if device in self._own:
                    into, letter = (batch, "b") if one.kind == "input" else (state, "s")
                    self._variables[name, device] = f"{letter}{len(into)}"
                    into.append((name, device))
        return state, batch

    def _new(self, letter="v"):
        self._count += 1
        return f"{letter}{self._count - 1}"

    def _takes_part(self, node):
        if node.kind == "transfer":
            return node.source in self._own or node.target in self._own
        return node.kind in ("clip", "gradients") or bool(self._own_members(node))

    def _own_members(self, node):
        return [(op, device) for op, device in node.members if device in self._own]

    def _find_last_uses(self, own):
        for place, node in own:
            self._last_write.update(dict.fromkeys(node.writes, place))
            if node.kind == "transfer" and node.source in self._own:
                self._uses[node.reference, node.source] = place
            for (reference, device), transfer in node.reads.items():
                if device in self._own:
                    last = len(self._ordered.nodes) if node.kind == "gradients" else place
                    key = self._key(reference, device, transfer)
                    self._uses[key] = max(last, self._uses.get(key, 0))
        self._uses[self._loss()] = len(self._ordered.nodes)
        for key, place in self._uses.items():
            self._last.setdefault(place, []).append(key)

    def _loss(self):
        return self._references.canonical(self._step.loss), self._ordered.loss_home

    @staticmethod
    def _key(reference, device, transfer):
        return (reference, device) if transfer is None else id(transfer)

    def _read(self, reference, device, node):
        """The variable of what an op reads on a device, once it has arrived."""
        transfer = node.reads[reference, device]
        variable = self._variables[self._key(reference, device, transfer)]
        self._arrive(variable)
        return variable

    def _arrive(self, variable):
        line = self._pending.get(variable)
        if line:
            self._lines.append(line)
            self._pending = {v: other for v, other in self._pending.items() if other != line}

    def _forget(self, place):
        gone = [self._variables.get(key, "s") for key in self._last.get(place, ())]
        gone = [variable for variable in gone if variable[0] != "s"]
        for variable in gone:
            self._arrive(variable)
        if gone:
            self._lines.append(f"del {', '.join(gone)}")

    def _finish_writers_sends(self, node):
        """What is being sent is not overwritten."""
        for storage in node.writes:
            for variable in self._sends.pop(storage, ()):
                self._lines.append(f"sent({variable})")

    def _stays_a_view(self, op, place):
        """Whether what follows writes through it, so that no copy may stand for it."""
        storage = self._ordered.storage_of[f"{op.name}:0"]
        return op.target in op_schemas.RESHAPES and self._last_write.get(storage, -1) > place

    def _looks_at_strides(self, place, node):
        return any(op.target in STRIDED or
                   (self._stays_a_view(op, place) and self._dimensions(op.inputs[0]) > 3)
                   for op, _ in self._own_members(node))

    def _dimensions(self, reference):
        op, k = self._references.resolve(self._references.canonical(reference))
        return len(op.results[k]["shape"] if op else self._step.inputs[reference].shape)

    # Ops

    def _op(self, place, node):
        (op, device), = self._own_members(node)
        call = self._call(op, device, node, place)
        names = {k: self._new() for k in range(op.outputs)
                 if (f"{op.name}:{k}", device) in self._uses}
        for k, name in names.items():
            self._variables[f"{op.name}:{k}", device] = name
        if not names:
            self._lines.append(call)
        elif not op_schemas.schema_of(op.target).listed:
            self._lines.append(f"{names[0]} = {call}")
        elif len(names) == 1:
            k, name = next(iter(names.items()))
            self._lines.append(f"{name} = {call}[{k}]")
        else:
            targets = [names.get(k, "_") for k in range(max(names) + 1)]
            self._lines.append(f"{', '.join(targets)}, *_ = {call}")

    def _call(self, op, device, node, place):
        inputs = [self._read(self._references.canonical(r), device, node) for r in op.inputs]
        schema = op_schemas.schema_of(op.target)
        self._device = self._device_variables[device]  # of this op
        numbers = {tuple(way): text for *way, text in op.numbers}
        given = [self._value(item, (i,), inputs, numbers, i in schema.devices)
                 for i, item in enumerate(op.args)]
        if op.target in op_schemas.RESHAPES:
            view = "view" if self._stays_a_view(op, place) else "reshape"
            return f"{given[0]}.{view}({given[1]})"
        if self._channels_last and self._own[device].type == "cpu":
            images = CONVOLUTIONS.get(op.target, 0)
            if images and len(op.args[images + 1]) == 2:  # its strides
                given[:images] = [f"{one}.contiguous(memory_format=torch.channels_last)"
                                  for one in given[:images]]
        named = {key: self._value(item, (key,), inputs, numbers, key in schema.devices)
                 for key, item in op.kwargs.items() if key != "pin_memory"}
        if "device" in schema.devices and not op.inputs and op.target.startswith("aten."):
            named["device"] = self._device
        if self.tensor_numbers and numbers:
            form = self._tensor_form(op, [way[0] for way in numbers])
            if form:
                return form.format(*given, **named)
        target, out = self._in_place and self._in_place.form_of(op, device, place) or \
            (op.target, "")
        if out:
            named[out] = given[0]
        given += [f"{key}={value}" for key, value in named.items()]
        return f"{self._function(target, self._own[device].type)}({', '.join(given)})"

    @staticmethod
    def _tensor_form(op, places):
        forms = [TENSOR_FORMS.get((op.target, place)) for place in places]
        if len(forms) == 1 and forms[0]:
            return forms[0]
        if op.target in TAKE_TENSORS and places == [1]:
            return None
        raise ApplyError("not-supported", "its numbers change from step to step, and it takes none "
                         "as tensors", f"compile: {op.target}",
                         "Apply the plan with compile=False.")

    def _function(self, target, kind):
        """The name of an operator for devices of a type ("cpu", "cuda")."""
        name = target.replace(".", "_")
        if not target.startswith("placewright."):
            found = operator_on(target, kind)
            if found is not op_schemas.operator_of(target):
                name += f"_on_{kind}"
            self._known[name] = found
        else:
            own = target.split(".")[1]
            if own not in own_ops.OPERATORS:
                raise ApplyError("operator", "apply has no such operator", target)
            self._known[name] = own_ops.OPERATORS[own]
        return name

    def _value(self, item, way, inputs, numbers, is_device):
        if way in numbers:
            return self._number(numbers[way])
        if isinstance(item, list):
            parts = [self._value(one, (*way, i), inputs, numbers, False)
                     for i, one in enumerate(item)]
            return f"[{', '.join(parts)}]"
        if isinstance(item, str):
            if is_device:
                return self._device
            if item[:1] == "%" and item[1:].isdigit():
                return inputs[int(item[1:])]
            if item.startswith("torch.") and hasattr(torch, item[len("torch."):]):
                return item
            if item in DTYPES:
                return str(DTYPES[item])
            if item in ("inf", "-inf", "nan"):
                return item
        return repr(item)

    def _number(self, formula):
        if formula not in self._formulas:
            self._formulas.append(formula)
        return f"n{self._formulas.index(formula)}"

    # What crosses

    def _transfer(self, place, node):
        if node.source in self._own and node.target in self._own:
            variable = self._new()
            given = self._variables[node.reference, node.source]
            self._arrive(given)
            self._lines.append(
                f"{variable} = copied({given}, {self._device_variables[node.target]})")
            self._variables[id(node)] = variable
            return
        self._transfers = True
        op, k = self._references.resolve(node.reference)
        of = op.results[k] if op else self._step.inputs[node.reference]
        shape, dtype = (of["shape"], of["dtype"]) if op else (of.shape, of.dtype)
        ends = f"{dtype!r}, {node.source!r}, {node.target!r}, {place}"
        if node.source in self._own:
            variable, under_way = self._variables[node.reference, node.source], self._new("w")
            self._arrive(variable)
            self._known["send"] = self._groups.send
            self._lines.append(f"{under_way} = send({variable}, {ends})")
            self._sends.setdefault(self._ordered.storage_of[node.reference], []).append(under_way)
            return
        variable = self._new()
        self._known["receive"] = self._groups.receive
        self._lines.append(f"{variable} = receive({shape}, {ends})")
        self._pending[variable] = f"{variable} = received({variable})"
        self._variables[id(node)] = variable

    def _collective(self, place, node):
        members = self._own_members(node)
        inputs = [self._read(self._references.canonical(r), device, node)
                  for op, device in members for r in op.inputs]
        name, pending = f"c{place}", self._new("p")
        self._known[name] = self._exchange(node)
        self._lines.append(f"{pending} = {name}.begin({', '.join(inputs)})")
        results = []
        made = [(f"{op.name}:{k}", device) for op, device in members
                for k in range(max(1, len(op.results)))]
        for own in made:
            self._variables[own] = self._new()
            results.append(self._variables[own])
            if own not in self._uses:  # the root of a broadcast
                self._uses[own] = place
                self._last.setdefault(place, []).append(own)
        line = f"{', '.join(results)}, = {name}.end({pending}); del {pending}"
        self._pending.update(dict.fromkeys(results, line))

    def _clip(self, place, node):
        """Gradients are scaled as new tensors: what they were made of may be read elsewhere."""
        own = [one for one in self._ordered.gradients if one.device in self._own]
        counted = [self._read(one.reference, one.device, node) for one in own if one.counts]
        self._known["clip"] = Clip(self._groups.of_all(), self._limit)
        self._known["scaled"], factor = scaled, self._new("f")
        self._lines.append(f"{factor} = clip.factor([{', '.join(counted)}], d0)")
        for one in own:
            variable = self._read(one.reference, one.device, node)
            key = self._key(one.reference, one.device, node.reads[one.reference, one.device])
            self._variables[key] = self._new()
            self._lines.append(f"{self._variables[key]} = scaled({variable}, {factor})")

    def _exchange(self, node):
        op = node.members[0][0]
        kind = op.target.split(".")[1]
        members = self._groups.members([device for _, device in node.members])
        if op.target.endswith(".coalesced"):
            return self._exchange_together(node, members, kind)
        if kind == "all_reduce":
            return AllReduce(members)
        if kind == "broadcast":
            root = next(i for i, (one, _) in enumerate(node.members) if one.inputs)
            made = next(one for one, _ in node.members if not one.inputs).results[0]
            return Broadcast(members, root, made["shape"], made["dtype"])
        if kind == "all_to_all":
            given, taken = ([tuple(one.args[at:at + 5]) for one, _ in node.members]
                            for at in (1, 6))
            shapes = [self._shape_given(one, part) for (one, _), part in
                      zip(node.members, zip(given, taken, strict=True), strict=True)]
            return AllToAll(members, given, taken, shapes, op.results[0]["dtype"])
        if kind not in ("all_gather", "reduce_scatter"):
            raise ApplyError("operator", "apply has no such collective", op.target)
        return self._exchange_parts(node, members, kind, 0,
                                    [one.args[1:] for one, _ in node.members])

    def _exchange_parts(self, node, members, kind, k, numbers):
        """Of the members' k-th tensors; `numbers`: which part each of them states."""
        dimension, outer, size = numbers[0][:3]
        parts = [tuple(one[3:5]) for one in numbers]
        if kind == "all_gather":
            result = node.members[0][0].results[k]
            return AllGather(members, dimension, outer, parts, result["shape"], result["dtype"])
        shapes = [one.results[k]["shape"] for one, _ in self._own_members(node)]
        return ReduceScatter(members, dimension, outer, size, parts, shapes)

    def _exchange_together(self, node, members, kind):
        """Of a collective of several tensors."""
        results = node.members[0][0].results
        if kind == "all_reduce":
            return Together(members, [AllReduce(members, one["shape"]) for one in results])
        return Together(members, [
            self._exchange_parts(node, members, kind, k,
                                 [one.args[k + 1] for one, _ in node.members])
            for k in range(len(results))])

    @staticmethod
    def _shape_given(op, parts):
        """Of what a member of an all-to-all has: all of the axis of which it gets a part, and its
        part of the other."""
        shape = list(op.results[0]["shape"])
        for (dimension, _, size, begin, end), whole in zip(parts, (False, True), strict=True):
            length = end - begin
            was, now = (length, size) if whole else (size, length)
            shape[dimension] = shape[dimension] // was * now
        return shape

    def _gradients(self, place, node):
        """Of this rank's pieces, where their update is left out."""
        self._results = [self._read(reference, device, node) for reference, device in node.reads
                         if device in self._own]

    def _return(self):
        loss = self._variables.get(self._loss())
        self._arrive(loss)
        self._lines.append(f"return {loss}, [{', '.join(self._results)}]")
