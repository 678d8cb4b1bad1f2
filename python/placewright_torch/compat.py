"""Everything that differs between PyTorch 1.13 and 2.x, and what is not public in either.

Used of PyTorch: `torch._subclasses.fake_tensor` (FakeTensorMode and its exceptions, by these names
since 1.13), `torch.utils._python_dispatch.TorchDispatchMode` (since 1.13), and operator schemas.
"""

import contextlib
import logging

from .errors import ExportError, MissingTorchError

OLDEST = (1, 13)
REMEDY = ("install PyTorch 1.13 or newer for this Python: on Debian 12 `apt-get install "
          "python3-torch` and run /usr/bin/python3, elsewhere `pip install torch`")

try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch._subclasses import fake_tensor
except ImportError as error:
    raise MissingTorchError(f"PyTorch cannot be imported ({error}): {REMEDY}") from error


def version():
    """(major, minor) of PyTorch; "1.13.0a0+git" gives (1, 13)."""
    numbers = torch.__version__.split("+")[0].split(".")
    return int(numbers[0]), int(numbers[1])


if version() < OLDEST:
    raise MissingTorchError(f"PyTorch {torch.__version__} is too old: {REMEDY}")

# Past the first steps some optimizers take another way (RAdam from its sixth on).
STEPS_BEFORE = 999
COMPUTED_AT_MOST = 2**30  # bytes of arguments

FakeTensor = fake_tensor.FakeTensor
Mode = TorchDispatchMode

# A value, or a size, that would have to be read from a tensor.
NEEDS_VALUES = tuple(
    getattr(fake_tensor, name)
    for name in ("DataDependentOutputException", "DynamicOutputShapeException")
    if hasattr(fake_tensor, name))
# An op that knows no shapes without computing (2.x; 1.13 raises NotImplementedError).
UNSUPPORTED = (NotImplementedError,) + tuple(
    getattr(fake_tensor, name)
    for name in ("UnsupportedOperatorException", "UnsupportedFakeTensorException")
    if hasattr(fake_tensor, name))


def new_fake_mode():
    """The mode that makes tensors of shapes alone, and refuses to read a value from one."""
    if version() < (2, 0):  # which otherwise answers 0, and computes on zeros of any size
        return fake_tensor.FakeTensorMode(throw_on_data_dependent_ops=True,
                                          allow_fallback_kernels=False)
    return fake_tensor.FakeTensorMode()


def computed_on_zeros(mode, func, args, kwargs, sizes, error):
    """The result of a call for which 1.13 has no rule, or a broken one, by running the operator
    on zeros; `sizes` are the bytes of the arguments. Raises `error` where that is no way out."""
    broken = isinstance(error, (*UNSUPPORTED, TypeError, AttributeError, AssertionError))
    if not broken and "not allocated" not in str(error):
        raise error
    if version() >= (2, 0) or sum(sizes) > COMPUTED_AT_MOST:
        raise error
    try:
        return fake_tensor.run_fallback_kernel(mode, func, args, kwargs, error)
    except Exception:
        raise error from None


def address(tensor):
    """Where the memory begins in which a tensor with content lies."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr()


def is_composition(func):
    """Whether an operator is no more than calls of others (CompositeImplicitAutograd)."""
    return (hasattr(func, "decompose") and
            torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"))


def is_scripted(module):
    return isinstance(module, torch.jit.ScriptModule)


@contextlib.contextmanager
def replaced(owner, name, value):
    """While inside, the attribute of a module, class or object is `value`."""
    own = name in vars(owner)
    before = vars(owner)[name] if own else None
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def without_content():
    """While inside, modules are built of tensors that hold no numbers: trunc_normal_, which draws
    again until all are in range (2.15), leaves them alone."""
    return replaced(torch.nn.init, "_no_grad_trunc_normal_", lambda tensor, *_, **__: tensor)


_autocast_init = torch.autocast.__init__


def _autocast_on_cpu(self, device_type, dtype=None, enabled=True, cache_enabled=None):
    """Autocast of any device, on the CPU, where the step is recorded."""
    if not enabled:
        dtype = None  # 1.13 looks at it even so
    elif device_type != "cpu":
        dtype = dtype or torch.get_autocast_gpu_dtype()
    if dtype == torch.float16 and version() < (2, 3):
        raise ExportError(f"PyTorch {torch.__version__} knows no autocast to float16 on the CPU, "
                          "where steps are recorded: use dtype=torch.bfloat16, which has as many "
                          "bytes, or PyTorch 2.3 or newer")
    _autocast_init(self, "cpu", dtype, enabled, cache_enabled)


def _is_causal(mask, is_causal=None, size=None):
    """Whether an encoder's mask is announced as causal; else it counts as any other."""
    return bool(is_causal)


@contextlib.contextmanager
def plain_operators():
    """While inside, PyTorch uses the operators of its plain CPU path on any machine: an LSTM is
    unrolled instead of one mkldnn operator, and 2.x takes no fused path of nn.TransformerEncoder
    (1.13 has no such switch; there a gradient that is wanted keeps it away) and compiles nothing."""
    set_stance = getattr(getattr(torch, "compiler", None), "set_stance", None)  # since 2.6
    eager = set_stance("force_eager") if set_stance else contextlib.nullcontext()
    fast_path = None
    transformer = torch.nn.modules.transformer
    mha = getattr(torch.backends, "mha", None)
    if mha is not None and hasattr(mha, "set_fastpath_enabled"):
        fast_path = mha.get_fastpath_enabled()
        mha.set_fastpath_enabled(False)
    # Not flags(), which also sets TF32 and so makes 2.15 warn of it.
    mkldnn = torch.backends.mkldnn.set_flags(False)[0]
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(eager)
            stack.enter_context(replaced(torch.autocast, "__init__", _autocast_on_cpu))
            # 2.x prints a traceback of its own before it raises.
            stack.enter_context(replaced(logging.getLogger(fake_tensor.__name__), "disabled", True))
            # Distributions look at the values of their parameters, to check them.
            stack.enter_context(replaced(torch.distributions.Distribution, "_validate_args", False))
            nnpack = getattr(torch.backends, "nnpack", None)
            if hasattr(nnpack, "flags"):  # which takes convolutions from batch 16 on
                stack.enter_context(nnpack.flags(False))
            if hasattr(transformer, "_detect_is_causal_mask"):  # 2.x looks at a mask's values
                stack.enter_context(replaced(transformer, "_detect_is_causal_mask", _is_causal))
            yield
    finally:
        torch.backends.mkldnn.set_flags(mkldnn)
        if fast_path is not None:
            mha.set_fastpath_enabled(fast_path)


def settle(module):
    """Sets what batch norm would read from tensors or devices; the caller restores attributes."""
    if not isinstance(module, torch.nn.modules.batchnorm._NormBase):
        return
    if module.momentum is None:  # a cumulative average, in a step from the middle of training
        module.momentum = 1.0 / (STEPS_BEFORE + 1)
    if isinstance(module, torch.nn.SyncBatchNorm):  # 1.13 insists on a GPU; alone it is BatchNorm
        module.forward = lambda x: torch.nn.modules.batchnorm._BatchNorm.forward(module, x)
        module._check_input_dim = lambda x: None
