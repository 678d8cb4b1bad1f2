"""What the program's commands say of steps and plans."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
from collections.abc import Iterator
from typing import Any

from . import _arguments as arguments
from . import _files as files
from . import _rewriting as rewriting
from ._cluster import Cluster, cluster_of
from ._plan import Plan
from ._program import run, text_of
from ._show import html_table, text_table
from ._step import Step, step_of
from ._strategies import strategies_of, strategy_table
from ._units import bytes_text, time_text


@dataclasses.dataclass(frozen=True)
class Compared:
    """What one algorithm came to.

    Attributes
    ----------
    algorithm : str
        The one that ran.
    made_by : str
        Whose plan it is: of "auto" the best of them all.
    feasible : bool
        Whether it fits into memory.
    step_time : float
        Seconds, simulated even if it does not fit.
    seconds : float
        How long the algorithm took.
    devices : list of str
        That run an operation.
    over : int
        Bytes that devices lack, together; 0 where it fits.
    """

    algorithm: str
    made_by: str
    feasible: bool
    step_time: float
    seconds: float
    devices: list[str]
    over: int


class Comparison:
    """What every algorithm and strategy came to on one step.

    Attributes
    ----------
    rows : list of Compared
        The fastest that fits first.
    strategies : list of Strategy
        Ways to train by name, which may rewrite the step: those that were simulated, the fastest
        first, and of each name without such a one what is estimated, or why it is none. Empty where
        no op may be split and of steps that are rewritten already.
    not_run : list of str
        Algorithms that made no plan: `notes` says why.
    notes : list of str
        On the step and its costs, too.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        rows = [Compared(one["planner"], one["algorithm"], one["feasible"],
                         one["step_time_ns"] / 1e9, one["seconds"], list(one["devices"]),
                         one["over_bytes"])
                for one in document["plans"]]
        self.rows = sorted(rows, key=lambda row: (not row.feasible, row.step_time))
        self.strategies = strategies_of(document["strategies"])
        self.not_run: list[str] = document["not_run"]
        self.notes: list[str] = document["notes"]

    def to_dict(self) -> dict[str, Any]:
        """What ``placewright compare --json`` prints (docs/json.md)."""
        return self._document

    def __str__(self) -> str:
        return "\n\n".join(text_table(*table) for table in self._tables())

    def __repr__(self) -> str:
        return f"<placewright.Comparison of {len(self.rows)} algorithms>"

    def _repr_html_(self) -> str:
        return "".join(html_table(*table) for table in self._tables())

    def _tables(self) -> list[tuple[list[str], list[list[str]]]]:
        rows = [[row.algorithm, time_text(row.step_time),
                 "fits" if row.feasible else f"over by {bytes_text(row.over)}"]
                for row in self.rows]
        tables = [(["algorithm", "step time", "memory"], rows)]
        return [*tables, strategy_table(self.strategies)] if self.strategies else tables


def compare(step: Step | str | os.PathLike[str], cluster: Cluster | str | os.PathLike[str], *,
            time: float | datetime.timedelta | None = None, iterations: int | None = None,
            seed: int = 0) -> Comparison:
    """Plans a step with every algorithm.

    Parameters
    ----------
    step, cluster
        As `plan` takes them.
    time : float or timedelta, optional
        Seconds for each algorithm that searches. None: 10 s, or with `iterations` without a limit.
    iterations : int, optional
        Moves for each.
    seed : int
        Of every random choice.

    Returns
    -------
    Comparison

    Raises
    ------
    InfeasibleError, InputError, UsageError
        As `plan` raises them.
    """
    limit = arguments.nanoseconds("time", time)
    moves = arguments.optional_integer("iterations", iterations, 0, arguments.MAX_COUNT)
    chosen = ["--seed", str(arguments.integer("seed", seed, 0, arguments.MAX_SEED))]
    if limit is not None:
        chosen += ["--time", f"{limit / 1e9:.9f}"]
    if moves is not None:
        chosen += ["--iterations", str(moves)]
    planned, machines = step_of(step), cluster_of(cluster)
    chosen += rewriting.words(planned._options)
    described = machines.preset or str(machines._source)
    return Comparison(run(["compare", str(planned._source), "-c", described, "--no-store",
                           *chosen]))


def simulate(plan: Plan | str | os.PathLike[str], *, memory: bool = False,
             schedule: bool = False) -> dict[str, Any]:
    """Simulates a plan anew: where its time goes and what fills its devices.

    Parameters
    ----------
    plan : Plan or path
        A plan, or its file.
    memory : bool
        What fills every device at its peak, not the fullest alone.
    schedule : bool
        Also start and end of every op and transfer.

    Returns
    -------
    dict
        What ``placewright simulate --json`` prints (docs/json.md): times in nanoseconds, sizes in
        bytes.

    Raises
    ------
    InputError
        Where the plan's files cannot be read, or are not those that it was made with.
    """
    chosen = ["--memory"] if arguments.flag("memory", memory) else []
    chosen += ["--schedule"] if arguments.flag("schedule", schedule) else []
    with _file_of(plan) as path:
        return run(["simulate", path, *chosen])


def memory(plan: Plan | str | os.PathLike[str]) -> dict[str, Any]:
    """What a plan takes of every device, and what of it is what.

    Parameters
    ----------
    plan : Plan or path
        A plan, or its file.

    Returns
    -------
    dict
        What ``placewright memory --json`` prints (docs/json.md): of each device three peaks in
        bytes, "allocated_bytes" (tensors), "reserved_bytes" (with what PyTorch's caching allocator
        holds besides) and "device_bytes" (with context and NCCL's buffers), and by "allocated" how
        much of the first are parameters, gradients, activations and so on.

    Raises
    ------
    InputError
        Where the plan's files cannot be read, or are not those that it was made with.
    """
    with _file_of(plan) as path:
        return run(["memory", path])


def check(plan: Plan | str | os.PathLike[str]) -> dict[str, Any]:
    """Verifies a plan independently of how it was made.

    Parameters
    ----------
    plan : Plan or path
        A plan, or its file.

    Returns
    -------
    dict
        What ``placewright check --json`` prints (docs/json.md).

    Raises
    ------
    InputError
        Where the plan does not hold ("plan-invalid", with the first violation), or its files cannot
        be read.
    """
    with _file_of(plan) as path:
        return run(["check", path])


def explain(name: str | int) -> str:
    """What an error code, an exit status or an algorithm is.

    Parameters
    ----------
    name : str or int
        As "graph-cycle", 3 or "layout-search".

    Returns
    -------
    str

    Raises
    ------
    UsageError
        Where there is no such name.
    """
    wanted = "a code, an exit status or an algorithm"
    if not isinstance(name, str):
        name = str(arguments.integer("name", name, 0, 255))
    return text_of(["explain", arguments.text("name", name, wanted)])


@contextlib.contextmanager
def _file_of(plan: Any) -> Iterator[str]:
    """A plan's file, for as long as the context lasts."""
    if isinstance(plan, Plan):
        folder = files.Folder()
        yield str(plan.save(folder.path / "a.plan.json"))
    elif isinstance(plan, (str, os.PathLike)):
        yield arguments.path("plan", plan)
    else:
        raise arguments.refuse("plan", plan, "a Plan or the path of a plan's file")
