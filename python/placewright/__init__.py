"""Where every operation of a PyTorch training step runs, on any mix of CPUs and GPUs.

    import placewright as pw
    step = pw.record(model, inputs, optimizer=opt, loss=loss_fn, targets=y, batch=32)
    plan = pw.plan(step, "8xH100", time=10)
    print(plan)
    plan.save("model.plan.json")
    train = pw.apply(plan, model, opt)            # under torchrun: every rank its part

Every error is a `PlacewrightError` with code, place and remedy. Nothing is printed unless asked,
and `torch` is imported by `record` and `apply` alone.
"""

from typing import TYPE_CHECKING, Any

from . import errors
from ._advice import Change, Configured, from_configuration, largest_batch, size, what_if
from ._cluster import Cluster, Device, detect
from ._commands import Compared, Comparison, check, compare, explain, memory, simulate
from ._plan import Baseline, DeviceUse, Plan
from ._planning import plan
from ._progress import Progress
from ._step import Step, read, record, record_configuration
from ._strategies import Strategy
from .applied.errors import ApplyError
from .errors import PlacewrightError

if TYPE_CHECKING:
    from ._apply import TrainStep, apply

__version__ = "0.12.0"  # the only place: CMakeLists.txt and pyproject.toml read it

__all__ = [
    "ApplyError", "Baseline", "Change", "Cluster", "Compared", "Comparison", "Configured",
    "Device", "DeviceUse", "PlacewrightError", "Plan", "Progress", "Step", "Strategy", "TrainStep",
    "apply", "check", "compare", "detect", "errors", "explain", "from_configuration",
    "largest_batch", "memory", "plan", "read", "record", "record_configuration", "simulate", "size",
    "what_if",
]


def __getattr__(name: str) -> Any:
    if name in ("TrainStep", "apply"):
        from . import _apply
        return getattr(_apply, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
