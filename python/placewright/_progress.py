"""What a search says while it runs."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

from ._arguments import refuse
from ._units import count_text, time_text


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a search has come.

    Attributes
    ----------
    algorithm : str
        The one that runs.
    iterations : int
        Moves that were tried.
    step_time : float or None
        Of the best plan that fits, in seconds; None while there is none.
    seconds : float
        Since the search began.
    """

    algorithm: str
    iterations: int
    step_time: float | None
    seconds: float

    def __str__(self) -> str:
        best = "nothing fits yet" if self.step_time is None else f"best {time_text(self.step_time)}"
        moves = count_text(self.iterations, "move")
        return f"{self.seconds:5.1f} s  {self.algorithm}  {moves}  {best}"


Heard = Callable[[str, int, "int | None", float], None]


def hearer(progress: Any) -> tuple[Heard | None, Callable[[], None]]:
    """What the library calls, and what is to be called at the end, for the argument `progress`."""
    if progress is None or progress is False:
        return None, _nothing
    if progress is True:
        line = _Line()
        return line.hear, line.end
    if not callable(progress):
        raise refuse("progress", progress, "True, or a function that takes a Progress")

    def hear(algorithm: str, iterations: int, best: int | None, seconds: float) -> None:
        progress(_progress(algorithm, iterations, best, seconds))
    return hear, _nothing


def _nothing() -> None:
    pass


def _progress(algorithm: str, iterations: int, best: int | None, seconds: float) -> Progress:
    return Progress(algorithm, iterations, None if best is None else best / 1e9, seconds)


class _Line:
    """One line on standard error, written over a few times a second."""

    INTERVAL = 0.1  # seconds

    def __init__(self) -> None:
        self._written = -self.INTERVAL
        self._width = 0
        self._last: Progress | None = None

    def hear(self, algorithm: str, iterations: int, best: int | None, seconds: float) -> None:
        self._last = _progress(algorithm, iterations, best, seconds)
        if seconds - self._written >= self.INTERVAL:
            self._written = seconds
            self._write()

    def end(self) -> None:
        if self._last is not None:
            self._write()
            print(file=sys.stderr)

    def _write(self) -> None:
        line = str(self._last)
        print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(line)
