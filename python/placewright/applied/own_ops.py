"""The operators of compiled steps that are not ATen's and stay on one device, as
docs/formats/aten-graph.md states them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from . import device_ops
from .counted_draws import OPERATORS as DRAWS
from .tensors import cut, join


def split(x: Tensor, dimension: int, outer: int, size: int, begin: int, end: int) -> Tensor:
    return cut(x, dimension, outer, size, begin, end)


def concat(parts: Sequence[Tensor], dimension: int, outer: int) -> Tensor:
    return join(parts, dimension, outer)


def add_n(parts: Sequence[Tensor]) -> Tensor:
    total = parts[0] + parts[1] if len(parts) > 1 else parts[0].clone()
    for part in parts[2:]:
        total += part
    return total


def pack(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat([part.reshape(-1) for part in parts])


def unpack(buffer: Tensor, begin: int, shape: Sequence[int]) -> Tensor:
    return buffer[begin:begin + math.prod(shape)].view(shape)


def _rows_in_part(indices: Tensor, rows: int, place: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Rows of the part that the indices ask for, and where they ask for another part's."""
    _, outer, size, begin, end = place
    inner = rows // (outer * (end - begin))
    wide = indices.to(torch.int64)
    group = wide.div(inner, rounding_mode="floor")
    middle = group.remainder(size)
    outside = (middle < begin) | (middle >= end)
    own = group.div(size, rounding_mode="floor") * (end - begin) + middle - begin
    return own * inner + wide.remainder(inner), outside


def embedding_part(weight: Tensor, indices: Tensor, place: Sequence[int]) -> Tensor:
    rows, outside = _rows_in_part(indices, weight.shape[0], place)
    found = torch.ops.aten.embedding.default(weight, rows.masked_fill(outside, 0))
    return found.masked_fill_(outside.unsqueeze(-1), 0)


def embedding_dense_backward_part(grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int,
                                  place: Sequence[int]) -> Tensor:
    rows, outside = _rows_in_part(indices, num_weights, place)
    none = outside | (indices == padding_idx)
    # Padding is what the operator leaves out: here, a row behind the last.
    return torch.ops.aten.embedding_dense_backward.default(
        grad, rows.masked_fill(none, num_weights), num_weights, num_weights, False)


_IGNORED = -100  # in the place of a target whose class the part does not have


def _targets_in_part(scores: Tensor, target: Tensor, ignore_index: int,
                     place: Sequence[int]) -> Tensor:
    ignored = target == ignore_index
    classes = scores.shape[min(scores.dim() - 1, 1)]
    own, outside = _rows_in_part(target.masked_fill(ignored, 0), classes, place)
    return own.masked_fill(outside | ignored, _IGNORED)


def nll_loss_part(scores: Tensor, target: Tensor, weight: Tensor | None, reduction: int,
                  ignore_index: int, place: Sequence[int]) -> tuple[Tensor, Tensor]:
    own = _targets_in_part(scores, target, ignore_index, place)
    aten = torch.ops.aten
    loss = aten.nll_loss2d_forward if scores.dim() == 4 else aten.nll_loss_forward
    return loss.default(scores, own, weight, reduction, _IGNORED)


def nll_loss_backward_part(grad: Tensor, scores: Tensor, target: Tensor, weight: Tensor | None,
                           reduction: int, ignore_index: int, total_weight: Tensor,
                           place: Sequence[int]) -> Tensor:
    own = _targets_in_part(scores, target, ignore_index, place)
    aten = torch.ops.aten
    loss = aten.nll_loss2d_backward if scores.dim() == 4 else aten.nll_loss_backward
    return loss.default(grad, scores, own, weight, reduction, _IGNORED, total_weight)


