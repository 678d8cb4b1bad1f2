"""``python -m placewright.bench PLAN MODULE:FUNCTION``: a plan's step time under `apply`, beside
what the plan predicts and beside the user's own step.

FUNCTION returns the model, an example batch, the loss, the optimizer and the targets, as the one
that the step was recorded with does (docs/formats/pytorch.md). See docs/apply.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ._show import text_table
from ._units import bytes_text, share_text, time_text
from .errors import InputError, MissingRuntimeError, PlacewrightError, UsageError

EXAMPLES = """\
FUNCTION returns a tuple (model, example_inputs, loss, optimizer, targets) or a dict of these names,
as for placewright_export.py. It is called on every rank, once for each kind of step.

Examples:
  python -m placewright.bench model.plan.json train.py:build --beside eager
  python -m placewright.bench model.plan.json train.py:build --compile --beside compiled --json
  torchrun --nproc-per-node 2 -m placewright.bench model.plan.json train.py:build --set layers=4
"""
KINDS = ("eager", "compiled")
WARM_UP = 5  # steps
# What PyTorch's profiler, which counts memory, would write to standard error.
QUIET = {"KINETO_LOG_LEVEL": "10", "TORCH_CPP_LOG_LEVEL": "ERROR"}


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, and prints on rank 0 as text or as one JSON object (docs/json.md).

    Returns
    -------
    int
        The exit status, as the program's: 0, or that of the error.
    """
    options = _parser().parse_args(argv)
    for name, level in QUIET.items():
        os.environ.setdefault(name, level)
    rank = int(os.environ.get("RANK", "0"))
    try:
        found = _Bench(options).run()
    except PlacewrightError as error:
        if options.json and rank == 0:
            print(json.dumps({"schema": "placewright.error/1", "error": {
                key: getattr(error, key) for key in ("code", "message", "file", "place",
                                                     "remedy")}}))
        print(f"placewright.bench: {f'rank {rank}: ' if rank else ''}{error}", file=sys.stderr)
        return error.exit_status
    if rank == 0:
        print(json.dumps(found) if options.json else text_of(found))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m placewright.bench", epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="The step time of a plan under apply, measured beside predicted. Under "
                    "torchrun, one rank a device of the plan.")
    parser.add_argument("plan", metavar="PLAN", help="file of a plan of a recorded step")
    parser.add_argument("function", metavar="MODULE:FUNCTION",
                        help="a function in a Python file or an importable module")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[],
                        help="argument for FUNCTION: JSON, else text; may be repeated")
    parser.add_argument("--compile", action="store_true",
                        help="apply with compile=True")
    parser.add_argument("--update", choices=("recorded", "own"), default="recorded",
                        help="who updates under apply: the recorded ops, or the optimizer's class")
    parser.add_argument("--clip", type=_positive_number, metavar="NORM",
                        help="clip gradients by their norm, in every kind of step")
    parser.add_argument("--beside", metavar="KIND,...", type=_kinds, default=(),
                        help="measure the user's own step, too, by turns, on rank 0: eager, or "
                             "compiled (forward and backward pass, and the update by itself, "
                             "through torch.compile)")
    parser.add_argument("--steps", type=_positive, default=10, metavar="N",
                        help="steps of each kind in a turn (default 10)")
    parser.add_argument("--turns", type=_positive, default=5, metavar="N",
                        help="turns (default 5); five steps of each kind warm up before")
    parser.add_argument("--threads", type=_positive, metavar="N",
                        help="threads of a rank's operators (default: PyTorch's)")
    parser.add_argument("--backend", metavar="NAME",
                        help="of torch.distributed (default: nccl for models on GPUs, else gloo)")
    parser.add_argument("--seed", type=int, default=0, metavar="N",
                        help="for torch.manual_seed(), before each call of FUNCTION (default 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not an integer from 1")
    return value


def _positive_number(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def _kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(dict.fromkeys(text.split(",")))
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"\"{unknown[0]}\" is none of {', '.join(KINDS)}")
    return kinds


