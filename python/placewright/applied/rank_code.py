"""The step of one rank as Python source: a function with one line an op.

    def step(state, batch, numbers):
        s0, s1 = state           # tensors of this rank, which the update writes in place
        b0, = batch              # its part of the batch
        n0, = numbers            # rates and counters of this step
        v0 = aten_t_default(s0)
        ...
        return v17               # the loss, where this rank has it

A collective or transfer begins in a line of its own and ends before its first reader. Tensors are
forgotten behind their last reader.
"""

import dataclasses
import linecache

import torch

from . import op_schemas, own_ops
from .errors import ApplyError
from .exchanges import AllGather, AllReduce, Broadcast, ReduceScatter, received, sent
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


@dataclasses.dataclass
class RankStep:
    function: object
    source: str
    state: list      # names of the step's inputs, in the order of `state`
    batch: list
    formulas: list   # of `numbers`
    has_loss: bool   # whether the function returns it
    transfers: bool  # whether something is sent to or received from one other rank


def generate(step, ordered, groups, device_name, device, clip=None, tensor_numbers=False):
    """The step of the rank that has `device_name`, on the torch.device `device`. `clip`: the norm
    to which gradients are clipped, where `ordered` has a place for it. `tensor_numbers`: whether
    `numbers` are tensors without dimensions."""
    writer = _Writer(step, ordered, groups, device_name, device, clip)
    writer.tensor_numbers = tensor_numbers
    return writer.write()


