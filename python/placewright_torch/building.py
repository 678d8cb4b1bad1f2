"""Models built without memory, whose code may look at numbers that it has computed itself.

While a function builds its model, tensors have shapes and no content. Some code computes sizes or
rates with small tensors, though: `[x.item() for x in torch.linspace(0, rate, depth)]`, widths of
layers by torch.arange. So a tensor of at most MAX_ELEMENTS elements that comes from numbers of the
program alone has its content beside it, which is computed as well; what depends on random draws,
on memory that was never written, or on larger tensors has none, and asking for its values is an
error.
"""

import torch

from . import compat
from .errors import ExportError
from .recorder import Recorder, tensors_in, with_tensors

MAX_ELEMENTS = 2**16


def _is_determined(func):
    """Whether results follow from the arguments."""
    name = func._schema.name
    drawn = (name.startswith("aten::rand") or "dropout" in name or
             any(argument.name == "generator" for argument in func._schema.arguments))
    return not drawn and "empty" not in name


class Builder(Recorder):
    """Use as a context around the function."""

    def __init__(self):
        super().__init__()
        self._lost = {}  # address of contents that no longer hold -> a tensor that lies there

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        contents = self._contents((args, kwargs)) if _is_determined(func) else None
        try:
            result = super().__torch_dispatch__(func, types, args, kwargs)
        except ExportError:
            computed = self._computed(func, contents) if tensors_in((args, kwargs)) else None
            if computed is None:
                raise
            return with_tensors(computed, self._fake_with_content)
        small = all(tensor.numel() <= MAX_ELEMENTS for tensor in tensors_in(result))
        self._keep_contents(func, args, kwargs, result,
                            self._computed(func, contents) if small else None)
        return result

    def _content_of(self, tensor):
        """The numbers of a tensor, or None if they are not known."""
        if isinstance(tensor, compat.FakeTensor):
            tensor = getattr(tensor, "_placewright_content", None)
        known = (tensor is not None and tensor.device.type == "cpu" and
                 tensor.numel() <= MAX_ELEMENTS and tensor.layout == torch.strided and
                 compat.address(tensor) not in self._lost)
        return tensor if known else None

    def _contents(self, arguments):
        """Arguments with the contents of all tensors, or None if one has none."""
        if any(self._content_of(tensor) is None for tensor in tensors_in(arguments)):
            return None
        return with_tensors(arguments, self._content_of)

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
                content = self._content_of(tensor)
                if content is not None:
                    self._lost[compat.address(content)] = content
