"""Plans: where every operation runs, and what that is predicted to come to."""

from __future__ import annotations

import copy
import dataclasses
import functools
import html
import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from . import _arguments as arguments
from . import _files as files
from . import _program
from ._cluster import PRESET, Cluster
from ._show import html_table, text_table
from ._step import Step
from ._strategies import Strategy, strategies_of, strategy_table
from ._units import bytes_text, count_text, share_text, time_text
from .errors import UsageError

if TYPE_CHECKING:
    from . import _core
    from .engines import Ddp, Fsdp2, ParallelizeModule

_Recipe = TypeVar("_Recipe")
MAX_PICTURE = 4 << 20  # bytes of a picture that a notebook shows by itself


@dataclasses.dataclass(frozen=True)
class DeviceUse:
    """What a plan makes of one device.

    Attributes
    ----------
    name, kind, device_class : str
        As `Device` has them.
    busy : float
        Share of the step in which it computes, in [0, 1].
    peak_memory : int
        Bytes: tensors at their peak, the largest workspace and the runtime's own.
    capacity : int
        Bytes that the plan may use.
    ops : int
        Operations that run there.
    """

    name: str
    kind: str
    device_class: str
    busy: float
    peak_memory: int
    capacity: int
    ops: int


@dataclasses.dataclass(frozen=True)
class Baseline:
    """What another algorithm came to.

    Attributes
    ----------
    algorithm : str
    feasible : bool
        Whether it fits into memory.
    step_time : float
        Seconds, simulated even if it does not fit.
    devices : list of str
        That run an operation.
    search : bool
        It starts from the plans of the others.
    """

    algorithm: str
    feasible: bool
    step_time: float
    devices: list[str]
    search: bool