class _Bench:
    """The measuring that one command line asks for."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        try:
            import torch
        except ImportError as error:
            raise MissingRuntimeError("missing-runtime", f"there is no PyTorch: {error}",
                                      remedy="Install PyTorch (pip install torch).") from error
        self._torch = torch
        if options.threads:
            torch.set_num_threads(options.threads)

    def run(self) -> dict[str, Any]:
        plan = _plan_of(self._options.plan)
        function = _function_of(self._options)
        if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return self._measured(plan, function, None)
        dist = self._torch.distributed
        gpus = self._torch.cuda.is_available()
        if gpus:
            self._torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        began = not dist.is_initialized()
        if began:
            dist.init_process_group(self._options.backend or ("nccl" if gpus else "gloo"))
        try:
            return self._measured(plan, function, dist.group.WORLD)
        finally:
            if began:
                dist.destroy_process_group()

    def _measured(self, plan: dict[str, Any], function: Callable[..., Any],
                  group: Any) -> dict[str, Any]:
        from . import _measuring as measuring
        from .applied import meeting
        applying: Any = importlib.import_module("placewright._apply")
        options, dist = self._options, self._torch.distributed
        rank = 0 if group is None else dist.get_rank(group)
        own = meeting.on_all(group, lambda: self._user_step(function))
        train = applying.apply(
            options.plan, own.model, own.optimizer, process_group=group, compile=options.compile,
            clip=options.clip, update=options.update,
            loss=own.loss if isinstance(own.loss, self._torch.nn.Module) else None)
        given, named = own.batch()
        users = {kind: self._user_step(function) for kind in options.beside if rank == 0}
        kinds = {"apply": lambda: train(*given, **named),
                 **{kind: getattr(user, kind)(options.clip) for kind, user in users.items()}}
        times, losses = measuring.take_turns(
            ["apply", *options.beside], kinds, options.steps, options.turns, WARM_UP,
            (lambda: None) if group is None else (lambda: dist.barrier(group)))
        peaks = {name: measuring.peak_of_tensors(
            step, users[name].held() if name in users else train._state)
            for name, step in kinds.items()}
        all_ranks = meeting.gathered(
            group, (", ".join(train._places.own), times["apply"], peaks["apply"]))
        if rank != 0:
            return {}
        return _report(options, plan, self._torch, all_ranks, times, losses["apply"], peaks)

    def _user_step(self, function: Callable[..., Any]) -> Any:
        from ._measuring import UserStep
        options = self._options
        self._torch.manual_seed(options.seed)
        exporter = _exporter()
        try:
            parts = exporter.parts_of(function(**exporter.settings_of(options.set)),
                                      options.function, ("name", "batch", "rebatch",
                                                         "frozen_weights"))
        except exporter.ExportError as error:
            raise InputError("not-recordable", str(error), place=options.function,
                             remedy="Give the function that the step was recorded with."
                             ) from error
        except Exception as error:
            raise InputError("not-recordable", f"it failed: {type(error).__name__}: {error}",
                             place=options.function, remedy="Give the function that the step was "
                             "recorded with; it is called with the arguments of --set.") from error
        if parts["optimizer"] is None:
            raise InputError("not-recordable", "it returns no optimizer", place=options.function,
                             remedy="A step that is applied has an update: return (model, "
                             "example_inputs, loss, optimizer, targets).")
        return UserStep(**{key: parts[key] for key in exporter.PARTS})


def _exporter() -> Any:
    return importlib.import_module("placewright_export")


def _plan_of(path: str) -> dict[str, Any]:
    """The plan's file."""
    try:
        plan = json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError) as error:
        raise InputError("file-unreadable", f"cannot be read: {error}", file=path,
                         remedy="Write the plan with `placewright plan ... -o FILE`.") from error
    if not isinstance(plan, dict) or "step_time_ns" not in plan:
        raise InputError("plan-invalid", "it is no plan", file=path,
                         remedy="Write the plan with `placewright plan ... -o FILE`.")
    return plan


def _function_of(options: argparse.Namespace) -> Callable[..., Any]:
    exporter = _exporter()
    if options.function.startswith("hf:"):
        raise UsageError("usage", "configurations of transformers have no weights to train",
                         place=options.function, remedy="Write a function that makes the model "
                         "and its batch, and record the step with it.")
    try:
        exporter.settings_of(options.set)
        return exporter.function_of(options.function, real=True)
    except exporter.ExportError as error:
        errors = importlib.import_module("placewright_torch.errors")
        if isinstance(error, errors.UsageError):
            raise UsageError("usage", str(error), remedy="See --help.") from error
        raise InputError("not-recordable", str(error), place=options.function,
                         remedy="Give the function that the step was recorded with.") from error


