"""The search for a plan."""

from __future__ import annotations

import datetime
import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _arguments as arguments
from . import _rewriting as rewriting
from ._cluster import Cluster, cluster_of
from ._find import core
from ._plan import Plan
from ._progress import Progress, hearer
from ._step import Step, step_of
from ._units import bytes_text
from .errors import NothingFoundError, SearchStoppedError, UsageError

ENGINES = ("ddp", "fsdp2", "tp")


def plan(step: Step | str | os.PathLike[str], cluster: Cluster | str | os.PathLike[str], *,
         algorithm: str = "auto", time: float | datetime.timedelta | None = None,
         iterations: int | None = None, seed: int = 0, threads: int | None = None,
         progress: bool | Callable[[Progress], object] | None = None,
         space: str | None = None, layouts: str | os.PathLike[str] | None = None,
         initial: Plan | Mapping[str, str] | None = None,
         pin: Mapping[str, str] | None = None, forbid: Mapping[str, str] | None = None,
         colocate: str | Iterable[str] | None = None,
         colocate_each: str | Iterable[str] | None = None, order: str | None = None,
         precision: str = "pytorch", cost_profile: str = "default",
         cost_store: str | os.PathLike[str] | None = None,
         local_batch_norm: bool = False, sfb: str = "none",
         for_engine: str | None = None, settings: Mapping[str, str | float] | None = None,
         micro_batches: int | None = None, recompute: str | Iterable[str] | None = None,
         offload: str | Iterable[str] | None = None, pipeline: str | None = None,
         stages: int | None = None, chunks: int | None = None,
         stage_layers: Iterable[int] | None = None,
         mixed_precision: str | Iterable[str] | None = None, strategies: bool = True) -> Plan:
    """Searches where every operation of a step runs.

    Ctrl-C in the main thread ends the search with the best plan so far (`Plan.interrupted`); a
    second one raises KeyboardInterrupt. Other threads go on meanwhile, and may plan, too.

    Parameters
    ----------
    step : Step or path
        What `record` and `read` return, or a file that `read` takes.
    cluster : Cluster, path or str
        A cluster, its file, or a preset's name as "8xH100".
    algorithm : str
        "auto": the best of all; ``python -m placewright plan --help`` lists them.
    time : float or timedelta, optional
        Seconds to search for. None: 10 s, or with `iterations` without a limit.
    iterations : int, optional
        Moves to try: the same seed then makes the same plan, on every machine.
    seed : int
        Of every random choice.
    threads : int, optional
        None: as many as this process may use cores. They never change the plan of an iteration
        budget.
    progress : bool or callable, optional
        True: a line on standard error; a function: called with a `Progress` a few times a second
        and at every improvement. What it raises ends the search.
    space : {"placed", "replicated"}, optional
        Whether ops are whole, on one device each, or may be split and copied. None: as the
        algorithm has it; "auto" splits where it is proven how the step follows its batch.
    layouts : path, optional
        Layouts by hand (docs/formats/layouts.md), in the place of an algorithm's.
    initial : Plan or dict, optional
        A plan of whole ops to start from, or the device of every op by name.
    pin, forbid : dict of str to str, optional
        Modules by path or glob, and the device (or glob) that they run on, or never run on.
    colocate, colocate_each : str or list of str, optional
        Globs of modules: those that one matches run together on one device; or each of them does.
    order : {"program", "fifo", "critical-path"}, optional
        In which order a device runs its ops. None: "program" of recorded steps, else "fifo".
    precision : {"pytorch", "fp32", "tf32"}
        How GPUs that have TF32 multiply float32.
    cost_profile : {"default", "tf1"}
        Which ops a device can run.
    cost_store : path, optional
        Times that ``placewright profile`` measured (docs/formats/cost-store.md), in the place of
        modelled ones. None: all are modelled, while the program takes the store that it writes.
    local_batch_norm : bool
        Batch norms that are split take the statistics of each part alone.
    sfb : {"none", "embeddings", "cut", "paper"}
        Which gradients are made of gathered factors in the place of being synchronised.
    for_engine : {"ddp", "fsdp2", "tp"}, optional
        Only plans that DistributedDataParallel, fully_shard or parallelize_module can say, in the
        place of an algorithm: `Plan.to_ddp`, `Plan.to_fsdp2`, `Plan.to_parallelize_module`.

    settings : dict, optional
        Of the algorithm, as ``{"tensor": 4}``; `explain` of an algorithm lists them.
    micro_batches, recompute, offload, pipeline, stages, chunks, stage_layers, mixed_precision
        As of `Step.rewritten`: the plan is one of the step rewritten so. "auto" without
        `micro_batches` and `recompute` may choose them itself; a strategy by name that engines train
        by does so where its plan of the step as it is does not fit, and `Plan.notes` says it. A
        pipeline is asked for by its schedule or by the algorithm of that name; stages and
        micro-batches that are not stated follow from the machines and the batch, and on GPUs of
        several kinds layers are cut by their speed.

    strategies : bool
        Whether what is not stated of these may be chosen.

    Returns
    -------
    Plan
        Never worse than its `baselines`.

    Raises
    ------
    InfeasibleError
        With the proof that no plan fits.
    NothingFoundError
        Where no plan that fits was found; its `plan` is the best that does not.
    SearchStoppedError
        Where Ctrl-C came before there was a plan that fits.
    InputError, UsageError
        Where step, cluster, constraints or an argument cannot be used.
    """
    may_choose = arguments.flag("strategies", strategies)
    options = {
        "algorithm": _algorithm(algorithm, for_engine),
        "time": arguments.nanoseconds("time", time),
        "iterations": arguments.optional_integer("iterations", iterations, 0, arguments.MAX_COUNT),
        "seed": arguments.integer("seed", seed, 0, arguments.MAX_SEED),
        "threads": _threads(threads),
        "space": arguments.optional_text("space", space),
        "layouts": None if layouts is None else arguments.path("layouts", layouts),
        "initial": _placement(initial),
        "pin": arguments.pairs("pin", pin, "a dict of module globs and devices"),
        "forbid": arguments.pairs("forbid", forbid, "a dict of module globs and devices"),
        "colocate": arguments.texts("colocate", colocate),
        "colocate_each": arguments.texts("colocate_each", colocate_each),
        "order": arguments.optional_text("order", order),
        "precision": arguments.text("precision", precision),
        "cost_profile": arguments.text("cost_profile", cost_profile),
        "cost_store": None if cost_store is None else os.path.abspath(
            arguments.path("cost_store", cost_store)),  # plans that are saved later name it
        "local_batch_norm": arguments.flag("local_batch_norm", local_batch_norm),
        "sfb": arguments.text("sfb", sfb),
        "settings": arguments.settings("settings", settings),
        "strategies": may_choose and micro_batches is None and recompute is None,
    }
    asked = rewriting.asked(
        micro_batches=micro_batches, recompute=recompute, offload=offload, pipeline=pipeline,
        stages=stages, chunks=chunks, stage_layers=stage_layers, mixed_precision=mixed_precision)
    hear, end = hearer(progress)
    machines = cluster_of(cluster)
    given = step_of(step)
    recorded, wanted, options["algorithm"] = _settled(given, machines, options, asked)

    def plan_of(of: Step, notes: Iterable[str] = ()) -> Plan:
        made = core().plan(of._held, machines._held, options, hear, _takes_interrupts())
        return Plan(made, of, machines, notes)

    def read_with(rewritten: dict[str, Any]) -> Step:
        return given if rewritten == given._options else given._read_with(rewritten)

    advice, fits = "", False
    try:
        found = plan_of(read_with(wanted))
        if not (found.feasible or found.interrupted):
            stated = {**rewriting.DEFAULTS, **given._options, **asked}
            advice, fits, chosen = core().advise(recorded._held, found.step._held, machines._held,
                                                 options, stated, _takes_interrupts())
            if chosen is not None and may_choose and for_engine is None and initial is None:
                found = plan_of(read_with({**wanted, **chosen}), [
                    f"{options['algorithm']} does not fit the step as it is, which is rewritten so that "
                    f"it does: {advice} (strategies=False leaves it as it is)"])
                advice = ""
    finally:
        end()
    if not found.feasible:
        raise _does_not_fit(found, advice, fits)
    return found


