"""Which machines, which batch and which configuration: questions beside that for a plan."""

from __future__ import annotations

import dataclasses
import datetime
import os
from collections.abc import Sequence
from typing import Any

from . import _arguments as arguments
from . import _files as files
from . import _rewriting as rewriting
from ._cluster import Cluster, cluster_of
from ._program import run
from ._show import html_table, text_table
from ._step import Step, step_of
from ._strategies import Strategy, strategy_of, strategy_table
from ._units import bytes_text, share_text, time_text
from .errors import UsageError


@dataclasses.dataclass(frozen=True)
class Change:
    """One line of a configuration, changed alone.

    Attributes
    ----------
    line : str
        As it is to be: ``activation_checkpoint.mode = "none"``.
    strategy : Strategy
        What the configuration comes to with it.
    gain : float or None
        Of speed, as a part of what it is as configured; None where one of the two does not fit.
    memory : int or None
        Bytes that the fullest device needs more, or less.
    """

    line: str
    strategy: Strategy
    gain: float | None
    memory: int | None


class Configured:
    """A configuration of another program as a strategy, and the best strategy beside it.

    Attributes
    ----------
    program : str
        Whose configuration it is: "torchtitan", "Megatron" or "DeepSpeed".
    batch : int
        Samples of a step, over all devices: the configuration's, else the step's.
    configured : Strategy
        What it says: ``pw.plan(step.at_batch(found.batch), cluster,
        **found.configured.arguments())`` is its plan.
    best : Strategy or None
        The fastest that was tried and fits; None where none does.
    changes : list of Change
        Lines that the best one has otherwise, each alone, what gains most first.
    read, ignored : list of str
        What of the configuration counts, and what says how training is distributed and does not.
    notes : list of str
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self.program: str = document["program"]
        self.batch: int = document["batch"]
        self.configured = strategy_of(document["configured"])
        best = document["best"]
        self.best = None if best is None else strategy_of(best)
        self.changes = [Change(one["line"], strategy_of(one["strategy"]), one["gain"],
                               one["memory_change_bytes"]) for one in document["changes"]]
        self.read: list[str] = document["read"]
        self.ignored: list[str] = document["ignored"]
        self.notes: list[str] = document["notes"]

    def to_dict(self) -> dict[str, Any]:
        """What ``placewright plan --from --json`` prints as "from" (docs/json.md)."""
        return self._document

    def __repr__(self) -> str:
        return f"<placewright.Configured by {self.program}: {self.configured}>"

    def __str__(self) -> str:
        return "\n\n".join(text_table(*table) for table in self._tables())

    def _repr_html_(self) -> str:
        return "".join(html_table(*table) for table in self._tables())

    def _tables(self) -> list[tuple[list[str], list[list[str]]]]:
        head, rows = strategy_table([self.configured, *([self.best] if self.best else [])])
        for row, name in zip(rows, ("as configured", "the best"), strict=False):
            row.insert(0, name)
        tables = [(["", *head], rows)]
        changes = [[one.line, "" if one.gain is None else f"+{share_text(one.gain)}"
                    if one.gain >= 0 else share_text(one.gain),
                    "" if one.strategy.step_time is None else time_text(one.strategy.step_time),
                    bytes_text(one.strategy.memory) if one.strategy.fits else one.strategy.why_not]
                   for one in self.changes]
        if changes:
            tables.append((["change", "speed", "step time", "memory"], changes))
        return tables


def from_configuration(step: Step | str | os.PathLike[str],
                       cluster: Cluster | str | os.PathLike[str],
                       configuration: str | os.PathLike[str]) -> Configured:
    """What a configuration of torchtitan, Megatron or DeepSpeed does, and what to change in it.

    Parameters
    ----------
    step, cluster
        As `plan` takes them; the step as it was recorded. Its batch is the configuration's, if
        that states one.
    configuration : path
        A TOML or Python file of torchtitan, a script with Megatron's arguments or their YAML, or
        DeepSpeed's JSON (docs/from-configuration.md).

    Returns
    -------
    Configured
        Also where what is configured does not fit.

    Raises
    ------
    InfeasibleError
        Where it is proven that nothing fits.
    InputError
        Where the file cannot be read, or says what no strategy is ("not-expressible").
    UsageError
        Where the step is rewritten already, or both it and the configuration state a batch.
    """
    planned, machines = step_of(step), cluster_of(cluster)
    folder = files.Folder()
    said = run(["plan", str(planned._source), "-c", _described(machines), "--no-store",
                "--from", arguments.path("configuration", configuration), "--time", "1",
                "-o", str(folder.path / "configured.plan.json"), *_sizes_of(planned)],
               wanted="from")
    return Configured(said["from"])


def largest_batch(step: Step | str | os.PathLike[str],
                  cluster: Cluster | str | os.PathLike[str], *, algorithm: str = "auto",
                  time: float | datetime.timedelta | None = None) -> dict[str, Any]:
    """The largest batch that fits, and that of the most samples a second.

    Parameters
    ----------
    step, cluster
        As `plan` takes them; the step as it was recorded, with how it follows its batch.
    algorithm : str
        "auto": by strategies and quick plans; else by the plans of this one alone.
    time : float or timedelta, optional
        Seconds for the search of a plan at that batch, behind the trials. None: 10 s.

    Returns
    -------
    dict
        "max_batch" of what ``placewright plan --max-batch --json`` prints (docs/json.md): "batch",
        "best_rate" and every trial with its verdict. ``pw.plan(step.at_batch(found["batch"]),
        cluster)`` plans it.

    Raises
    ------
    InfeasibleError, NothingFoundError
        Where not even one sample fits.
    InputError, UsageError
        Where it is not proven how the step follows its batch, or an argument cannot be used.
    """
    planned, machines = step_of(step), cluster_of(cluster)
    limit = arguments.nanoseconds("time", time)
    folder = files.Folder()
    recorded = {**planned._options, "batch": None}
    chosen = [] if limit is None else ["--time", f"{limit / 1e9:.9f}"]
    said = run(["plan", str(planned._source), "-c", _described(machines), "--no-store",
                "--algo", arguments.text("algorithm", algorithm), "--max-batch",
                "-o", str(folder.path / "largest.plan.json"), *chosen,
                *rewriting.words(recorded)])
    return said["max_batch"]


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
    return run(["what-if", str(planned._source), "-c", _described(machines), *_sizes_of(planned)])


def _sizes_of(step: Step) -> list[str]:
    """Batch and dimensions as the program takes them."""
    if rewriting.rewrites(step._options):
        raise UsageError("usage", "the step is rewritten already",
                         remedy="Read it without micro-batches, recomputation, offload, "
                                "a pipeline and types.")
    return rewriting.words(step._options)


def _described(machines: Cluster) -> str:
    """A cluster as the program takes it."""
    return machines.preset or str(machines._source)
