"""Loss scaling (GradScaler) in a step that is recorded on the CPU, without data.

A scaler for CUDA that finds none switches itself off, so that its ops would be missing; it asks
whether gradients are finite before it lets the optimizer update, which is taken to be so; and it
insists on one unscale_() and step() for each update(), where a recording runs the update twice.
Its factor and counter are inputs of the step; the scaler is afterwards as it was.

Used of PyTorch: the attributes `_scale`, `_growth_tracker`, `_per_optimizer_states` and the method
`_maybe_opt_step` of GradScaler (since 1.13), and `amp_definitely_not_available`.
"""

import contextlib

import torch

from .compat import replaced


def _classes():
    """GradScaler's base class: torch.amp's since 2.3, whose subclasses are those of devices."""
    own = getattr(torch.amp, "GradScaler", None)
    return own or torch.cuda.amp.GradScaler


@contextlib.contextmanager
def enabled():
    """While inside, scalers for CUDA are made as if it was there."""
    with contextlib.ExitStack() as stack:
        for module in (torch.cuda.amp.common, torch.cuda.amp.grad_scaler):
            if hasattr(module, "amp_definitely_not_available"):
                stack.enter_context(replaced(module, "amp_definitely_not_available", lambda: False))
        yield


@contextlib.contextmanager
def in_place(recorder):
    """While inside, scalers work on fakes and let every update happen."""
    saved = {}  # id of a scaler -> (it, its attributes)
    owner = _classes()

    def prepared(scaler):
        if id(scaler) in saved or not scaler.is_enabled():
            return
        saved[id(scaler)] = (scaler, dict(vars(scaler)))
        scaler._per_optimizer_states = scaler._per_optimizer_states.copy()
        scaler._per_optimizer_states.clear()
        with recorder.fake_mode:
            scaler._scale = torch.empty((), dtype=torch.float32, device="cpu")
            scaler._growth_tracker = torch.empty((), dtype=torch.int32, device="cpu")

    def wrapped(name, again):
        method = getattr(owner, name)

        def call(scaler, first, *args, **kwargs):
            prepared(scaler)
            if again:
                state = scaler._per_optimizer_states.get(id(first))
                if state is not None and state["stage"].name in again:
                    del scaler._per_optimizer_states[id(first)]
            return method(scaler, first, *args, **kwargs)
        return replaced(owner, name, call)

    def update(scaler, optimizer, optimizer_state, *args, **kwargs):
        if recorder.phase is not None:
            recorder.checks.note("GradScaler: gradients are taken to be finite, so that the "
                                 "optimizer updates")
        return optimizer.step(*args, **kwargs)

    try:
        with wrapped("scale", ()), wrapped("unscale_", ("UNSCALED", "STEPPED")), \
                wrapped("step", ("STEPPED",)), replaced(owner, "_maybe_opt_step", update):
            yield
    finally:
        for scaler, attributes in saved.values():
            vars(scaler).clear()
            vars(scaler).update(attributes)
