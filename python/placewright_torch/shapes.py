"""Shapes of operators that PyTorch does not know without computing, or finds only on zeros."""

import torch

from . import compat
from .operators import value_error


def _convolution_backward(grad_output, input, weight, bias_sizes, *rest):
    """(of the input, of the weight, of the bias); None where the last argument says not wanted."""
    wanted = rest[-1]
    bias = grad_output.new_empty((grad_output.size(1),))
    given = (torch.empty_like(input), torch.empty_like(weight), bias)
    return tuple(gradient if want else None for gradient, want in zip(given, wanted))


def _repeat_interleave(repeats, output_size):
    """Refused by 1.13 even where the size is given."""
    return repeats.new_empty((output_size,))


def _full(size, fill_value, **kwargs):
    """1.13 finds the type of integers and bools only on tensors with content."""
    if kwargs.get("dtype") is None and not isinstance(fill_value, (float, complex)):
        kwargs["dtype"] = torch.bool if isinstance(fill_value, bool) else torch.int64
    return torch.ops.aten.full.default(size, fill_value, **kwargs)


def _longest(lengths, targets):
    """The length of the longest target: by the numbers where they are known, else that of the
    padding."""
    if isinstance(lengths, (list, tuple)):
        return max((int(length) for length in lengths), default=0)
    value = getattr(lengths, "_placewright", None)
    if value is not None and value.known() is not None:
        return int(value.known().number)
    values = getattr(lengths, "_placewright_values", None)
    if values is not None and not lengths._placewright.memory.writes:
        return max(values, default=0)
    if targets.dim() == 2:
        return targets.size(1)
    raise value_error("aten::_ctc_loss", ": give the lengths of targets that are not padded as "
                                         "numbers, or pad the targets to [batch, longest]")


def _ctc_loss(log_probs, targets, input_lengths, target_lengths, *rest, **named):
    """(of each sample, the logarithms of the paths' probabilities)"""
    steps, batch = log_probs.shape[:2]
    return (log_probs.new_empty((batch,)),
            log_probs.new_empty((batch, steps, 2 * _longest(target_lengths, targets) + 1)))


def _ctc_loss_backward(grad, log_probs, *rest, **named):
    return log_probs.new_empty(log_probs.shape)


# Norms: which argument is the weight, and which results are statistics.
STATISTICS = {"aten::native_layer_norm": (2, 1), "aten::native_group_norm": (1, 1),
              "aten::native_batch_norm": (1, 1), "aten::_native_batch_norm_legit": (1, 1),
              "aten::_native_batch_norm_legit_functional": (1, 1),
              "aten::_native_batch_norm_legit_no_training": (1, 1),
              "aten::_batch_norm_with_update": (1, 1)}
ATTENTION = "aten::_scaled_dot_product_flash_attention_for_cpu"


def as_computed(name, args, results):
    """Results of an operator with the types that they have where it is computed: a norm of 16-bit
    values by a weight of 32 bits, as under autocast, keeps statistics of 32 bits, for which fake
    tensors have 16. Logarithms of the CPU's attention in 64 bits are of 64 bits, for which those of
    2.6 have 32."""
    if name == ATTENTION and args[0].dtype == torch.float64:
        return (results[0], results[1].to(torch.float64), *results[2:])
    if name not in STATISTICS:
        return results
    weight, first = STATISTICS[name]
    weight = args[weight] if len(args) > weight else None
    if weight is None or weight.dtype != torch.float32 or results[0].element_size() != 2:
        return results
    return (*results[:first], *(result.to(weight.dtype) for result in results[first:first + 2]),
            *results[first + 2:])


# Name of an operator -> its results, by their shapes; runs among fake tensors.
SHAPE_RULES = {"aten::_ctc_loss": _ctc_loss, "aten::_ctc_loss_backward": _ctc_loss_backward}
if compat.version() < (2, 0):
    SHAPE_RULES["aten::convolution_backward"] = _convolution_backward
    SHAPE_RULES["aten::repeat_interleave"] = _repeat_interleave
    SHAPE_RULES["aten::full"] = _full


# Operators whose sizes depend on values, where the user says how many.


def masks_of(name, args):
    """The masks among the indices of aten::index."""
    if name != "aten::index":
        return []
    return [index for index in args[1] if index is not None and index.dtype in MASKS]


def _nonzero(counts, mask):
    return mask.new_empty((counts[0], mask.dim()), dtype=torch.int64)


def _masked_select(counts, tensor, mask):
    return tensor.new_empty((counts[0],))


def _index(counts, tensor, indices):
    counts, plain = list(counts), []
    for index in indices:
        if index is not None and index.dtype in MASKS:
            count = counts.pop(0)
            plain += [index.new_empty((count,), dtype=torch.int64) for _ in range(index.dim())]
        else:
            plain.append(index)
    return torch.ops.aten.index(tensor, plain)


def _unique(counts, tensor, *_, **__):
    values = tensor.new_empty((counts[0],))
    return (values, tensor.new_empty(tensor.shape, dtype=torch.int64),
            tensor.new_empty((counts[0],), dtype=torch.int64))


def _bincount(counts, tensor, weights=None, minlength=0):
    dtype = torch.int64 if weights is None else weights.dtype
    return tensor.new_empty((max(counts[0], minlength),), dtype=dtype)


MASKS = (torch.bool, torch.uint8)
COUNTED = {"aten::nonzero": _nonzero, "aten::masked_select": _masked_select, "aten::index": _index,
           "aten::_unique2": _unique, "aten::unique_consecutive": _unique,
           "aten::bincount": _bincount}