class _Writer:
    def __init__(self, step, ordered, groups, device_name, device, clip):
        self._step, self._ordered, self._groups = step, ordered, groups
        self._limit, self.tensor_numbers = clip, False
        self._name, self._device = device_name, device
        self._references = References(step)
        self._known = {"torch": torch, "device": device, "received": received, "sent": sent,
                       "inf": float("inf"), "nan": float("nan")}
        self._lines = []
        self._variables = {}   # canonical reference (or (reference, transfer)) -> variable
        self._pending = {}     # variable -> the line that ends what it waits for
        self._sends = {}       # storage -> variables of sends that are under way
        self._uses = {}        # canonical reference -> place of its last use in the order
        self._last = {}        # place -> what is used there for the last time
        self._formulas = []
        self._count = 0
        self._transfers = False
        self._in_place = None

    def write(self):
        state, batch = self._inputs()
        own = [(place, node) for place, node in enumerate(self._ordered.nodes)
               if self._takes_part(node)]
        self._find_last_uses(own)
        if not self.tensor_numbers:  # torch.compile decides by itself what it overwrites
            self._in_place = InPlace(self._ordered, self._references, self._name, own, self._uses)
        for place, node in own:
            self._finish_writers_sends(node)
            getattr(self, f"_{node.kind}")(place, node)
            self._forget(place)
        for variables in self._sends.values():
            for variable in variables:
                self._lines.append(f"sent({variable})")
        has_loss = self._return_loss()
        head = [f"{', '.join(names)}, = {what}" for what, names in (
            ("state", [self._variables[name] for name in state]),
            ("batch", [self._variables[name] for name in batch]),
            ("numbers", [f"n{i}" for i in range(len(self._formulas))])) if names]
        source = "def step(state, batch, numbers):\n" + "".join(
            f"    {line}\n" for line in head + self._lines)
        return RankStep(self._compiled(source), source, state, batch, self._formulas, has_loss,
                        self._transfers)

    def _compiled(self, source):
        name = f"<step of {self._name} in {self._step.path.name}>"
        # So that a traceback shows the line.
        linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
        exec(compile(source, name, "exec"), self._known)
        return self._known["step"]

    # Inputs and variables

    def _inputs(self):
        state, batch = [], []
        for name, one in self._step.inputs.items():
            if self._name not in self._ordered.held[name]:
                continue
            into, letter = (batch, "b") if one.kind == "input" else (state, "s")
            self._variables[name] = f"{letter}{len(into)}"
            into.append(name)
        return state, batch

    def _new(self, letter="v"):
        self._count += 1
        return f"{letter}{self._count - 1}"

    def _takes_part(self, node):
        if node.kind == "transfer":
            return self._name in (node.source, node.target)
        if node.kind == "clip":
            return True
        return any(device == self._name for _, device in node.members)

    def _own_member(self, node):
        return next(op for op, device in node.members if device == self._name)

    def _find_last_uses(self, own):
        for place, node in own:
            if node.kind == "transfer":
                if node.source == self._name:
                    self._uses[node.reference] = place
                continue
            for (reference, device), transfer in node.reads.items():
                if device == self._name:
                    self._uses[self._key(reference, transfer)] = place
        self._uses[self._loss()] = len(self._ordered.nodes)
        for key, place in self._uses.items():
            self._last.setdefault(place, []).append(key)

    def _loss(self):
        return self._references.canonical(self._step.loss)

    @staticmethod
    def _key(reference, transfer):
        return reference if transfer is None else (reference, id(transfer))

    def _read(self, reference, node):
        """The variable of what an op reads, once it has arrived."""
        transfer = node.reads[reference, self._name]
        variable = self._variables[self._key(reference, transfer)]
        self._arrive(variable)
        return variable

    def _arrive(self, variable):
        line = self._pending.pop(variable, None)
        if line:
            self._lines.append(line)

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

    # Ops

    def _op(self, place, node):
        op = self._own_member(node)
        call = self._call(op, node, place)
        names = {k: self._new() for k in range(op.outputs)
                 if f"{op.name}:{k}" in self._uses}
        for k, name in names.items():
            self._variables[f"{op.name}:{k}"] = name
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

    def _call(self, op, node, place):
        inputs = [self._read(self._references.canonical(r), node) for r in op.inputs]
        schema = op_schemas.schema_of(op.target)
        numbers = {tuple(way): text for *way, text in op.numbers}
        given = [self._value(item, (i,), inputs, numbers, i in schema.devices)
                 for i, item in enumerate(op.args)]
        storage = self._ordered.storage_of[f"{op.name}:0"]
        if op.target in op_schemas.RESHAPES:
            view = "view" if storage in self._ordered.written else "reshape"
            return f"{given[0]}.{view}({given[1]})"
        named = {key: self._value(item, (key,), inputs, numbers, key in schema.devices)
                 for key, item in op.kwargs.items() if key != "pin_memory"}
        if "device" in schema.devices and not op.inputs and op.target.startswith("aten."):
            named["device"] = "device"
        if self.tensor_numbers and numbers:
            form = self._tensor_form(op, [way[0] for way in numbers])
            if form:
                return form.format(*given, **named)
        target, out = self._in_place and self._in_place.form_of(op, place) or (op.target, "")
        if out:
            named[out] = given[0]
        given += [f"{key}={value}" for key, value in named.items()]
        return f"{self._function(target)}({', '.join(given)})"

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

    def _function(self, target):
        name = target.replace(".", "_")
        if name not in self._known:
            if target.startswith("placewright."):
                own = target.split(".")[1]
                if own not in own_ops.OPERATORS:
                    raise ApplyError("operator", "apply has no such operator", target)
                self._known[name] = own_ops.OPERATORS[own]
            else:
                self._known[name] = op_schemas.operator_of(target)
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
                return "device"
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
        self._transfers = True
        op, k = self._references.resolve(node.reference)
        of = op.results[k] if op else self._step.inputs[node.reference]
        shape, dtype = (of["shape"], of["dtype"]) if op else (of.shape, of.dtype)
        if node.source == self._name:
            variable, under_way = self._variables[node.reference], self._new("w")
            self._arrive(variable)
            self._known["send"] = self._groups.send
            self._lines.append(f"{under_way} = send({variable}, {node.target!r}, {place})")
            self._sends.setdefault(self._ordered.storage_of[node.reference], []).append(under_way)
            return
        variable = self._new()
        self._known["receive"] = self._groups.receive
        self._lines.append(
            f"{variable} = receive({shape}, {dtype!r}, {node.source!r}, device, {place})")
        self._pending[variable] = f"{variable} = received({variable})"
        self._variables[node.reference, id(node)] = variable

    def _collective(self, place, node):
        op = self._own_member(node)
        exchange = self._exchange(op, node)
        inputs = [self._read(self._references.canonical(r), node) for r in op.inputs]
        name, variable = f"c{place}", self._new()
        self._known[name] = exchange
        self._lines.append(f"{variable} = {name}.begin({', '.join(inputs)})")
        own = f"{op.name}:0"
        self._variables[own] = variable
        self._pending[variable] = f"{variable} = {name}.end({variable})"
        if own not in self._uses:  # the root of a broadcast
            self._uses[own] = place
            self._last.setdefault(place, []).append(own)

    def _clip(self, place, node):
        """Gradients are scaled as new tensors: what they were made of may be read elsewhere."""
        own = [one for one in self._ordered.gradients if one.device == self._name]
        counted = [self._read(one.reference, node) for one in own if one.counts]
        everyone = self._step.devices
        group = self._groups.name_of(everyone) if len(everyone) > 1 else None
        self._known["clip"], self._known["scaled"] = Clip(group, self._limit), scaled
        factor = self._new("f")
        self._lines.append(f"{factor} = clip.factor([{', '.join(counted)}], device)")
        for one in own:
            variable = self._read(one.reference, node)
            key = self._key(one.reference, node.reads[one.reference, self._name])
            self._variables[key] = self._new()
            self._lines.append(f"{self._variables[key]} = scaled({variable}, {factor})")

    def _exchange(self, op, node):
        kind = op.target.split(".")[1]
        devices = [device for _, device in node.members]
        ranks, group = self._groups.ranks_of(devices), self._groups.name_of(devices)
        member_of = {self._groups.rank_of(device): member for member, device in node.members}
        members = [member_of[rank] for rank in ranks]
        if kind == "all_reduce":
            return AllReduce(group)
        if kind == "broadcast":
            root = next(i for i, member in enumerate(members) if member.inputs)
            made = next(member for member in members if not member.inputs).results[0]
            return Broadcast(group, root, made["shape"], made["dtype"], self._device)
        if kind not in ("all_gather", "reduce_scatter"):
            raise ApplyError("operator", "apply has no such collective", op.target)
        dimension, outer, size = op.args[1:4]
        parts = [tuple(member.args[4:6]) for member in members]
        result = op.results[0]
        if kind == "all_gather":
            return AllGather(group, dimension, outer, parts, result["shape"], result["dtype"])
        own = ranks.index(self._groups.rank_of(self._name))
        return ReduceScatter(group, own, dimension, outer, size, parts, result["shape"])

    def _return_loss(self):
        variable = self._variables.get(self._loss())
        if variable is None:
            return False
        self._arrive(variable)
        self._lines.append(f"return {variable}")
        return True