def _settled(step: Step, machines: Cluster, options: dict[str, Any],
             asked: dict[str, Any]) -> tuple[Step, dict[str, Any], str]:
    """The step as it was recorded, the options that it is to be planned with, and the algorithm: a
    pipeline's go with each other."""
    wanted = {**step._options, **asked}
    recorded = step
    if rewriting.rewrites(step._options):
        recorded = step._read_with(rewriting.as_recorded(step._options))
    algorithm, chosen = core().settle(recorded._held, machines._held, options, wanted)
    return recorded, rewriting.complete({**wanted, **chosen}), algorithm


def _algorithm(algorithm: Any, engine: Any) -> str:
    """The algorithm, or that which keeps to an engine."""
    name = arguments.text("algorithm", algorithm)
    if engine is None:
        return name
    if not isinstance(engine, str) or engine not in ENGINES:
        raise arguments.refuse("for_engine", engine, f"one of {', '.join(ENGINES)}, or None")
    if name != "auto":
        raise UsageError("usage", f"{name!r} is not the search that keeps to {engine}",
                         place="argument algorithm", remedy="Leave it out, or for_engine.")
    return engine


def _threads(value: Any) -> int:
    if value is not None:
        return arguments.integer("threads", value, 1, arguments.MAX_THREADS)
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), arguments.MAX_THREADS)
    return min(os.cpu_count() or 1, arguments.MAX_THREADS)