class Plan:
    """Where every operation of a step runs; made by `plan`, never changed.

    Attributes
    ----------
    step : Step
        What was planned.
    cluster : Cluster
        What for.
    interrupted : bool
        Ctrl-C ended the search: this is the best plan until then.
    """

    def __init__(self, made: _core.Planned, step: Step, cluster: Cluster,
                 notes: Iterable[str] = ()) -> None:
        self._made = made
        self._first_notes = list(notes)
        self.step = step
        self.cluster = cluster
        self.interrupted = made.interrupted

    # What it comes to

    @property
    def step_time(self) -> float:
        """Predicted seconds of a step."""
        return self._document["step_time_ns"] / 1e9

    @property
    def samples_per_second(self) -> float | None:
        """None where the batch is not known."""
        return self._made.samples_per_second or None

    @property
    def bound(self) -> float | None:
        """Seconds that no plan of `bound_space` is below under the same costs; None: not known."""
        bound = self._document["lower_bound_ns"]
        return None if bound is None else bound / 1e9

    @property
    def bound_space(self) -> str:
        """Of the plans that the bound holds for: "placed" or "replicated"."""
        return self._document["bound_space"]

    @property
    def bound_argument(self) -> str:
        """What proves the bound."""
        return self._made.bound_argument

    @property
    def gap(self) -> float:
        """(step time - bound) / step time: what is left to gain at most; 0 without a bound."""
        return self._made.gap

    @property
    def proven_optimal(self) -> bool:
        """No plan of its space is faster."""
        return self._made.proven_optimal

    @property
    def feasible(self) -> bool:
        """Whether it fits into the memory of every device."""
        return self._document["feasible"]

    @property
    def space(self) -> str:
        """"placed": every op whole, on one device; "replicated": ops may be split and copied."""
        return self._document["space"]

    @property
    def algorithm(self) -> str:
        """What made it."""
        return self._document["algorithm"]

    @property
    def seed(self) -> int:
        return self._document["seed"]

    @property
    def iterations(self) -> int:
        """Moves that the search tried: with `seed` they repeat it."""
        return self._document["iterations"]

    @property
    def seconds(self) -> float:
        """How long the search took."""
        return self._document["seconds"]

    @property
    def notes(self) -> list[str]:
        """What a user should know: a limit that was met, for one."""
        return self._first_notes + self._made.notes

    @functools.cached_property
    def devices(self) -> list[DeviceUse]:
        """In the cluster's order."""
        return [DeviceUse(use["name"], use["kind"], use["class"], use["busy"],
                          use["peak_memory_bytes"], use["capacity_bytes"], use["ops"])
                for use in self._document["devices"]]

    @property
    def memory(self) -> dict[str, int]:
        """Peak bytes by device."""
        return {use.name: use.peak_memory for use in self.devices}

    @functools.cached_property
    def baselines(self) -> list[Baseline]:
        """What other algorithms came to; of algorithm "auto"."""
        return [Baseline(one["algorithm"], one["feasible"], one["step_time_ns"] / 1e9,
                         list(one["devices"]), one["search"])
                for one in self._document["baselines"]]

    @functools.cached_property
    def strategies(self) -> list[Strategy]:
        """Ways to train that were looked at, those that fit first; of algorithm "auto"."""
        return strategies_of(self._document.get("strategies", ()))

    @property
    def placement(self) -> dict[str, str]:
        """The device of every op; of a plan that splits ops empty (`compiled`)."""
        return dict(self._document.get("placement", {}))

    # Forms of it

    def to_dict(self) -> dict[str, Any]:
        """The plan file's object (docs/json.md): times in nanoseconds, sizes in bytes.

        References to files beside it (costs, schedule, compiled step) have empty paths: they are
        filled in the file that `save` writes.
        """
        return copy.deepcopy(self._document)

    def compiled(self) -> dict[str, Any] | None:
        """The step that the plan comes to where it splits or copies ops; None where all are whole.

        It has every part of an op on its device, and collectives: docs/formats/aten-graph.md. Of
        many devices that do alike the plan has the first one's, and compiling all takes seconds.
        """
        if self._in_lanes:
            with tempfile.TemporaryDirectory() as folder:
                plan = self.save(pathlib.Path(folder) / "all.plan.json")
                step = pathlib.Path(folder) / "all.step.json"
                _program.run(["compile", str(plan), "-o", str(step)])
                return json.loads(step.read_bytes())
        text = self._made.compiled_text
        return json.loads(text) if text else None

    def to_ddp(self) -> Ddp:
        """The plan as DistributedDataParallel: every parameter on every rank, equal batches.

        Returns
        -------
        Ddp
            A recipe: ``print(recipe)`` is its code, ``recipe.apply(model)`` the same applied.

        Raises
        ------
        InputError
            Where the plan is none ("not-expressible"), with the module and the reason.
        """
        from . import engines
        return self._as_recipe(engines.to_ddp)

    def to_fsdp2(self) -> Fsdp2:
        """The plan as `fully_shard`: each module's parameters in equal parts or on every rank.

        Returns and raises what `to_ddp` does.
        """
        from . import engines
        return self._as_recipe(engines.to_fsdp2)

    def to_parallelize_module(self) -> ParallelizeModule:
        """The plan as `parallelize_module`: layers by columns and rows, all samples on every rank.

        Returns and raises what `to_ddp` does. `apply` of the recipe refuses models whose forward
        pass fixes the number of heads.
        """
        from . import engines
        return self._as_recipe(engines.to_parallelize_module)

    def _as_recipe(self, make: Callable[[pathlib.Path], _Recipe]) -> _Recipe:
        with tempfile.TemporaryDirectory() as folder:
            return make(self.save(pathlib.Path(folder) / "recipe.plan.json"))

    def svg(self) -> str:
        """A picture: what every device and link does when, and how full devices are.

        Of many devices that do alike the plan has the first one's: drawing all takes seconds, of
        hundreds minutes.
        """
        if not self._in_lanes:
            return self._made.picture()
        with tempfile.TemporaryDirectory() as folder:
            plan = self.save(pathlib.Path(folder) / "all.plan.json")
            picture = pathlib.Path(folder) / "all.svg"
            _program.run(["simulate", str(plan), "--svg", str(picture)])
            return picture.read_text()

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the plan file, and beside it its costs, its schedule and the compiled step.

        A step or cluster without a file of its own is written beside it, too: "a.plan.json" has
        "a.step.json.gz" and "a.cluster.yaml".

        Parameters
        ----------
        path : path
            As "a.plan.json", or with ".gz"; a plan that is there is replaced.

        Returns
        -------
        pathlib.Path
            The absolute path.

        Raises
        ------
        InputError
            Where a file cannot be written, or the step or the cluster has changed since it was
            read.
        UsageError
            Where the plan does not fit, or `path` is the step's or the cluster's own file.
        """
        target = pathlib.Path(arguments.path("path", path)).absolute()
        if not self.feasible:
            raise UsageError("usage", "the plan does not fit into memory, so it is not written",
                             remedy="Plan for more memory, or with more time.")
        for source in (self.step._source, self.cluster._source):
            if source is not None and target.exists() and target.samefile(source):
                raise UsageError("usage", f"{target} is a file that the plan depends on",
                                 place="argument path", remedy="Give another path.")
        step = self._file_of_step(target)
        cluster = self._file_of_cluster(target)
        self._made.write(str(target), step, cluster)
        return target

    def _file_of_step(self, target: pathlib.Path) -> str:
        step = self.step
        sha256 = step._held.sha256
        if step.path is not None:
            files.check_unchanged(step.path, sha256, "step")
            return str(step.path)
        return _written_beside(step._source, sha256, files.beside(target, ".step.json.gz"))

    def _file_of_cluster(self, target: pathlib.Path) -> str:
        cluster = self.cluster
        if cluster._source is None:
            return PRESET + str(cluster.preset)
        sha256 = cluster._held.sha256
        if cluster._temporary is None:
            files.check_unchanged(cluster._source, sha256, "cluster")
            return str(cluster._source)
        return _written_beside(cluster._source, sha256, files.beside(target, ".cluster.yaml"))

    # Shown

    def __repr__(self) -> str:
        return (f"<placewright.Plan of {self._name('graph')!r} on {self._name('cluster')!r}: "
                f"{time_text(self.step_time)} a step{'' if self.feasible else ', does not fit'}>")

    def __str__(self) -> str:
        parts = [self._headline(), text_table(*self._device_table())]
        if self.baselines:
            parts.append(text_table(*self._baseline_table()))
        if any(one.simulated for one in self.strategies):  # else estimates decided for none
            parts.append(text_table(*strategy_table(self.strategies)))
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        lines = self._headline().split("\n")
        parts = [f"<p><b>{html.escape(lines[0])}</b><br>",
                 "<br>".join(html.escape(line.strip()) for line in lines[1:]), "</p>",
                 html_table(*self._device_table())]
        if self.baselines:
            parts += ["<details><summary>baselines</summary>",
                      html_table(*self._baseline_table()), "</details>"]
        if any(one.simulated for one in self.strategies):
            parts += ["<details><summary>strategies</summary>",
                      html_table(*strategy_table(self.strategies)), "</details>"]
        if self._in_lanes:
            parts.append("<p>The picture draws every device: plan.svg().</p>")
            return "".join(parts)
        picture = self.svg()
        if len(picture) <= MAX_PICTURE:
            parts.append(f'<div style="overflow-x:auto">{picture}</div>')
        else:
            parts.append(f"<p>The picture has {bytes_text(len(picture))}: plan.svg().</p>")
        return "".join(parts)

    def _headline(self) -> str:
        fits = "fits" if self.feasible else "does not fit"
        lines = [f"{self._name('graph')} on {self._name('cluster')}: {fits}",
                 f"  step time   {time_text(self.step_time)}"]
        if self.samples_per_second is not None:
            samples = self._document.get("samples") or self.step.batch
            rate = f"{self.samples_per_second:,.0f} samples/s"
            lines.append(f"  throughput  {rate} (batch {samples})")
        if self.bound is not None:
            lines.append(f"  bound       {self._bound_text()}")
        moves = count_text(self.iterations, "move")
        found = f"{self.algorithm}, {moves} in {self.seconds:.1f} s, seed {self.seed}"
        lines.append(f"  found by    {found}{', interrupted' if self.interrupted else ''}")
        return "\n".join(lines)

    def _bound_text(self) -> str:
        assert self.bound is not None
        plans = {"placed": "placements of whole ops",
                 "replicated": "plans that may split or copy ops"}[self.bound_space]
        if self.proven_optimal:
            return f"{time_text(self.bound)}: optimal for {plans}"
        if self.bound_space != self.space:
            return f"{time_text(self.bound)} for {plans}, which this is none of"
        return f"{time_text(self.bound)}: at most {share_text(self.gap)} can be gained by {plans}"

    def _device_table(self) -> tuple[list[str], list[list[str]]]:
        """Neighbours of which all is equal as shown are one row."""
        rows: list[list[str]] = []
        names: list[list[str]] = []
        for use in self.devices:
            row = [use.kind, f"{use.ops:,}", share_text(use.busy), bytes_text(use.peak_memory),
                   bytes_text(use.capacity)]
            if rows and rows[-1] == row:
                names[-1].append(use.name)
            else:
                rows.append(row)
                names.append([use.name])
        shown = [one[0] if len(one) == 1 else f"{one[0]} ... {one[-1]} ({len(one)})"
                 for one in names]
        head = ["device", "kind", "ops", "busy", "peak memory", "of"]
        return head, [[name, *row] for name, row in zip(shown, rows, strict=True)]

    def _baseline_table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for one in sorted(self.baselines, key=lambda b: (not b.feasible, b.step_time)):
            times = f"{one.step_time / self.step_time:.2f}" if self.step_time > 0 else "-"
            rows.append([one.algorithm, time_text(one.step_time), times,
                         "" if one.feasible else "does not fit"])
        return ["baseline", "step time", "times this plan's", "memory"], rows

    def _name(self, what: str) -> str:
        return self._document[what]["name"]

    @property
    def _in_lanes(self) -> bool:
        """Whether its files are those of the first of each class of devices (docs/simulator.md)."""
        return "lanes" in self._document

    @functools.cached_property
    def _document(self) -> dict[str, Any]:
        return json.loads(self._made.text)


def _written_beside(source: pathlib.Path, sha256: str, target: pathlib.Path) -> str:
    """Copies a file that no one else keeps beside the plan, unless it is there already."""
    files.check_unchanged(source, sha256, "file")
    if not (target.is_file() and files.sha256_of(target) == sha256):
        files.copy(source, target)
    return str(target)
