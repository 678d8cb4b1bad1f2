"""Steps of several kinds that take turns, timed, and the memory of their tensors."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

StepFunction = Callable[[], torch.Tensor]


@dataclasses.dataclass
class UserStep:
    """What the user's function returns, made for real.

    Attributes
    ----------
    model, loss, optimizer
        As `placewright.record` takes them.
    example_inputs, targets
        A tensor, a tuple or list, or a dict; `targets` may be None.
    """

    model: torch.nn.Module
    example_inputs: Any
    loss: Callable[..., Any] | None
    optimizer: torch.optim.Optimizer
    targets: Any = None

    def batch(self) -> tuple[list[Any], dict[str, Any]]:
        """The batch as `TrainStep` takes it: tensors in their order, and by name."""
        given: list[Any] = []
        named: dict[str, Any] = {}
        for value in (self.example_inputs, self.targets):
            if isinstance(value, Mapping):
                named.update({key: item for key, item in value.items() if _has_tensors(item)})
            elif _has_tensors(value):
                given.extend(item for item in _several(value) if _has_tensors(item))
        return given, named

    def compute_loss(self) -> Any:
        """Of the batch, with autograd's graph behind it."""
        args, keywords = _call(self.example_inputs)
        output = self.model(*args, **keywords)
        if self.loss is not None:
            args, keywords = _call(self.targets)
            return self.loss(output, *args, **keywords)
        if isinstance(output, torch.Tensor):
            return output
        return output["loss"] if isinstance(output, Mapping) else output.loss

    def eager(self, clip: float | None) -> StepFunction:
        """The step as a loop has it."""
        return self._step(self.compute_loss, self.optimizer.step, clip)

    def compiled(self, clip: float | None) -> StepFunction:
        """The same: forward pass, loss and backward pass through torch.compile, and the update
        by itself."""
        return self._step(torch.compile(self.compute_loss), torch.compile(self.optimizer.step),
                          clip)

    def _step(self, compute_loss: Callable[[], Any], update: Callable[[], Any],
              clip: float | None) -> StepFunction:
        def step() -> torch.Tensor:
            self.optimizer.zero_grad()
            loss = compute_loss()
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), clip)
            update()
            return loss.detach()
        return step

    def held(self) -> list[torch.Tensor]:
        """Tensors that are there between steps, but gradients."""
        found = [*self.model.parameters(), *self.model.buffers()]
        for slots in self.optimizer.state.values():
            found += [value for value in slots.values() if isinstance(value, torch.Tensor)]
        given, named = self.batch()
        return found + _tensors([given, named])


@dataclasses.dataclass
class Times:
    """Nanoseconds of the steps of one kind, turn by turn: by the clock, and of the process's
    threads, which other programs on the machine change less."""

    clock: list[list[int]] = dataclasses.field(default_factory=list)
    processor: list[list[int]] = dataclasses.field(default_factory=list)


def three(values: Sequence[float]) -> dict[str, float]:
    """Median and tenths."""
    return {name: quantile(values, share)
            for name, share in (("median", 0.5), ("p10", 0.1), ("p90", 0.9))}


def ratios(turns: Sequence[Sequence[int]], others: Sequence[Sequence[int]]) -> dict[str, float]:
    """How many times as long as others the steps take, by medians of turns."""
    return three([quantile(turn, 0.5) / quantile(other, 0.5)
                  for turn, other in zip(turns, others, strict=True)])


def quantile(values: Sequence[float], share: float) -> float:
    """With the values between two neighbours by proportion."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def take_turns(names: Sequence[str], kinds: Mapping[str, StepFunction], steps: int, turns: int,
               warm_up: int, meet: Callable[[], None]
               ) -> tuple[dict[str, Times], dict[str, list[float]]]:
    """Times and losses of the kinds of step that this rank has; it waits while others make theirs.

    Parameters
    ----------
    names : sequence of str
        Of all kinds, on every rank.
    kinds : mapping
        The steps that this rank has.
    steps, turns : int
        Each kind makes so many steps in each of so many turns; every other turn is in reverse.
    warm_up : int
        Steps of each kind before, without times.
    meet : callable
        Returns when all ranks have called it.
    """
    times = {name: Times() for name in kinds}
    losses: dict[str, list[float]] = {name: [] for name in kinds}

    def make_steps(name: str, count: int) -> tuple[list[int], list[int]]:
        clock, processor = [], []
        for _ in range(count):
            begin = time.perf_counter_ns(), time.process_time_ns()
            loss = kinds[name]()
            _finish()
            clock.append(time.perf_counter_ns() - begin[0])
            processor.append(time.process_time_ns() - begin[1])
            losses[name].append(float(loss))
        return clock, processor

    for turn in range(-1, turns):
        for name in list(names)[::-1 if turn % 2 else 1]:
            meet()
            if name in kinds:
                clock, processor = make_steps(name, warm_up if turn < 0 else steps)
                if turn >= 0:
                    times[name].clock.append(clock)
                    times[name].processor.append(processor)
    meet()
    return times, losses


def peak_of_tensors(step: StepFunction, held: Sequence[torch.Tensor]) -> int:
    """Bytes of tensors at the fullest moment of a step: of those `held` between steps, each memory
    once, and of what the step allocates."""
    if torch.cuda.is_available() and any(tensor.is_cuda for tensor in held):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        step()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated()
    fixed = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
             for tensor in held}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                profile_memory=True) as profile:
        step()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "step.json"
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    changes = sorted((event["ts"], i, event["args"]["Bytes"]) for i, event in enumerate(events)
                     if event.get("name") == "[memory]" and event["args"]["Device Type"] == 0)
    now = peak = 0
    for _, _, change in changes:
        now += change
        peak = max(peak, now)
    return sum(fixed.values()) + peak


def _finish() -> None:
    """Waits for what was launched."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else (value,)


def _call(value: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Positional and keyword arguments."""
    if value is None:
        return (), {}
    return ((), value) if isinstance(value, Mapping) else (_several(value), {})


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


def _has_tensors(value: Any) -> bool:
    return bool(_tensors(value))
