"""Models built without memory, whose code may look at numbers that it has computed itself.

While a function builds its model, tensors have shapes and no content. Some code computes sizes or
rates with small tensors, though: `[x.item() for x in torch.linspace(0, rate, depth)]`, widths of
layers by torch.arange. So a tensor of at most MAX_ELEMENTS elements that comes from numbers of the
program alone has its content beside it, which is computed as well; what depends on random draws,
on memory that was never written, or on larger tensors has none, and asking for its values is an
error.
"""

import contextlib
import os
import warnings
import zipfile

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._mode_utils import no_dispatch

from . import compat, wrappers
from .devices import on_host
from .errors import ExportError
from .fakes import with_tensors_changed
from .recorder import Recorder, tensors_in, with_tensors

MAX_ELEMENTS = 2**16
MAX_DRAWN = 2**26  # of an order in which a data set is read


@contextlib.contextmanager
def loading():
    """While inside, devices count as the host, and wrappers for several devices do nothing."""
    with wrappers.neutral(), on_host():
        yield


@contextlib.contextmanager
def building():
    """While inside, the same, and no tensor has memory."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(loading())
        builder = Builder()
        for owner, name, value in (
                (torch.nn.Module, "_apply", _apply), (torch, "load", _loading(builder, torch.load)),
                (torch.Tensor, "_make_subclass", _making_subclass(torch.Tensor._make_subclass)),
                *_of_data_loaders(builder)):
            stack.enter_context(compat.replaced(owner, name, value))
        stack.enter_context(compat.without_content())
        stack.enter_context(_Answers(builder))
        stack.enter_context(builder)
        stack.enter_context(warnings.catch_warnings())
        # copy.deepcopy() of a parameter, which PyTorch itself writes so.
        warnings.filterwarnings("ignore", message="Accessing the data pointer of FakeTensor")
        yield


def _making_subclass(make):
    """Parameters of bitsandbytes (Params4bit, Int8Params) pack their content as they move: without
    any they are plain ones, and stored.py knows the modules."""
    def plain(cls, data, requires_grad=False, *args, **kwargs):
        if isinstance(data, compat.FakeTensor) and cls.__module__.startswith("bitsandbytes."):
            return torch.nn.Parameter(data, requires_grad)
        return make(cls, data, requires_grad, *args, **kwargs)
    return staticmethod(plain)


def _apply(self, fn, recurse=True):
    """nn.Module's, behind .to(), .half(), .cuda() and the like: PyTorch's own (2.x) swaps tensors,
    which is not possible with fakes, and keeps those of a loaded file apart from them."""
    if recurse:
        for module in self.children():
            module._apply(fn)
    for key, parameter in self._parameters.items():
        if parameter is not None:
            self._parameters[key] = _applied(parameter, fn)
    for key, buffer in self._buffers.items():
        if buffer is not None:
            self._buffers[key] = fn(buffer)
    return self


def _applied(parameter, fn):
    """The same object, so that optimizers and tied modules keep it, where it can be."""
    became = getattr(parameter, "_placewright_became", None)
    if became is not None:  # a parameter of two modules
        return became
    with torch.no_grad():
        changed = fn(parameter)
    if changed is parameter:
        return parameter
    if isinstance(changed, compat.FakeTensor) and not isinstance(parameter, compat.FakeTensor):
        became = torch.nn.Parameter(changed, parameter.requires_grad)
        parameter._placewright_became = became
        return became
    parameter.data = changed
    parameter._placewright_content = getattr(changed, "_placewright_content", None)
    return parameter


def _loading(builder, load):
    """torch.load() that keeps no weights: a file is mapped into memory where PyTorch can (since
    2.1), so that its pages are read only for what is small."""
    def without_weights(f, map_location=None, *args, **kwargs):
        options = dict(kwargs)
        if compat.version() >= (2, 1) and isinstance(f, (str, os.PathLike)):
            options["mmap"] = zipfile.is_zipfile(f)
        with no_dispatch():
            loaded = load(f, "cpu", *args, **options)
        return with_tensors_changed(loaded, "", builder.fake_of_file)
    return without_weights


def _of_data_loaders(builder):
    """(class, method, replacement): a data loader draws its order, and reads it in this process."""
    data = torch.utils.data
    base = data.dataloader._BaseDataLoaderIter

    def drawing(function):
        def call(self, *args, **kwargs):
            with builder.drawing():
                return function(self, *args, **kwargs)
        return call

    def begun(function):
        def call(self):
            with compat.replaced(self, "num_workers", 0), builder.drawing(), \
                    compat.replaced(self, "timeout", 0):
                return function(self)
        return call

    yield base, "__next__", drawing(base.__next__)
    yield data.DataLoader, "_get_iterator", begun(data.DataLoader._get_iterator)


class _Answers(TorchFunctionMode):
    """What leaves PyTorch is answered from contents, where they are known."""

    ANSWERED = {torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__array__}

    def __init__(self, builder):
        super().__init__()
        self._builder = builder

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self.ANSWERED and isinstance(args[0], compat.FakeTensor):
            content = self._builder.content_of(args[0])
            if content is not None:
                with no_dispatch():
                    return func(content, *args[1:], **kwargs)
        return func(*args, **kwargs)


def _is_determined(func, drawn_too):
    """Whether results follow from the arguments."""
    if drawn_too:
        return True
    name = func._schema.name
    drawn = (name.startswith("aten::rand") or "dropout" in name or
             any(argument.name == "generator" for argument in func._schema.arguments))
    return not drawn and "empty" not in name


class Builder(Recorder):
    """Use as a context around the function."""

    def __init__(self):
        super().__init__()
        self._lost = {}  # address of contents that no longer hold -> a tensor that lies there
        self._most = MAX_ELEMENTS
        self._draws = False

    @contextlib.contextmanager
    def drawing(self):
        """While inside, draws are contents like others, as the order of a data set."""
        before = self._most, self._draws
        self._most, self._draws = MAX_DRAWN, True
        try:
            yield
        finally:
            self._most, self._draws = before

    def fake_of_file(self, tensor, _=""):
        """A tensor of a file that was read, without what is large in it."""
        if tensor.layout != torch.strided or tensor.is_quantized:
            return tensor
        if tensor.numel() > MAX_ELEMENTS:
            fake = self.fake_like(tensor)
        else:
            with no_dispatch():  # a copy, so that the file's memory can be given back
                content = tensor.detach().clone()
            fake = self._fake_with_content(content)
        return fake.requires_grad_(tensor.requires_grad)

    def _fake_of(self, tensor):
        """Large ones are not kept, so that memory for them can be given back."""
        if isinstance(tensor, compat.FakeTensor) or tensor.numel() <= MAX_ELEMENTS:
            return super()._fake_of(tensor)
        return self.fake_like(tensor)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        contents = self._contents((args, kwargs)) if _is_determined(func, self._draws) else None
        try:
            result = super().__torch_dispatch__(func, types, args, kwargs)
        except ExportError:
            computed = self._computed(func, contents) if tensors_in((args, kwargs)) else None
            if computed is None:
                raise
            return with_tensors(computed, self._fake_with_content)
        small = all(tensor.numel() <= self._most for tensor in tensors_in(result))
        self._keep_contents(func, args, kwargs, result,
                            self._computed(func, contents) if small else None)
        return result

    def content_of(self, tensor):
        """The numbers of a tensor, or None if they are not known."""
        if isinstance(tensor, compat.FakeTensor):
            tensor = getattr(tensor, "_placewright_content", None)
        known = (tensor is not None and tensor.device.type == "cpu" and
                 tensor.numel() <= self._most and tensor.layout == torch.strided and
                 compat.address(tensor) not in self._lost)
        return tensor if known else None

    def _contents(self, arguments):
        """Arguments with the contents of all tensors, or None if one has none."""
        if any(self.content_of(tensor) is None for tensor in tensors_in(arguments)):
            return None
        return with_tensors(arguments, self.content_of)

    @staticmethod
    def _computed(func, contents):
        """The result of a call on contents, or None. Calls that write do so here, once."""
        if contents is None:
            return None
        args, kwargs = contents
        if kwargs.get("device") is not None:
            kwargs = {**kwargs, "device": torch.device("cpu")}
        try:
            with torch.no_grad():
                result = func(*args, **kwargs)
        except Exception:  # the call on shapes says what is wrong, if anything is
            return None
        return result

    def _fake_with_content(self, tensor):
        fake = self.fake_like(tensor)
        fake._placewright_content = tensor
        return fake

    def _keep_contents(self, func, args, kwargs, result, computed):
        """The results have these contents, or what the call wrote has none any more."""
        results, known = tensors_in(result), tensors_in(computed)
        if computed is not None and len(results) == len(known):
            for tensor, content in zip(results, known):
                if isinstance(tensor, compat.FakeTensor):
                    tensor._placewright_content = content
            return
        named = [*zip(func._schema.arguments, args),
                 *((a, kwargs[a.name]) for a in func._schema.arguments if a.name in kwargs)]
        for declared, given in named:
            if declared.alias_info is None or not declared.alias_info.is_write:
                continue
            for tensor in tensors_in(given):
                content = self.content_of(tensor)
                if content is not None:
                    self._lost[compat.address(content)] = content
