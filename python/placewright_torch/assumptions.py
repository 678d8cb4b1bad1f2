"""What PyTorch's own functions read from tensors, answered without reading.

Some functions of PyTorch look at values only to check their arguments, or count with them in a way
that every step takes alike. The values are assumed to be valid; the operators that compute them are
recorded, as they run in every step.
"""

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

EVERY_ELEMENT = object()  # a mask is taken to be true everywhere

READ = ("aten::_local_scalar_dense", "aten::equal", "aten::is_nonzero", "aten::item")


def _reading(answer):
    return {name: answer for name in READ}


# Function -> {operator that it calls: its answer}
ASSUMED = {
    # "is any variance negative?"
    F.gaussian_nll_loss: _reading(False),
    # "are all quantiles between 0 and 1?", of the CPU alone
    torch.quantile: _reading(True), torch.Tensor.quantile: _reading(True),
    torch.nanquantile: _reading(True), torch.Tensor.nanquantile: _reading(True),
    # "are there more corrections than samples?"
    torch.cov: _reading(False), torch.Tensor.cov: _reading(False),
    torch.corrcoef: _reading(False), torch.Tensor.corrcoef: _reading(False),
    # "is any deviation negative?"
    torch.normal: _reading(True),
    # "is the smallest class at least 0, the largest one below their number?"
    F.one_hot: _reading(0),
    # 1.13 takes the mean over the labels that are not ignored: of all
    F.cross_entropy: {"aten::masked_select": EVERY_ELEMENT},
    torch._C._nn.cross_entropy_loss: {"aten::masked_select": EVERY_ELEMENT},
}


def _ctc_loss(function):
    """Lengths that are numbers become tensors, which the loss takes without looking at them."""
    def call(log_probs, targets, input_lengths, target_lengths, *args, **kwargs):
        lengths = [value if isinstance(value, torch.Tensor) else
                   torch.tensor(value, dtype=torch.int64)
                   for value in (input_lengths, target_lengths)]
        return function(log_probs, targets, *lengths, *args, **kwargs)
    return call


REPLACED = {function: _ctc_loss(function) for function in (F.ctc_loss, torch.ctc_loss)}


class Assumptions(TorchFunctionMode):
    """While inside, the recorder answers reads of these functions as above."""

    def __init__(self, recorder):
        super().__init__()
        self._recorder = recorder

    def __torch_function__(self, func, types, args=(), kwargs=None):
        before = self._recorder.assumed
        self._recorder.assumed = ASSUMED.get(func, before)
        try:
            return REPLACED.get(func, func)(*args, **(kwargs or {}))
        finally:
            self._recorder.assumed = before