def _report(options: argparse.Namespace, plan: dict[str, Any], torch: Any, all_ranks: list[Any],
            times: dict[str, Any], losses: list[float], peaks: dict[str, int]) -> dict[str, Any]:
    """The JSON object (docs/json.md). `all_ranks`: device, times and peak, rank by rank."""
    from ._measuring import ratios, three
    slowest = [[max(steps) for steps in zip(*turns, strict=True)]
               for turns in zip(*(one.clock for _, one, _ in all_ranks), strict=True)]
    predicted = {device["name"]: device.get("tensor_peak_bytes") for device in plan["devices"]}

    def nanoseconds(turns: list[list[int]]) -> dict[str, int]:
        return {key: round(value) for key, value in three(sum(turns, [])).items()}

    def beside(kind: str) -> dict[str, Any]:
        return {"kind": kind, "step_time_ns": nanoseconds(times[kind].clock),
                "ratio": ratios(slowest, times[kind].clock),
                "processor_ratio": ratios(times["apply"].processor, times[kind].processor),
                "peak_memory_bytes": peaks[kind]}
    step_time, samples = nanoseconds(slowest), plan.get("samples")
    return {
        "schema": "placewright.bench-apply/1", "plan_file": options.plan,
        "graph": plan["graph"].get("name"), "cluster": plan["cluster"].get("name"),
        "torch": torch.__version__, "threads": torch.get_num_threads(),
        "compiled": options.compile, "steps": options.steps * options.turns,
        "turns": options.turns, "dropped": WARM_UP, "step_time_ns": step_time,
        "samples_per_second": samples * 1e9 / step_time["median"] if samples else None,
        "loss": losses, "predicted": {"step_time_ns": plan["step_time_ns"]},
        "cost_sources": plan["cost_sources"],
        "ranks": [{"rank": i, "device": device, "step_time_ns": nanoseconds(one.clock),
                   "processor_time_ns": nanoseconds(one.processor), "peak_memory_bytes": peak,
                   "predicted_peak_bytes": predicted.get(device)}
                  for i, (device, one, peak) in enumerate(all_ranks)],
        "beside": [beside(kind) for kind in options.beside]}


def text_of(found: dict[str, Any]) -> str:
    """What `main` prints of its JSON object."""
    def time(one: dict[str, int], key: str) -> str:
        return time_text(one[key] / 1e9)
    step, ranks = found["step_time_ns"], found["ranks"]
    modelled = share_text(found["cost_sources"]["modelled"])
    several = f"{len(ranks)} ranks" if len(ranks) > 1 else "one rank"
    threads = f"{found['threads']} thread{'s' if found['threads'] > 1 else ''}"
    lines = [
        f"{found['graph']} on {found['cluster']}, {several} of {threads}"
        f"{', compiled' if found['compiled'] else ''}: {found['steps']} steps in {found['turns']} "
        f"turns behind {found['dropped']} of warm-up",
        f"step time  measured {time(step, 'median')} (a tenth of the steps below "
        f"{time(step, 'p10')}, a tenth above {time(step, 'p90')})",
        f"           predicted {time(found['predicted'], 'step_time_ns')} ({modelled} of it from "
        "modelled costs)"]
    if found["samples_per_second"]:
        lines.append(f"rate       {found['samples_per_second']:.4g} samples a second")
    lines.append(f"loss       {found['loss'][0]:.6g} in the first step, {found['loss'][-1]:.6g} in "
                 "the last")
    for one in found["beside"]:
        ratio = one["ratio"]
        lines.append(
            f"beside     {one['kind']}: {time(one['step_time_ns'], 'median')}, peak of tensors "
            f"{bytes_text(one['peak_memory_bytes'])}; apply takes {ratio['median']:.3f} times as "
            f"long (turns from {ratio['p10']:.3f} to {ratio['p90']:.3f})" + (
                f", {one['processor_ratio']['median']:.3f} by processor time"
                if len(ranks) == 1 else ""))
    rows = [[str(one["rank"]), one["device"], time(one["step_time_ns"], "median"),
             time(one["processor_time_ns"], "median"), bytes_text(one["peak_memory_bytes"]),
             "-" if one["predicted_peak_bytes"] is None else
             bytes_text(one["predicted_peak_bytes"])] for one in ranks]
    table = text_table(["rank", "device", "step time", "processor", "peak of tensors",
                        "predicted"], rows)
    return "\n".join(lines) + "\n\n" + table


if __name__ == "__main__":
    sys.exit(main())
