"""Parameters and buffers that the user's code holds itself: in a list that a hook of the optimizer
clips, in the closure of a loss, in another optimizer. The modules hold fakes while a step is
recorded; here the originals stand for them too, wherever they are kept.
"""

import torch
from torch.overrides import TorchFunctionMode

from .recorder import tensors_in, with_tensors

READS_A_NUMBER = {torch.Tensor.item, torch.Tensor.__float__, torch.Tensor.__int__}


class Originals(TorchFunctionMode):
    """While inside, functions of PyTorch, gradients and `data` among them, take originals for their
    fakes; `numbers`, if there are any, follow what is read from counters."""

    def __init__(self, fakes, recorder):
        super().__init__()
        self._fakes, self._recorder = fakes, recorder
        self.numbers = None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if any(self._fakes.fake_of(tensor) is not None for tensor in tensors_in((args, kwargs))):
            args, kwargs = with_tensors((args, kwargs), self._current)
        owner = getattr(func, "__self__", None)
        if owner is torch.Tensor.data and func.__name__ == "__set__":
            return self._recorder.set_data(*args, func)
        if self.numbers is not None and func in READS_A_NUMBER:
            return self.numbers.read(args[0], func(*args, **kwargs))
        return func(*args, **kwargs)

    def _current(self, tensor):
        fake = self._fakes.fake_of(tensor)
        return tensor if fake is None else fake
