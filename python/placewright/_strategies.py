"""Ways to train that the program looked at."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from ._units import bytes_text, time_text


@dataclasses.dataclass(frozen=True)
class Strategy:
    """A way to train that `auto` looked at (docs/algorithms/auto.md).

    Attributes
    ----------
    algorithm : str
    settings : list of str
        Of the algorithm, where they are not its own: ``["tensor=4"]``.
    micro_batches : int
        Parts of the batch.
    recompute : list of str
        What is computed again: "full", "selective" or globs over modules.
    pipeline : str
        Its schedule, "" without one.
    stages, chunks : int
        Of the pipeline; 1 without one.
    layers : list of int
        Of each chunk of each stage, where they are stated; else of equal work.
    simulated : bool
        Whether it was; else its time is estimated.
    step_time : float or None
        Seconds; None where it is none for this step.
    fits : bool
        Whether it fits into memory.
    memory, capacity : int
        Bytes of the fullest device, and how many it may use.
    why_not : str
        Why it was left out, "" where it was not.
    """

    algorithm: str
    settings: list[str]
    micro_batches: int
    recompute: list[str]
    pipeline: str
    stages: int
    chunks: int
    layers: list[int]
    simulated: bool
    step_time: float | None
    fits: bool
    memory: int
    capacity: int
    why_not: str

    def arguments(self) -> dict[str, Any]:
        """What `plan` takes to plan by it: ``pw.plan(step, cluster, **one.arguments())``."""
        given: dict[str, Any] = {"algorithm": self.algorithm, "micro_batches": self.micro_batches}
        if self.settings:
            given["settings"] = dict(setting.split("=", 1) for setting in self.settings)
        if self.recompute:
            given["recompute"] = list(self.recompute)
        if self.pipeline:
            given.update(pipeline=self.pipeline, stages=self.stages, chunks=self.chunks)
        if self.layers:
            given["stage_layers"] = list(self.layers)
        return given

    def __str__(self) -> str:
        parts = [" ".join([self.algorithm, *self.settings])]
        if self.pipeline not in ("", self.algorithm):
            parts.append(self.pipeline)
        if self.stages > 1:
            chunks = f" of {self.chunks} chunks" if self.chunks > 1 else ""
            layers = f" of {','.join(map(str, self.layers))} layers" if self.layers else ""
            parts.append(f"{self.stages} stages{chunks}{layers}")
        if self.micro_batches > 1:
            parts.append(f"{self.micro_batches} micro-batches")
        if self.recompute:
            parts.append(f"recompute {' '.join(self.recompute)}")
        return ", ".join(parts)


def strategies_of(said: Iterable[dict[str, Any]]) -> list[Strategy]:
    """What the program's JSON says of strategies (docs/json.md)."""
    return [strategy_of(one) for one in said]


def strategy_of(said: dict[str, Any]) -> Strategy:
    """One of them. Of the fields some are left out where they say nothing."""
    simulated = said["step_time_ns"] is not None
    time = said["step_time_ns"] if simulated else said.get("estimated_time_ns")
    capacity = said["capacity_bytes"] or 0
    return Strategy(said["algorithm"], list(said.get("settings", ())), said["micro_batches"],
                    list(said["recompute"]), said.get("pipeline", ""), said.get("stages", 1),
                    said.get("chunks", 1), list(said.get("layers", ())), simulated,
                    time / 1e9 if capacity and time is not None else None, said["fits"],
                    said["memory_bytes"] or 0, capacity, said["why_not"])


def strategy_table(strategies: Iterable[Strategy]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for one in strategies:
        verdict = one.why_not or ("does not fit" if not one.fits else
                                  "" if one.simulated else "estimated")
        time = "" if one.step_time is None else time_text(one.step_time)
        memory = bytes_text(one.memory) if one.capacity else ""
        rows.append([str(one), time, memory, verdict])
    return ["strategy", "step time", "memory", ""], rows
