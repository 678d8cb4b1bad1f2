"""What ranks say to each other outside of a step."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from .errors import ApplyError


def gathered(group: dist.ProcessGroup | None, value: Any) -> list[Any]:
    """The values of all ranks."""
    if group is None or dist.get_world_size(group) == 1:
        return [value]
    found: list[Any] = [None] * dist.get_world_size(group)
    with _current_gpu(group):
        dist.all_gather_object(found, value, group=group)
    return found


def _current_gpu(group: dist.ProcessGroup) -> contextlib.AbstractContextManager[Any]:
    """NCCL takes the current GPU, which is the first one unless the program says more."""
    local = os.environ.get("LOCAL_RANK")
    if dist.get_backend(group) == "nccl" and local and torch.cuda.current_device() == 0:
        return torch.cuda.device(int(local))
    return contextlib.nullcontext()


def on_all(group: dist.ProcessGroup | None, make: Callable[[], Any]) -> Any:
    """What `make` returns, where it does so on all ranks; else an error on each of them."""
    made: Any = None
    error: Exception | None = None
    try:
        made = make()
    except Exception as caught:  # the others must not wait for this rank
        error = caught
    known = error if error is None or isinstance(error, ApplyError) else \
        ApplyError("failed", f"{type(error).__name__}: {error}")
    for rank, other in enumerate(gathered(group, known)):
        if other is not None:
            raise error or ApplyError(other.code, f"rank {rank} cannot apply the plan: {other}")
    return made
