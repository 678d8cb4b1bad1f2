"""Devices that a model names count as the CPU, where steps are recorded, whether they are there or
not: `.cuda()` needs neither a driver nor a PyTorch that is built for it.
"""

import contextlib

import torch
from torch.overrides import TorchFunctionMode

from . import compat

# Methods that move a tensor or its storage, by what moves nothing.
MOVES = {getattr(torch.Tensor, name) for name in
         ("cuda", "xpu", "ipu", "hpu", "mtia", "pin_memory", "share_memory_")
         if hasattr(torch.Tensor, name)}
# Functions of torch.cuda about the device alone: name -> what they return.
SAID_OF_CUDA = {"set_device": None, "synchronize": None, "current_device": 0,
                "empty_cache": None, "reset_peak_memory_stats": None}
HERE = ("cpu", "meta")


def _is_elsewhere(device):
    """Whether an argument names another device than the host's: "cuda", 0, torch.device("mps")."""
    if isinstance(device, bool):
        return False
    if isinstance(device, str):
        return device.split(":")[0] not in HERE
    return isinstance(device, int) or (isinstance(device, torch.device) and
                                       device.type not in HERE)


class OnHost(TorchFunctionMode):
    """While inside, calls that name a device name the host."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in MOVES:
            return args[0]
        if func is torch.Tensor.to and len(args) > 1 and _is_elsewhere(args[1]):
            args = (args[0], "cpu", *args[2:])
        elif any(isinstance(argument, torch.device) for argument in args):
            args = tuple(torch.device("cpu") if isinstance(argument, torch.device) and
                         _is_elsewhere(argument) else argument for argument in args)
        if "device" in kwargs and _is_elsewhere(kwargs["device"]):
            kwargs = {**kwargs, "device": "cpu"}
        return func(*args, **kwargs)


def _parsing_here(parse):
    """What nn.Module.to() asks for its arguments' meaning; 2.6 looks for the accelerator that 0 is."""
    def here(*args, **kwargs):
        if args and _is_elsewhere(args[0]):
            args = ("cpu", *args[1:])
        if "device" in kwargs and _is_elsewhere(kwargs["device"]):
            kwargs = {**kwargs, "device": "cpu"}
        return parse(*args, **kwargs)
    return here


@contextlib.contextmanager
def on_host():
    """OnHost, and what is no call on tensors: the default device, and functions of torch.cuda."""
    with contextlib.ExitStack() as stack:
        for name, answer in SAID_OF_CUDA.items():
            if hasattr(torch.cuda, name):
                stack.enter_context(compat.replaced(torch.cuda, name,
                                                    lambda *_, _answer=answer, **__: _answer))
        set_default = getattr(torch, "set_default_device", None)  # since 2.0
        if set_default is not None:
            stack.enter_context(compat.replaced(
                torch, "set_default_device",
                lambda device: set_default("cpu" if _is_elsewhere(device) else device)))
        stack.enter_context(compat.replaced(torch._C._nn, "_parse_to",
                                            _parsing_here(torch._C._nn._parse_to)))
        stack.enter_context(OnHost())
        yield
