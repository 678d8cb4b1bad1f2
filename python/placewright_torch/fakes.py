"""The model and its inputs without weights, and back again.

Every attribute of every module that holds tensors (parameters, buffers, lists of weights as
nn.LSTM keeps them, plain tensors) is replaced for the time of the recording. A parameter that two
modules share is one fake, and so one input of the graph.
"""

import collections.abc
import contextlib
import copy
import dataclasses
import inspect
import types

import torch

from . import compat
from .errors import ExportError

NESTING = 4  # how deep containers in attributes are searched for tensors
# What a model's output may refer to without being made of it.
NO_OUTPUTS = (type, types.ModuleType, types.FunctionType, types.MethodType, torch.nn.Module)


class Fakes:
    """Fakes of a model's tensors, announced to the recorder as inputs of the graph."""

    def __init__(self, recorder, stored=None):
        """`stored`: the stored.StoredWeights of the modules that are added, or None."""
        self._recorder, self._stored = recorder, stored
        self._made = {}  # id of the original -> (the original, kept alive; its fake)
        self._addresses = {}  # address in memory -> path of the parameter that lies there
        self.parameters = {}  # path -> fake
        self._paths = {}  # id of a fake parameter -> path
        self.buffers = {}

    def fake_of(self, tensor):
        """The fake of a parameter or buffer, or None if it is neither."""
        made = self._made.get(id(tensor))
        return made[1] if made else None

    def path_of(self, fake):
        """The path of a fake parameter."""
        return self._paths[id(fake)]

    def add_module(self, root, prefix):
        """Makes fakes of all parameters and buffers; paths start with `prefix`."""
        for path, parameter in root.named_parameters():
            self._add_parameter(prefix + path, parameter)
        for path, buffer in root.named_buffers():
            if id(buffer) not in self._made:
                fake = self._recorder.fake_like(buffer, f"the buffer \"{prefix}{path}\"")
                fake.requires_grad_(buffer.requires_grad)
                self._made[id(buffer)] = (buffer, fake)
                self.buffers[prefix + path] = fake
                self._recorder.add_input(f"buffer:{prefix}{path}", "buffer", fake)

    def _add_parameter(self, path, parameter):
        if id(parameter) in self._made:
            return
        weight = self._stored.of(parameter) if self._stored is not None else None
        if weight is not None:
            self._add_stored(path, parameter, weight)
            return
        if isinstance(parameter, torch.nn.parameter.UninitializedTensorMixin):
            raise ExportError(f"the parameter \"{path}\" has no shape yet: run the model once, or "
                              "build it with sizes instead of lazy modules")
        if type(parameter).__name__ == "DTensor":
            raise ExportError(f"the parameter \"{path}\" is a DTensor, one device's part of a weight, "
                              "as fully_shard() and parallelize_module() make it: export the model "
                              "before; a function of placewright_export.py MODULE:FUNCTION may call "
                              "fully_shard(), which does nothing there")
        dense = self._recorder.fake_like(parameter, f"the parameter \"{path}\"")
        self._refuse_shared(path, parameter)  # what is not dense has no address
        fake = torch.nn.Parameter(dense, requires_grad=parameter.requires_grad)
        for hook in (parameter._backward_hooks or {}).values():
            fake.register_hook(hook)
        for hook in (getattr(parameter, "_post_accumulate_grad_hooks", None) or {}).values():
            fake.register_post_accumulate_grad_hook(hook)
        self._made[id(parameter)] = (parameter, fake)
        self.parameters[path] = fake
        self._paths[id(fake)] = path
        self._recorder.add_input(f"param:{path}", "param", fake)

    def _add_stored(self, path, parameter, weight):
        """The module's attribute has the shape of the weight, and is read by nothing else."""
        with self._recorder.fake_mode:
            dense = torch.empty((weight.rows, weight.columns), dtype=weight.dtype, device="cpu")
        fake = torch.nn.Parameter(dense, requires_grad=False)
        fake._placewright_stored = f"\"{path}\", which is stored as {weight.format.name}"
        self._made[id(parameter)] = (parameter, fake)
        self._paths[id(fake)] = path
        weight.announce(self._recorder)

    def _refuse_shared(self, path, parameter):
        if isinstance(parameter, compat.FakeTensor) or parameter.device.type == "meta":
            return  # these have no address
        address = parameter.data_ptr()
        if not address:
            return  # of a wrapper of other tensors
        if parameter.numel() and address in self._addresses:
            raise ExportError(
                f"the parameters \"{self._addresses[address]}\" and \"{path}\" share their memory "
                "but are two tensors with two gradients; tie weights by assigning the parameter "
                "itself: module.weight = other.weight")
        self._addresses[address] = path

    @contextlib.contextmanager
    def in_place(self, root, prefix):
        """While inside, the modules under `root` hold the fakes."""
        saved, hooks = [], []
        try:
            for path, module in root.named_modules():
                attributes = vars(module)
                saved.append((attributes, dict(attributes)))
                hooks += [(value, dict(value)) for key, value in attributes.items()
                          if "hooks" in key and isinstance(value, dict)]
                for key, value in list(attributes.items()):
                    if key == "_modules":
                        continue
                    place = ".".join(part for part in (prefix + path, key) if part)
                    attributes[key] = self._replaced(value, place, NESTING)
                compat.settle(module)
            yield
        finally:
            for attributes, before in saved:
                attributes.clear()
                attributes.update(before)
            for registered, before in hooks:  # models of transformers add some as they first run
                registered.clear()
                registered.update(before)

    def _replaced(self, value, place, depth):
        if isinstance(value, torch.Tensor):
            return self.fake_of(value) if id(value) in self._made else self._constant(value, place)
        if depth == 0:
            return value
        if type(value) in (list, tuple):
            items = [self._replaced(v, f"{place}.{i}", depth - 1) for i, v in enumerate(value)]
            return value if all(a is b for a, b in zip(items, value)) else type(value)(items)
        if type(value) in (dict, collections.OrderedDict):
            items = {k: self._replaced(v, f"{place}.{k}", depth - 1) for k, v in value.items()}
            same = all(items[key] is value[key] for key in value)
            return value if same else type(value)(items)
        return value

    def _constant(self, tensor, place):
        """A tensor in a plain attribute."""
        if tensor.requires_grad and tensor.is_leaf:
            raise ExportError(f"\"{place}\" wants a gradient but is no parameter that the model "
                              "knows: make it an attribute that is an nn.Parameter, or use "
                              "nn.ParameterList")
        fake = self._recorder.fake_like(tensor, f"the tensor \"{place}\"")
        self._made[id(tensor)] = (tensor, fake)
        self._recorder.add_input(f"constant:{place}", "constant", fake)
        return fake


