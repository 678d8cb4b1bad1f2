"""What PyTorch calls below autograd, as records of ops.

The recorder is a dispatch mode: every operator call passes through it, with or without tensors.
It runs the call on fake tensors, which have shapes and no content, and writes down what was called
in the phases "fwd", "bwd" and "opt"; in the phase None it only runs. Tensors with content that
turn up (a constant in a closure, a plain attribute) become inputs of kind "constant".

In the update, tensors without dimensions that come from no other tensor are counters of the host,
as the `step` of torch.optim: they keep their values, their arithmetic is computed and not
recorded, and in the arguments of recorded ops they are numbers.
"""

import torch

from . import compat, constants, known, sparse
from .assumptions import EVERY_ELEMENT
from .changing_numbers import numbers_in
from .checks import where_asked
from .errors import ExportError
from .lifetimes import Lifetimes, computes
from .memory import Memory, Value, extent_of, keeps_elements
from .operators import (COPIES, FUSED_UPDATES, NO_OPS, READS_VALUES, SAME_TENSOR,
                        UNMARKED_WRITES, alias_mark, describe, for_one_tensor, is_sized_by_values, refuse, value_error)
from .scopes import Scopes
from .shapes import COUNTED, SHAPE_RULES, as_computed, masks_of


def tensors_in(value):
    """All tensors of nested arguments, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [tensor for item in value for tensor in tensors_in(item)]


def with_tensors(value, change):
    """Nested arguments with every tensor replaced by change(tensor)."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: with_tensors(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(with_tensors(item, change) for item in value)
    return value


def _all_of(tensor, mask):
    """masked_select where the mask is true everywhere."""
    return tensor.new_empty((torch.broadcast_tensors(tensor, mask)[0].numel(),))


