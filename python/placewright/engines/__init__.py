"""Plans that PyTorch can say by itself, as recipes: `Plan.to_ddp`, `Plan.to_fsdp2`,
`Plan.to_parallelize_module`, and for a plan's file the functions here.

    distributed_step  what a plan makes of parameters and of the batch, read off its compiled step
    recipe            a recipe: code, and the same applied to a model
    data_parallel     DistributedDataParallel and fully_shard
    tensor_parallel   parallelize_module
    local_forward     a model's forward, tried with the shapes that a rank has
"""

from __future__ import annotations

import os

from ..applied.errors import ApplyError
from ..errors import InputError
from .data_parallel import Ddp, Fsdp2
from .distributed_step import DistributedStep
from .recipe import Recipe
from .tensor_parallel import ParallelizeModule

__all__ = ["Ddp", "Fsdp2", "ParallelizeModule", "Recipe", "to_ddp", "to_fsdp2",
           "to_parallelize_module"]


def to_ddp(plan: str | os.PathLike[str]) -> Ddp:
    """A plan's file as DistributedDataParallel; see `Plan.to_ddp`."""
    return Ddp(_read(plan))


def to_fsdp2(plan: str | os.PathLike[str]) -> Fsdp2:
    """A plan's file as torch.distributed.fsdp.fully_shard; see `Plan.to_fsdp2`."""
    return Fsdp2(_read(plan))


def to_parallelize_module(plan: str | os.PathLike[str]) -> ParallelizeModule:
    """A plan's file as parallelize_module; see `Plan.to_parallelize_module`."""
    return ParallelizeModule(_read(plan))


def _read(plan: str | os.PathLike[str]) -> DistributedStep:
    try:
        return DistributedStep(plan)
    except ApplyError as error:
        raise InputError(error.code, error.message, place=error.place,
                         remedy=error.remedy) from error