def with_tensors_changed(value, name, change):
    """`value` with every tensor, in lists, mappings and data classes, replaced by change(tensor,
    its name), where a part of the value called `name` is called after it."""
    if isinstance(value, torch.Tensor):
        return change(value, name)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(with_tensors_changed(v, f"{name}.{k}", change)
                             for k, v in zip(value._fields, value)))
    if isinstance(value, (list, tuple)):
        return type(value)(with_tensors_changed(v, f"{name}.{i}", change)
                           for i, v in enumerate(value))
    if isinstance(value, collections.abc.MutableMapping):
        result = copy.copy(value)
        for key in value:
            result[key] = with_tensors_changed(value[key], f"{name}.{key}", change)
        return result
    if isinstance(value, collections.abc.Mapping):
        return {key: with_tensors_changed(v, f"{name}.{key}", change) for key, v in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        result = copy.copy(value)
        for field in dataclasses.fields(value):
            part = with_tensors_changed(getattr(value, field.name), f"{name}.{field.name}", change)
            object.__setattr__(result, field.name, part)
        return result
    return value


class Arguments:
    """Example arguments of a call, as fakes that are inputs of the graph."""

    def __init__(self, recorder, given, function, skip=0):
        """`given` is a tensor, a list or tuple of positional arguments, or keyword arguments;
        `function` names them, its first `skip` parameters apart."""
        self._recorder = recorder
        self._fakes = {}
        self.args, self.kwargs = (), {}
        if isinstance(given, collections.abc.Mapping):
            self.kwargs = {key: self._fake(value, str(key)) for key, value in given.items()}
            return
        if not isinstance(given, (list, tuple)):
            given = (given,)
        names = _parameter_names(function)[skip:]
        names += [f"in{i}" for i in range(len(names), len(given))]
        self.args = tuple(self._fake(value, name) for value, name in zip(given, names))

    def _fake(self, value, name):
        return with_tensors_changed(value, name, self._fake_tensor)

    def _fake_tensor(self, tensor, name):
        if id(tensor) not in self._fakes:
            fake = self._recorder.fake_like(tensor)
            fake.requires_grad_(tensor.requires_grad)
            self._recorder.add_input(f"input:{name}", "input", fake)
            self._fakes[id(tensor)] = fake
        return self._fakes[id(tensor)]


def _parameter_names(function):
    """Names of positional parameters, as far as Python knows them."""
    if isinstance(function, torch.nn.Module):
        function = function.forward
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in positional]


def tensors_of(value, seen=None):
    """All tensors of a model's output: in lists, sets, mappings, data classes and other objects."""
    if isinstance(value, torch.Tensor):
        return [value]
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, NO_OUTPUTS):
        return []
    seen.add(id(value))
    if isinstance(value, collections.abc.Mapping):
        items = list(value.values())
    elif isinstance(value, (list, tuple, collections.abc.Set)):
        items = list(value)
    elif hasattr(value, "__dict__"):
        items = list(vars(value).values())
    else:
        items = [getattr(value, slot) for slot in getattr(type(value), "__slots__", ())
                 if isinstance(slot, str) and hasattr(value, slot)]
    return [tensor for item in items for tensor in tensors_of(item, seen)]