class Recorder(compat.Mode):
    """Use as a context; `ops` and `inputs` are the records, in the order of the calls."""

    def __init__(self):
        super().__init__()
        self.fake_mode = compat.new_fake_mode()
        self.phase = None
        self.counters = False  # True in the update: see above
        self.assumed = {}  # operator -> its answer, of the function of PyTorch that runs
        self.progress = None  # a progress.Progress that hears of every op
        self.checks = None  # answers to what the step asks of values, see checks.py
        self.scopes = Scopes()
        self.ops, self.inputs = [], []
        self.lifetimes = Lifetimes(self.ops)
        self.log = None  # a list: of calls that would be recorded, in the phase None: see changing_numbers.py
        self.met = []  # values of tensors with content that came from outside of the model
        self._names, self._used = {}, set()
        self._known = {}  # id of a tensor with content -> (it, kept alive; its fake)
        self._constants = 0
        self._counted = {}  # id of a counter -> (it, its content before the recording)
        self.from_before = []  # name and memory of constants that were there before the step

    # Tensors

    def fake_like(self, tensor, what="a tensor"):
        """A tensor of the same shape, strides and type on the host, without content. `what` it is
        stands in errors."""
        if tensor.layout != torch.strided:
            raise ExportError(f"{what} of layout {tensor.layout} cannot be exported; "
                              "use dense tensors, for instance tensor.to_dense()")
        if tensor.is_quantized:
            raise ExportError(f"{what} that is quantized cannot be exported; export the model "
                              "before it is quantized")
        with self.fake_mode:
            return torch.empty_strided(tuple(tensor.size()), tuple(tensor.stride()),
                                       dtype=tensor.dtype, device="cpu")

    def is_fake(self, tensor):
        return isinstance(tensor, compat.FakeTensor) and tensor.fake_mode is self.fake_mode

    def add_input(self, name, kind, tensor):
        """Makes a fake tensor an input of the graph."""
        unique, count = name, 1
        while unique in self._used:
            unique, count = f"{name}_{count}", count + 1
        self._used.add(unique)
        self.inputs.append({"name": unique, "kind": kind, **describe(tensor)})
        tensor._placewright = Value(unique, Memory(kind == "input"), extent_of(tensor))

    def value_of(self, tensor):
        """How the file knows a fake tensor; what was not announced is kept from earlier steps."""
        if not hasattr(tensor, "_placewright"):
            if hasattr(tensor, "_placewright_stored"):
                raise ExportError(f"an operator reads the weight {tensor._placewright_stored}"
                                  f"{self.where()}; only the linear layer that has it can: call the "
                                  "layer, or leave --frozen-weights (frozen_weights) out")
            kind = "opt_state" if self.phase == "opt" else "constant"
            self.add_input(f"{kind}:{self._next_constant()}", kind, tensor)
            self.met.append(tensor._placewright)
            if kind == "opt_state" and tensor.dim() == 0 and tensor.dtype == torch.int64:
                tensor._placewright.fill(known.Known(compat.STEPS_BEFORE, known.COUNTED))
        return tensor._placewright

    def _next_constant(self):
        self._constants += 1
        return self._constants - 1

    def _fake_of(self, tensor):
        """The fake of any tensor; a new one if it is met for the first time."""
        if self.is_fake(tensor):
            return tensor
        if id(tensor) not in self._known:
            if tensor.requires_grad and self.phase is not None and torch.is_grad_enabled():
                raise ExportError(
                    f"a tensor of shape {list(tensor.shape)} that wants a gradient is used in the "
                    "step but is no parameter of the model: register it with register_parameter "
                    "(or as an attribute that is an nn.Parameter)")
            fake = self.fake_like(tensor)
            self._known[id(tensor)] = (tensor, fake)
            if self.phase is not None:
                self._add_constant(fake, tensor if self.phase != "opt" else None)
                value = fake._placewright
                self.from_before.append((value.reference, value.memory))
        return self._known[id(tensor)][1]

    def _add_constant(self, fake, tensor):
        """What is no result of the step: made by an op of it where one number says all. `tensor`:
        None where its content is that of the step before."""
        number = constants.number_in(tensor) if tensor is not None else None
        if number is None:
            self.value_of(fake)
            return
        self._record(torch.ops.aten.full.default, (list(tensor.shape), number),
                     {"dtype": tensor.dtype}, fake)

    # Calls

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if not isinstance(func, torch._ops.OpOverload):
            raise ExportError(f"{func} is no plain operator{self.where()}; export the model "
                              "without torch.compile, torch.cond and the like")
        name = func._schema.name
        if name.startswith(NO_OPS):
            return func(*args, **kwargs)
        if torch.is_inference_mode_enabled() and compat.is_composition(func):
            with self:  # which autograd would have taken apart
                return func.decompose(*args, **kwargs)
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        if name.startswith("aten::_foreach_"):
            return self._split(func, args, kwargs)
        if name.replace("aten::", "") in FUSED_UPDATES and len(args[0]) != 1:
            with self:
                for i in range(len(args[0])):
                    func(*[of[i:i + 1] for of in args], **kwargs)
            return None
        if sparse.takes_apart(name, args):
            with self:
                return sparse.apart(func, args, kwargs, self._made_by)
        gradient = sparse.made_by(name, args, kwargs)
        if gradient is not None:
            return gradient
        if any(isinstance(tensor, sparse.SparseRows) for tensor in tensors_in((args, kwargs))):
            with self:
                return sparse.call(func, args, kwargs, self.where())
        if name in ("aten::as_strided", "aten::as_strided_") and isinstance(args[0], torch.Tensor):
            # Pooling to one place of an image that lies channels last states strides of places that there are not.
            kept = keeps_elements(*args, **kwargs)
            if kept == "same" and name == "aten::as_strided_":
                return func(*args, **kwargs)
            if kept and name == "aten::as_strided":
                with self:
                    return torch.ops.aten.view.default(args[0], args[1])
        if name == "aten::repeat_interleave":
            self._tell_size(args, kwargs)
        if name in self.assumed and self.assumed[name] is not EVERY_ELEMENT:
            return self.assumed[name]
        if name not in self.assumed:
            refuse(name, kwargs, self.phase, self.where())
        tensors = tensors_in((args, kwargs))
        if self.counters and self._is_counting(func, tensors, args, kwargs):
            return func(*args, **kwargs)
        if name in SAME_TENSOR and not isinstance(args[0], torch.Tensor):
            return self._number(args[0])
        if name in SAME_TENSOR and isinstance(args[0], (compat.FakeTensor, torch.nn.Parameter)):
            args = (self._fake_of(args[0]), *args[1:])  # of a model built without content, too
        if name in SAME_TENSOR and not self.is_fake(args[0]):
            return self._constant(func, args[0])
        fake_args, fake_kwargs = with_tensors((args, kwargs), self._argument_fake)
        result = self._run(func, fake_args, fake_kwargs)
        if name in SAME_TENSOR:
            for mark in ("_placewright", "_placewright_number"):
                if hasattr(args[0], mark):
                    setattr(result, mark, getattr(args[0], mark))
            return result
        if name in COPIES and hasattr(args[0], "_placewright_true") and result.dtype == torch.bool:
            result._placewright_true = args[0]._placewright_true
        if self.phase is not None:
            self._record(func, args, kwargs, result)
        elif self.log is not None and self._is_recorded(func._schema, result):
            arguments = with_tensors((args, kwargs), self._number_of)
            self.log.append((str(func), numbers_in(*arguments)))
        return result

    def set_data(self, tensor, data, assign):
        """tensor.data = data: from now on the tensor is what the other one is."""
        fake = self._fake_of(data)
        if self.phase is not None and self.is_fake(tensor):
            tensor._placewright = self.value_of(fake)
        assign(tensor, fake)

    def _number_of(self, tensor):
        """What stands for a tensor in the arguments of a recorded call, if that is a number."""
        if self._is_counter(tensor):
            return tensor.item()
        return getattr(tensor, "_placewright_number", None)

    def _argument_fake(self, tensor):
        if self._is_counter(tensor):
            with self.fake_mode:
                return torch.empty((), dtype=tensor.dtype, device="cpu")
        return self._fake_of(tensor)

    def _is_counter(self, tensor):
        return (self.counters and tensor.dim() == 0 and id(tensor) not in self._known
                and not isinstance(tensor, compat.FakeTensor) and tensor.device.type != "meta")

    def _is_counting(self, func, tensors, args, kwargs):
        """True for a call that only concerns counters of the host."""
        if tensors:
            if all(self._is_counter(tensor) for tensor in tensors):
                self._keep_counters(func, args)
                return True
            self._give_up_written_counters(func, args)
            return False
        with self.fake_mode:
            result = func(*args, **kwargs)
        return isinstance(result, torch.Tensor) and result.dim() == 0

    def _keep_counters(self, func, args):
        """Keeps what counters that the call writes are before it."""
        for declared, argument in zip(func._schema.arguments, args):
            if (declared.alias_info is not None and declared.alias_info.is_write and
                    id(argument) not in self._counted):
                self._counted[id(argument)] = (argument, argument.clone())

    def restore_counters(self):
        """Gives counters that lie outside of the optimizer back as they were."""
        with torch.no_grad():
            for counter, before in self._counted.values():
                counter.copy_(before)

    def _give_up_written_counters(self, func, args):
        """A counter that takes a value from the device is a tensor of the step from now on."""
        for declared, argument in zip(func._schema.arguments, args):
            written = declared.alias_info is not None and declared.alias_info.is_write
            if written and isinstance(argument, torch.Tensor) and self._is_counter(argument):
                self._fake_of(argument)

    def _number(self, number):
        """A number that autograd saved as a tensor, as 1.13 does for a checkpoint's backward pass:
        in the arguments of recorded ops it is a number again."""
        with self.fake_mode:
            fake = torch.empty((), dtype=torch.tensor(number).dtype)
        fake._placewright_number = number
        return fake

    def _constant(self, func, tensor):
        """torch.tensor(...) inside the step: its value may still be asked for."""
        with self.fake_mode:
            fake = func(tensor)
        if tensor.dim() == 1 and tensor.dtype == torch.int64:
            fake._placewright_values = tensor.tolist()
        if tensor.dtype == torch.bool:
            fake._placewright_true = int(tensor.sum())
        if self.phase is not None:
            self._add_constant(fake, tensor)
            if tensor.numel() == 1 and not tensor.is_complex():
                fake._placewright.fill(known.Known(tensor.item()))
        return fake

    def _run(self, func, args, kwargs):
        name = func._schema.name
        rule = _all_of if name in self.assumed else SHAPE_RULES.get(name, func)
        if is_sized_by_values(name, kwargs) and name not in self.assumed:
            return self._run_counted(name, args, kwargs)
        try:
            try:
                with self.fake_mode:
                    return as_computed(name, args, rule(*args, **kwargs))
            except compat.NEEDS_VALUES as error:
                if masks_of(name, args):
                    return self._run_counted(name, args, kwargs)
                answer = self._answer(name, args)
                if answer is None:
                    place = where_asked() if name in READS_VALUES else None
                    raise value_error(name, self.where(), place) from error
                return answer
            except Exception as error:
                sizes = [t.numel() * t.element_size() for t in tensors_in((args, kwargs))]
                return compat.computed_on_zeros(self.fake_mode, func, args, kwargs, sizes, error)
        except compat.UNSUPPORTED as error:
            raise ExportError(
                f"{func} cannot determine its result's shape without computing{self.where()}: "
                "replace it by other operators, or register a meta kernel for it") from error

    def _answer(self, name, args):
        """What answers the step that asks a tensor for its value, or None."""
        if self.checks is None:
            return None
        self.checks.quiet = self.phase is None
        tensor = args[0] if name != "aten::equal" else None
        return self.checks.answer(name, tensor, self._known_of(tensor), self.phase == "opt" or
                                  self.counters)

    def _made_by(self, tensor):
        """The record of the op that made a tensor, or None."""
        value = getattr(tensor, "_placewright", None)
        return next((op for op in reversed(self.ops) if value and op["name"] == value.reference), None)

    def _known_of(self, tensor):
        if id(tensor) in self._known:
            tensor = self._known[id(tensor)][1]
        value = getattr(tensor, "_placewright", None)
        return value.known() if value else None

    def _count(self, mask):
        """How many elements of a mask are true, or None."""
        if hasattr(mask, "_placewright_true"):
            return mask._placewright_true
        if self.checks is None:
            return None
        self.checks.quiet = self.phase is None
        return self.checks.count(mask.numel(), self._known_of(mask))

    def _run_counted(self, name, args, kwargs):
        """The result of an operator whose size depends on values, of the size that the user gives
        or that is known."""
        masks = masks_of(name, args) or [args[1] if name == "aten::masked_select" else args[0]]
        counts = [self._count(mask) for mask in masks]
        if None in counts or name not in COUNTED:
            raise value_error(name, self.where(), where_asked() if name in COUNTED else None)
        with self.fake_mode:
            return COUNTED[name](counts, *args, **kwargs)

    def where(self):
        """" in module "PATH" (CLASS)" of the module that runs, or nothing outside of all."""
        module = self.scopes.innermost()
        kind = self.scopes.class_of(module)
        return f" in module \"{module}\"{f' ({kind})' if kind else ''}" if module else ""

    @staticmethod
    def _tell_size(args, kwargs):
        """x.repeat_interleave(2) of 1.13 is a call with a tensor full of 2."""
        value = getattr(args[0], "_placewright", None)
        known_times = value.known() if value else None
        times = known_times.number if known_times else None
        if times is not None and kwargs.get("output_size") is None:
            kwargs["output_size"] = args[0].numel() * times

    def _split(self, func, args, kwargs):
        """A call on lists of tensors, as one call for each tensor."""
        name = func._schema.name.replace("aten::_foreach_", "")
        lists = [argument for argument in args if isinstance(argument, (list, tuple))]
        results = []
        with self:
            for i in range(len(lists[0])):
                own = [argument[i] if isinstance(argument, (list, tuple)) else argument
                       for argument in args]
                own_kwargs = {key: value[i] if isinstance(value, (list, tuple)) else value
                              for key, value in kwargs.items()}
                results.append(for_one_tensor(name, own, own_kwargs))
        return None if name.endswith("_") else results

    # Records

    @staticmethod
    def _results(result):
        results = list(result) if isinstance(result, (list, tuple)) else \
            [] if result is None else [result]
        # Numbers beside tensors, as lengths of attention, are no outputs.
        return [item if isinstance(item, torch.Tensor) else None for item in results]

    def _is_recorded(self, schema, result):
        results = self._results(result)
        given = result if isinstance(result, (list, tuple)) else [result]
        if any(item is not None for item in given) and not tensors_in(results):
            return False  # a number or a handle: no tensor moves
        return bool(results) or any(a.alias_info and a.alias_info.is_write
                                    for a in schema.arguments)

    def _record(self, func, args, kwargs, result):
        schema = func._schema
        if not self._is_recorded(schema, result):
            return
        listed = isinstance(result, (list, tuple))
        results = self._results(result)
        name = self._new_name(schema.name.split("::")[1])
        inputs, read = [], []
        record = {"name": name, "target": str(func), "phase": self.phase, "inputs": inputs,
                  "args": self._argument(list(args), inputs, read)}
        if kwargs:
            record["kwargs"] = {k: self._argument(v, inputs, read) for k, v in kwargs.items()}
        scope = self.scopes.innermost()
        if self.phase == "fwd" or (self.phase == "bwd" and scope is not None):
            record["scope"] = scope or ""
        record["outputs"] = [describe(item) for item in results]
        mark = alias_mark(schema)
        if mark:
            record["alias"] = mark
        if computes(record):
            for value in read:
                self.lifetimes.read(value.memory)
        after = [] if mark == "view" else self._writers_before(read)
        if after:
            record["after"] = after
        number = known.of(schema.name, args, kwargs, self._known_of, result)
        self._note_results(schema, name, args, kwargs, results, listed)
        if number is not None:
            result._placewright.fill(number)
        self.ops.append(record)
        if self.progress is not None:
            self.progress.op(len(self.ops), self.phase)

    def _new_name(self, base):
        count = self._names.get(base, 0)
        name = base if count == 0 else f"{base}_{count}"
        while name in self._used:
            count += 1
            name = f"{base}_{count}"
        self._names[base] = count + 1
        self._used.add(name)
        return name

    def _argument(self, value, inputs, read):
        if isinstance(value, torch.Tensor):
            if self._is_counter(value):
                return self._argument(value.item(), inputs, read)
            if hasattr(value, "_placewright_number"):
                return self._argument(value._placewright_number, inputs, read)
            known = self.value_of(self._fake_of(value))
            inputs.append(known.reference)
            read.append(known)
            return f"%{len(inputs) - 1}"
        if isinstance(value, (list, tuple)):
            return [self._argument(item, inputs, read) for item in value]
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, torch.Generator):
            return None
        if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
            return str(value)
        if isinstance(value, complex):
            return str(value)
        if isinstance(value, float):
            return value if abs(value) < float("inf") else str(value)  # "inf", "-inf", "nan"
        return int(value)  # also sizes of 2.x, which are no plain int

    @staticmethod
    def _writers_before(read):
        """Ops that must have ended and that none of the references leads to."""
        producers = {value.reference.rpartition(":")[0] or value.reference for value in read}
        names = [name for value in read for name in value.later_writers()]
        return [name for name in dict.fromkeys(names) if name not in producers]

    def _note_results(self, schema, name, args, kwargs, results, listed):
        """What the results are from now on, and what the call wrote."""
        declared = list(zip(schema.arguments, args))
        declared += [(a, kwargs[a.name]) for a in schema.arguments if a.name in kwargs]
        bound = [(a.alias_info, self.value_of(self._fake_of(tensor))) for a, given in declared
                 if a.alias_info is not None for tensor in tensors_in(given)]
        returned = set()
        single_list = len(schema.returns) == 1
        for k, tensor in enumerate(results):
            if tensor is None:
                continue
            reference = f"{name}:{k}" if listed else name
            alias = schema.returns[0 if single_list else k].alias_info
            base = next((v for info, v in bound if alias is not None and
                         info.before_set == alias.before_set), None)
            if base is None:
                tensor._placewright = Value(reference, Memory(), extent_of(tensor))
                self.lifetimes.begin(tensor._placewright.memory, reference)
            elif alias.is_write:
                base.replaced_by(name, reference)
                base.extent = extent_of(tensor)
                tensor._placewright = base
                returned.add(id(base))
            else:
                tensor._placewright = base.view(reference, extent_of(tensor))
        for info, value in bound:
            if info.is_write and id(value) not in returned:
                value.written_by(name)
        self._note_unmarked_writes(schema.name, name, args)

    def _note_unmarked_writes(self, operator, name, args):
        positions, flag = UNMARKED_WRITES.get(operator, ((), None))
        if flag is None or not args[flag]:
            return
        for position in positions:
            if isinstance(args[position], torch.Tensor):
                self.value_of(self._fake_of(args[position])).written_by(name)