def _placement(value: Any) -> list[tuple[str, str]] | None:
    wanted = "a Plan of whole ops, or a dict of ops and devices"
    if value is None:
        return None
    if isinstance(value, Plan):
        if value.space != "placed":
            raise arguments.refuse("initial", value, wanted)
        value = value.placement
    return arguments.pairs("initial", value, wanted)


def _takes_interrupts() -> bool:
    """Whether Ctrl-C is this thread's, and not handled in another way."""
    return (threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler)


def _does_not_fit(found: Plan, advice: str, fits: bool) -> Exception:
    """`advice`: what rewrites the step further, in words; `fits`: whether a plan then does."""
    if found.interrupted:
        return SearchStoppedError("interrupted", "interrupted before any plan that fits was found",
                                  place="argument time", remedy="Give it more time.")
    worst = max(found.devices, key=lambda use: use.peak_memory - use.capacity)
    message = (f"the plan of {found.algorithm} does not fit: {worst.name} needs "
               f"{bytes_text(worst.peak_memory)} and has {bytes_text(worst.capacity)}")
    more_time = "more time (time=), " if found.iterations > 1 else ""
    remedy = f"Give {more_time}more memory or a smaller batch."
    nearest = next((one for one in found.strategies if one.capacity and not one.fits), None)
    if nearest and nearest.memory - nearest.capacity < worst.peak_memory - worst.capacity:
        message = (f"nothing fits: of the strategies {nearest} comes nearest and needs "
                   f"{bytes_text(nearest.memory)} on a device that has "
                   f"{bytes_text(nearest.capacity)}")
        remedy = (f"Give {bytes_text(nearest.memory - nearest.capacity)} more memory a device, more "
                  "devices, more time (time=) or a smaller batch.")
    elif advice:
        remedy = remedy[:-1] + ("; or " if fits else "; ") + advice + "."
    error = NothingFoundError("nothing-found", message, place=f"device {worst.name}", remedy=remedy)
    error.plan = found
    return error
