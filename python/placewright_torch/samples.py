"""Loops over samples whose results are those of all samples at once.

A program that takes a batch apart, `list(images)`, and joins the pieces again as they are has one more
operand for each sample, so that its steps at two batch sizes are not the same ops. What it joins is
a copy of what it took apart, and is recorded so: `clone`, of the sizes that the join has.
"""

import torch
from torch.overrides import TorchFunctionMode

APART = (torch.unbind, torch.Tensor.unbind, torch.Tensor.__iter__)
CONCATENATED = tuple(getattr(torch, name) for name in ("cat", "concat", "concatenate")
                     if hasattr(torch, name))
JOINED = (*CONCATENATED, torch.stack)


class Samples(TorchFunctionMode):
    """While inside, joins of all that a tensor was taken apart into are copies of it."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in JOINED:
            whole = _whole(*args, **kwargs)
            if whole is not None:
                return (whole.flatten(0, 1) if func in CONCATENATED else whole).clone()
        result = func(*args, **kwargs)
        if func not in APART or not args or _dimension(*args[1:], **kwargs) != 0:
            return result
        pieces = tuple(result)
        for number, piece in enumerate(pieces):
            piece._placewright_piece = (args[0], number, len(pieces))
            piece._placewright_lies = _lies(piece)
        return iter(pieces) if func is torch.Tensor.__iter__ else pieces


def _dimension(dim=0, **_):
    return dim


def _lies(piece):
    """What an operator in place may change of a piece beside its elements."""
    return tuple(piece.shape), piece.stride(), piece.storage_offset()


def _whole(tensors=None, dim=0, **options):
    """The tensor of which `tensors` are all pieces in their order, or None."""
    if dim != 0 or options or not isinstance(tensors, (list, tuple)) or len(tensors) < 2:
        return None
    pieces = [getattr(tensor, "_placewright_piece", None) for tensor in tensors]
    if None in pieces or any(tensor._placewright_lies != _lies(tensor) for tensor in tensors):
        return None
    if [piece[1:] for piece in pieces] != [(number, len(tensors)) for number in range(len(tensors))]:
        return None
    whole = pieces[0][0]
    return whole if whole.dim() > 1 and all(of is whole for of, _, _ in pieces) else None