def sort_part(keys: Tensor, place: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Of rows that are sorted by their expert those of experts [begin, end), as all of the routing's parts."""
    begin, end = place[3:]
    places = ((keys >= begin) & (keys < end)).nonzero().squeeze(1)
    found, order = torch.sort(keys[places], stable=True)
    return found, places[order]


def _first_place(query: Tensor, key: Tensor, place: Sequence[int]) -> int:
    """Of [2, 1, size, begin, end]: all places are `size` runs of equal length."""
    dimension, outer, size, begin, end = place
    run, rest = divmod(key.shape[2], size)
    if (dimension, outer, rest) != (2, 1, 0) or (end - begin) * run != query.shape[2]:
        raise ValueError(f"no place of {query.shape[2]} queries among {key.shape[2]} keys: {place}")
    return begin * run


def causal_attention_part(query: Tensor, key: Tensor, value: Tensor, dropout_p: float, is_causal: bool,
                          place: Sequence[int], *, attn_mask: None = None,
                          scale: float | None = None) -> tuple[Tensor, Tensor]:
    return device_ops.causal_part(query, key, value, _first_place(query, key, place), scale)


def causal_attention_backward_part(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, output: Tensor,
                                   logarithms: Tensor, dropout_p: float, is_causal: bool,
                                   place: Sequence[int], *, attn_mask: None = None,
                                   scale: float | None = None) -> tuple[Tensor, Tensor, Tensor]:
    return device_ops.causal_part_backward(grad, query, key, value, output, logarithms,
                                           _first_place(query, key, place), scale)


def histc_part(keys: Tensor, bins: int, first: int, last: int, place: Sequence[int]) -> Tensor:
    return torch.ops.aten.histc.default(keys, bins, first, last)[place[3]:place[4]].clone()


def order_part_(x: Tensor, places: Sequence[Tensor], values: Tensor, place: Sequence[int]) -> Tensor:
    return x.copy_(places[0])


def unsort_part(rows: Tensor, places: Sequence[Tensor], sizes: Sequence[int],
                place: Sequence[int]) -> Tensor:
    return rows.new_zeros(sizes).index_copy_(0, places[0], rows)


def sort_rows_part(x: Tensor, places: Sequence[Tensor], rows: Tensor, place: Sequence[int]) -> Tensor:
    return rows.index_select(0, places[0])


def rows_of_keys_part(table: Tensor, keys: Sequence[Tensor], place: Sequence[int]) -> Tensor:
    """Of each row the row of its key, as a bias of its expert: the table has those of keys [begin, end)."""
    return table.index_select(0, keys[0] - place[3])


def sum_by_keys_part(table: Tensor, keys: Sequence[Tensor], rows: Tensor, accumulate: bool,
                     place: Sequence[int]) -> Tensor:
    return torch.ops.aten.index_put.default(table, [keys[0] - place[3]], rows, accumulate)


def slice_backward_part(grad: Tensor, sizes: Sequence[int], dim: int, start: int, end: int, step: int,
                        place: Sequence[int]) -> Tensor:
    """Of as many rows as the gradient has: `sizes` has those of equal shares."""
    own = [*grad.shape[:dim], sizes[dim], *grad.shape[dim + 1:]]
    return torch.ops.aten.slice_backward.default(grad, own, dim, start, end, step)


OPERATORS = {"split": split, "concat": concat, "add_n": add_n, "pack": pack, "unpack": unpack,
             "embedding_part": embedding_part,
             "embedding_dense_backward_part": embedding_dense_backward_part,
             "causal_attention_part": causal_attention_part,
             "causal_attention_backward_part": causal_attention_backward_part,
             "nll_loss_part": nll_loss_part, "nll_loss_backward_part": nll_loss_backward_part,
             "sort_part": sort_part, "histc_part": histc_part, "order_part_": order_part_,
             "unsort_part": unsort_part, "sort_rows_part": sort_rows_part,
             "rows_of_keys_part": rows_of_keys_part, "sum_by_keys_part": sum_by_keys_part,
             "slice_backward_part": slice_backward_part,
             **DRAWS}
