"""What wraps a model or an optimizer for several devices: the step is that of the model inside,
as one process runs it without them.

While a function builds its model, the wrappers of torch.distributed are neutral: they need no
process group, no device and no contents. What changes the arithmetic, the mixed precision of FSDP,
stays.
"""

import contextlib
import importlib.abc
import importlib.machinery
import sys

import torch

from . import compat
from .errors import ExportError
from .fakes import with_tensors_changed


def original(model):
    """The module inside of torch.compile, DataParallel, DDP and FSDP, else the model itself."""
    while True:
        inner = getattr(model, "_orig_mod", None)  # torch.compile (2.x)
        if inner is None and _is_parallel(model):
            inner = model._modules.get("module") or model._modules["_fsdp_wrapped_module"]
        if inner is None:
            return model
        model = inner


def _is_parallel(model):
    fsdp = sys.modules.get("torch.distributed.fsdp")
    classes = [getattr(torch.nn.parallel, name, None)
               for name in ("DataParallel", "DistributedDataParallel")]
    classes.append(getattr(fsdp, "FullyShardedDataParallel", None))
    return isinstance(model, tuple(kind for kind in classes if isinstance(kind, type)))


def original_optimizer(optimizer):
    """The optimizer inside of accelerate's, else the optimizer itself."""
    while type(optimizer).__name__ == "AcceleratedOptimizer":
        state = getattr(optimizer, "accelerator_state", None)
        if getattr(state, "mixed_precision", "no") == "fp16":
            raise ExportError("accelerate computes in float16 on GPUs alone, and scales the loss by "
                              "a factor that it takes from values: build with Accelerator("
                              "mixed_precision=\"bf16\"), which has as many bytes")
        optimizer = optimizer.optimizer
    return optimizer


# DDP, FSDP


def _wrap(self, module, *args, **kwargs):
    """__init__ of DDP, and of DataParallel, which asks for devices."""
    torch.nn.Module.__init__(self)
    self.module = module
    self.require_backward_grad_sync = True  # no_sync() sets it
    self.device_ids = []


def _call(self, *args, **kwargs):
    return self.module(*args, **kwargs)


def _nothing(*args, **kwargs):
    return None


def _new_fsdp(_, module, *args, mixed_precision=None, ignored_modules=None, **kwargs):
    """FSDP's class: the module itself, which has neither its paths nor its flat parameters."""
    ignored = {id(p) for m in ignored_modules or () for p in m.parameters()}
    _compute_in(module, mixed_precision, ignored)
    return module


def _fully_shard(module, *args, mp_policy=None, ignored_params=None, **kwargs):
    """FSDP2's, of one process."""
    for one in module if isinstance(module, (list, tuple)) else [module]:
        for name in FSDP_METHODS:
            if not hasattr(one, name):
                setattr(one, name, _nothing)
        _compute_in(one, mp_policy, {id(p) for p in ignored_params or ()})
    return module


# Of FSDP2's modules, about when to gather and reduce.
FSDP_METHODS = (
    "reshard", "unshard", "set_is_last_backward", "set_requires_gradient_sync",
    "set_requires_all_reduce", "set_reshard_after_forward", "set_reshard_after_backward",
    "set_modules_to_forward_prefetch", "set_modules_to_backward_prefetch",
    "set_reduce_scatter_divide_factor", "set_gradient_divide_factor",
    "set_unshard_in_backward", "set_post_optim_event", "set_all_reduce_hook")


def _compute_in(root, policy, ignored):
    """Mixed precision: while `root` runs, the parameters that it manages (those of no module inside
    that has a policy of its own) are copies of the policy's type; so are its arguments."""
    wanted = getattr(policy, "param_dtype", None)
    root._placewright_shards = True
    output = getattr(policy, "output_dtype", None)
    if wanted is None and output is None:
        return
    places = _managed(root, ignored) if wanted is not None else []
    # Of FSDP's two flags the first is of the outermost module; inside, arguments are of the type.
    casts = wanted is not None and (getattr(policy, "cast_root_forward_inputs", False) or
                                    getattr(policy, "cast_forward_inputs", True))

    def cast(value, to):
        return with_tensors_changed(
            value, "", lambda x, _: x.to(to) if x.is_floating_point() else x)

    def enter(_, args, kwargs=None):
        for module, name in places:  # in front of what nn.Module finds by __getattr__
            module.__dict__[name] = module._parameters[name].to(wanted)
        if casts:
            args = cast(tuple(args), wanted)
            kwargs = cast(dict(kwargs), wanted) if kwargs is not None else None
        return args if kwargs is None else (args, kwargs)

    def leave(_, __, result):
        for module, name in places:
            module.__dict__.pop(name, None)
        return cast(result, output) if output is not None else result

    if compat.version() < (2, 0):
        root.register_forward_pre_hook(enter)
    else:
        root.register_forward_pre_hook(enter, with_kwargs=True)
    root.register_forward_hook(leave)


