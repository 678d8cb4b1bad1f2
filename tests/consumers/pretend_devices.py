"""GPUs on a machine without one: tensors that lie on the CPU and say that they lie on `cuda:N`.

Within Pretended(), `.to("cuda:1")`, `device=` of factories and module.to() give such tensors; an
operator computes on the CPU and its results lie where its arguments do. What CUDA refuses is
refused: arguments on two devices, but for tensors without dimensions of the CPU, indices on the
CPU, and copies. So a model that Accelerate divided runs with its own numbers, and fails where it
would fail on GPUs. Forward only: gradients are switched off.

`Pretended.ran` lists the device of every operator that ran, with the path of its module if
`scopes` ends with it.
"""

import contextlib
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map, tree_leaves

CPU = torch.device("cpu")
COPIES = ("aten::copy_", "aten::_to_copy", "aten::_copy_from")
INDEXED = ("aten::index", "aten::index_put", "aten::index_put_", "aten::_unsafe_index")


class WrongDevice(RuntimeError):
    pass


class OnDevice(torch.Tensor):
    """A tensor `inner` of the CPU that says it lies on `device`."""

    @staticmethod
    def __new__(cls, inner, device=None, requires_grad=False):
        """Of an OnDevice alone, as Accelerate makes parameters of tensors: the same, once more."""
        if isinstance(inner, OnDevice):
            inner, device = inner.inner, inner.device
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(),
            dtype=inner.dtype, layout=inner.layout, device=device, requires_grad=requires_grad)
        made.inner = inner
        return made

    def data_ptr(self):
        return self.inner.data_ptr()

    def __repr__(self):
        return f"OnDevice({self.inner}, {self.device})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(f"{func} outside of Pretended()")


def full(device):
    device = torch.device(device)
    return torch.device("cuda", 0) if device.type == "cuda" and device.index is None else device


class Pretended(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.scopes, self.ran = [], []

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        # module.to() puts new parameters in place of the old ones, whose class is another.
        before = torch.__future__.get_overwrite_module_params_on_conversion()
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        self._stack.callback(torch.__future__.set_overwrite_module_params_on_conversion, before)
        # Without a GPU: no-one asks the driver which device is the current one.
        torch._C._ensureCUDADeviceGuardSet()
        # Autograd would ask CUDA for its stream.
        self._stack.enter_context(torch.no_grad())
        # Asked by factories with device="cuda" before any mode sees the call.
        self._stack.enter_context(mock.patch.object(torch.cuda, "_lazy_init", lambda: None))
        # Choosing a fused kernel by device would choose CUDA's, which the CPU cannot run.
        self._stack.enter_context(
            torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH))
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self._stack.close()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        device = self._device_of(func, args, kwargs, tensors)
        if "device" in kwargs:
            kwargs["device"] = CPU if torch.device(kwargs["device"]).type == "cuda" else \
                kwargs["device"]
        result = func(*tree_map(_inner, args), **tree_map(_inner, kwargs))
        if tensors or device != CPU:
            self.ran.append((self.scopes[-1] if self.scopes else "", func._schema.name, device))
        known = {id(_inner(t)): t for t in tensors}
        return tree_map(lambda item: self._placed(item, device, known), result)

    @staticmethod
    def _placed(item, device, known):
        if not isinstance(item, torch.Tensor):
            return item
        if id(item) in known:  # written in place
            return known[id(item)]
        return item if device.type != "cuda" else OnDevice(item, device)

    @staticmethod
    def _device_of(func, args, kwargs, tensors):
        """Where the results lie."""
        name = func._schema.name
        if name == "aten::_to_copy" and kwargs.get("device") is not None:
            return full(kwargs["device"])
        if name in COPIES:
            return args[0].device
        if kwargs.get("device") is not None and not tensors:
            return full(kwargs["device"])
        if name in INDEXED:
            tensors = [t for t in tensors if t is args[0] or t.device != CPU]
            return _only(func, tensors or [args[0]])
        if kwargs.get("device") is not None:  # new_zeros and its like
            return full(kwargs["device"])
        return _only(func, tensors)


def _only(func, tensors):
    devices = {t.device for t in tensors}
    if len(devices) > 1:
        devices = {t.device for t in tensors if t.device != CPU or t.dim()}
    if len(devices) > 1:
        raise WrongDevice(f"{func._schema.name}: arguments on {sorted(map(str, devices))}")
    return devices.pop() if devices else CPU


def _inner(value):
    return value.inner if isinstance(value, OnDevice) else value


@contextlib.contextmanager
def watched(model, pretended):
    """While inside, `pretended.scopes` ends with the path of the module that runs."""
    handles = []

    def leave(*_):
        pretended.scopes.pop()

    for path, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(
            lambda *_, path=path: pretended.scopes.append(path)))
        handles.append(module.register_forward_hook(leave))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def to_cpu(value):
    """Nested results as tensors of the CPU."""
    return tree_map(_inner, value)
