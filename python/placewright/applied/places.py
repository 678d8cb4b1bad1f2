"""Which of a plan's devices each rank has, and what they are in PyTorch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from .errors import ApplyError
from .plan_files import PlannedStep


class Places:
    """Rank 0 has the first of the plan's devices, rank 1 the next ones, and so on."""

    def __init__(self, step: PlannedStep, given: Sequence[Sequence[torch.device]],
                 rank: int) -> None:
        """`given`: for each rank its torch.devices, in the plan's order; `rank`: this one."""
        counts = [len(devices) for devices in given]
        if sum(counts) != len(step.devices):
            raise ApplyError(
                "rank-count", f"the plan uses {len(step.devices)} devices "
                f"({', '.join(step.devices)}), and {len(counts)} ranks have {sum(counts)}",
                str(step.path), f"Start {len(step.devices)} ranks, or say by devices= which a rank "
                "has.")
        flat = [(number, device) for number, devices in enumerate(given) for device in devices]
        self.rank_of = {name: number for name, (number, _) in zip(step.devices, flat, strict=True)}
        self.kind_of = {name: device.type
                        for name, (_, device) in zip(step.devices, flat, strict=True)}
        self.own = {name: device for name, (number, device) in zip(step.devices, flat, strict=True)
                    if number == rank}
        self.ranks, self.rank = len(counts), rank

    @property
    def first(self) -> torch.device:
        """Where this rank's loss and numbers lie."""
        return next(iter(self.own.values()))


def own_devices(step: PlannedStep, wanted: Any, rank: int, ranks: int) -> list[torch.device]:
    """This rank's torch.devices. `wanted`: what the user says, or None: the one of its number."""
    if wanted is not None:
        listed = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        return [_present(torch.device(device)) for device in listed]
    if ranks != len(step.devices):
        raise ApplyError(
            "rank-count", f"the plan uses {len(step.devices)} devices "
            f"({', '.join(step.devices)}), and there are {ranks} ranks", str(step.path),
            f"Start {len(step.devices)} ranks, or say by devices= which a rank has.")
    if step.classes[step.devices[rank]] == "gpu" and torch.cuda.is_available():
        return [_present(torch.device("cuda"))]
    return [torch.device("cpu")]


def _present(device: torch.device) -> torch.device:
    if device.type == "cpu":
        return torch.device("cpu")
    if device.type != "cuda":
        raise ApplyError("device", "apply knows CPUs and CUDA's devices", str(device))
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    index = device.index
    if index is None:
        index = int(os.environ.get("LOCAL_RANK", torch.cuda.current_device() if count else 0))
    if index >= count:
        raise ApplyError("device", f"PyTorch sees {count} GPUs here", f"cuda:{index}",
                         "Say by devices= which devices this rank has.")
    return torch.device("cuda", index)