def _managed(root, ignored):
    """(module, name) of the floating-point parameters of `root` that no module inside manages."""
    places, modules = [], [root]
    while modules:
        module = modules.pop()
        places += [(module, name) for name, p in module._parameters.items()
                   if p is not None and p.is_floating_point() and id(p) not in ignored]
        modules += [m for m in [*module.children()][::-1]
                    if not hasattr(m, "_placewright_shards")]
    return places


# One process


class _OneProcess:
    """init_process_group() of any backend and size: a group of this process alone, which ends when
    the function has been built."""

    def __init__(self, distributed):
        self._distributed = distributed
        self._init = distributed.init_process_group
        self._begun = False

    def init(self, *args, **kwargs):
        if not self._distributed.is_initialized():
            self._init("gloo", store=self._distributed.HashStore(), rank=0, world_size=1)
            self._begun = True

    def mesh(self, make, device_type, mesh_shape, **kwargs):
        """init_device_mesh() of any size."""
        self.init()
        kwargs.pop("backend_override", None)
        return make("cpu", (1,) * len(mesh_shape), **kwargs)

    def end(self):
        if self._begun and self._distributed.is_initialized():
            self._distributed.destroy_process_group()


def _patch_distributed(stack):
    distributed = torch.distributed
    if not distributed.is_available():
        return
    one = _OneProcess(distributed)
    stack.callback(one.end)
    stack.enter_context(compat.replaced(distributed, "init_process_group", one.init))
    make = getattr(distributed, "init_device_mesh", None)  # since 2.2
    if make is None:
        return

    def mesh(device_type, mesh_shape, **kwargs):
        return one.mesh(make, device_type, mesh_shape, **kwargs)

    for owner in (distributed, sys.modules.get("torch.distributed.device_mesh")):
        if owner is not None and hasattr(owner, "init_device_mesh"):
            stack.enter_context(compat.replaced(owner, "init_device_mesh", mesh))


def _patch_parallel(stack):
    parallel = torch.nn.parallel
    for name in ("DataParallel", "DistributedDataParallel"):
        kind = getattr(parallel, name, None)
        if kind is None:
            continue
        for method, replacement in (("__init__", _wrap), ("forward", _call),
                                    ("register_comm_hook", _nothing),
                                    ("_set_static_graph", _nothing)):
            if hasattr(kind, method):
                stack.enter_context(compat.replaced(kind, method, replacement))


def _patch_fsdp(module, stack):
    """Of torch.distributed.fsdp and what gave FSDP2 before, as soon as they are imported."""
    if hasattr(module, "fully_shard"):
        stack.enter_context(compat.replaced(module, "fully_shard", _fully_shard))
    kind = getattr(module, "FullyShardedDataParallel", None)
    if isinstance(kind, type):
        stack.enter_context(compat.replaced(kind, "__new__", staticmethod(_new_fsdp)))


FSDP_MODULES = ("torch.distributed.fsdp", "torch.distributed._composable.fsdp")


class _WhenImported(importlib.abc.MetaPathFinder):
    """Patches modules when they are imported: to import them here would cost every recording 0.7 s.
    """

    def __init__(self, names, patch):
        self._names, self._patch = set(names), patch

    def find_spec(self, name, path, target=None):
        if name not in self._names:
            return None
        self._names.discard(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            self._patch(module)

        spec.loader.exec_module = exec_module
        return spec


@contextlib.contextmanager
def neutral():
    """While inside, wrappers for several devices wrap a model and do nothing else."""
    with contextlib.ExitStack() as stack:
        _patch_parallel(stack)
        _patch_distributed(stack)
        later = []
        for name in FSDP_MODULES:
            if name in sys.modules:
                _patch_fsdp(sys.modules[name], stack)
            else:
                later.append(name)
        finder = _WhenImported(later, lambda module: _patch_fsdp(module, stack))
        sys.meta_path.insert(0, finder)
        stack.callback(sys.meta_path.remove, finder)
        yield
