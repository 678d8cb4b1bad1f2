"""What the program's commands say of steps and plans."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
from collections.abc import Iterator, Sequence
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
from .errors import UsageError


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


def size(step: Step | str | os.PathLike[str], kinds: Sequence[str], *, target: str = "fits",
         counts: Sequence[int] = (1, 2, 4, 8, 16, 32),
         prices: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """How many GPUs, and of which kind, a step needs.

    Parameters
    ----------
    step
        As `plan` takes it, as it was recorded.
    kinds : sequence of str
        Kinds of the catalogue: ``["H100", "RTX4090"]``.
    target : str
        ``"fits"``, ``"tokens/s=200000"``, ``"samples/s=500"`` or ``"step=250ms"``.
    counts : sequence of int
        Numbers of GPUs: up to 8 on one host, more on hosts of 8.
    prices : path, optional
        What a GPU of each kind costs an hour (docs/formats/prices.md); the answer is then the
        cheapest, else that of the fewest GPUs.

    Returns
    -------
    dict
        What ``placewright size --json`` prints (docs/json.md): times in nanoseconds, sizes in
        bytes.

    Raises
    ------
    NothingFoundError
        Nothing meets the target.
    InputError, UsageError
        An unknown kind, a target without a unit, a kind without a price.
    """
    planned = step_of(step)
    chosen = ["--kinds", ",".join(kinds), "--target", target,
              "--counts", ",".join(str(count) for count in counts)]
    if prices is not None:
        chosen += ["--prices", os.fspath(prices)]
    return run(["size", str(planned._source), *chosen, *_sizes_of(planned)])


def what_if(step: Step | str | os.PathLike[str],
            cluster: Cluster | str | os.PathLike[str]) -> dict[str, Any]:
    """What other machines, another batch or recomputation would gain, and what binds.

    Parameters
    ----------
    step, cluster
        As `plan` takes them; the step as it was recorded.

    Returns
    -------
    dict
        What ``placewright what-if --json`` prints (docs/json.md): times in nanoseconds, sizes in
        bytes.

    Raises
    ------
    InputError, UsageError
        As `plan` raises them.
    """
    planned, machines = step_of(step), cluster_of(cluster)
    described = machines.preset or str(machines._source)
    return run(["what-if", str(planned._source), "-c", described, *_sizes_of(planned)])


def _sizes_of(step: Step) -> list[str]:
    """Batch and dimensions as the program takes them."""
    if rewriting.rewrites(step._options):
        raise UsageError("usage", "the step is rewritten already",
                         remedy="Read it without micro-batches, recomputation, offload, "
                                "a pipeline and types.")
    return rewriting.words(step._options)


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
