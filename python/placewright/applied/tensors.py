"""Types by the names that files have, and parts of tensors by places in their dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
          "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8,
          "u8": torch.uint8, "bool": torch.bool, "b8": torch.bool, "c64": torch.complex64,
          "c128": torch.complex128}


def cut(tensor: torch.Tensor, dimension: int, outer: int, size: int, begin: int,
        end: int) -> torch.Tensor:
    """A copy of [begin, end) of the middle factor of a dimension that is outer * size * inner."""
    shape = list(tensor.shape)
    inner = shape[dimension] // (outer * size)
    split = tensor.reshape([*shape[:dimension], outer, size, inner, *shape[dimension + 1:]])
    shape[dimension] = outer * (end - begin) * inner
    part = split.narrow(dimension + 1, begin, end - begin)
    return part.clone(memory_format=torch.contiguous_format).view(shape)


def join(parts: Sequence[torch.Tensor], dimension: int, outer: int) -> torch.Tensor:
    """Parts that follow one another in the middle factor of a dimension, put together."""
    shape = list(parts[0].shape)
    split = [part.reshape([*shape[:dimension], outer, part.shape[dimension] // outer,
                           *shape[dimension + 1:]]) for part in parts]
    shape[dimension] = sum(part.shape[dimension] for part in parts)
    return torch.cat(split, dimension + 1).view(shape)


def _inner_first(box: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(box, key=lambda axis: axis["outer"], reverse=True)


def piece_of(whole: torch.Tensor, box: Sequence[dict[str, Any]]) -> torch.Tensor:
    """A copy of a part of a tensor; inner factors of a dimension are cut first."""
    for axis in _inner_first(box):
        whole = cut(whole, axis["dimension"], axis["outer"], axis["size"], axis["from"], axis["to"])
    return whole.detach().clone(memory_format=torch.contiguous_format)


def put(whole: torch.Tensor, box: Sequence[dict[str, Any]], piece: torch.Tensor) -> None:
    """Writes a piece into its part of the whole, which is contiguous."""
    if not box:
        whole.copy_(piece)
        return
    if len({axis["dimension"] for axis in box}) < len(box):  # factors of one dimension
        places = torch.arange(whole.numel(), device=whole.device).view(whole.shape)
        whole.view(-1)[piece_of(places, box).view(-1)] = piece.reshape(-1)
        return
    for axis in sorted(box, key=lambda axis: axis["dimension"], reverse=True):
        at, outer = axis["dimension"], axis["outer"]
        inner = whole.shape[at] // (outer * axis["size"])
        whole = whole.view([*whole.shape[:at], outer, axis["size"], inner, *whole.shape[at + 1:]])
        whole = whole.narrow(at + 1, axis["from"], axis["to"] - axis["from"])
    whole.copy_(piece.view(whole.shape))


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """Its content as one row of a type that every transport takes."""
    row = tensor.contiguous().view(-1)
    return row if row.dtype in (torch.float32, torch.float64) else row.view(torch.uint8)


def crossing(row: torch.Tensor) -> torch.Tensor:
    """As bytes_of(), of a row that a functional collective takes: bools are copied, of which
    inductor of PyTorch 2.6 has no other view."""
    return row.to(torch.uint8) if row.dtype == torch.bool else bytes_of(row)


def crossed(row: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """What such a collective gave, as of this type."""
    return row.to(dtype) if dtype == torch.bool else row.view(dtype)


def empty(shape: Sequence[int], dtype: torch.dtype,
          device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Room for a tensor, and the row of bytes_of() that it is received in."""
    tensor = torch.empty(shape, dtype=dtype, device=device)
    return tensor, bytes_of(tensor)


def elements(shape: Sequence[int]) -> int:
    return math.prod(shape)
