"""Accelerate's own device maps beside plans, on two GPUs of the same memory, both simulated."""

import json
import pathlib

import torch
from accelerate import infer_auto_device_map
from accelerate.utils import get_balanced_memory

import cases
import planned

SHARE = 0.6  # of what the step takes on one device, for each of two


def their_map(model, memory, balanced):
    """What infer_auto_device_map makes of GPUs 0 and 1 of `memory` bytes; `balanced` as
    transformers does for device_map="auto": weights spread evenly."""
    whole = list(getattr(model, "_no_split_modules", None) or [])
    limits = {0: memory, 1: memory}
    if balanced:
        limits = get_balanced_memory(model, max_memory=limits, no_split_module_classes=whole)
        limits = {gpu: limits[gpu] for gpu in (0, 1)}
    mapping = infer_auto_device_map(model, max_memory=limits, no_split_module_classes=whole)
    if "" in mapping:
        mapping = {name: mapping[""] for name, _ in model.named_children()}
    return dict(mapping)


def simulated(graph, mapping, memory):
    """The step with every module pinned where the map says, without a limit of memory; what the
    map leaves open is placed by the planner. (step time in ns, whether each GPU has the memory)"""
    cluster = planned.gpus(graph, 2, 2**50)
    pins = [word for path, gpu in mapping.items()
            for word in ("--pin", f"{path}=host0/gpu{gpu}") if _names_ops(graph, path)]
    result = planned.call("plan", graph, "-c", cluster, "--iterations", planned.MOVES, *pins,
                          "-o", cluster.with_name("theirs.plan.json"))
    peak = max(device["peak_memory_bytes"] for device in result["devices"])
    return result["step_time_ns"], peak


def _names_ops(graph, path):
    """Whether the module has ops; a pin that names none is an error."""
    file = pathlib.Path(f"{graph}.modules.json")
    if not file.exists():
        file.write_text(json.dumps(planned.call("inspect", graph, "--modules", "--depth", "64")))
    return any(module["path"] == path or module["path"].startswith(f"{path}.")
               for module in json.loads(file.read_text())["modules"] if module["ops"])


def compare(name, graph):
    """A row: memory of a GPU, then of Accelerate's two maps and of the plan time and peak."""
    cluster, memory = planned.divided_cluster(graph, SHARE)
    with torch.device("meta"):
        model = cases.CASES[name].build("real").model
    row = {"name": name, "memory": memory}
    for word, balanced in (("auto", False), ("balanced", True)):
        mapping = their_map(model, memory, balanced)
        if set(mapping.values()) <= {0, 1}:
            time, peak = simulated(graph, mapping, memory)
            row[word] = {"time": time, "peak": peak, "fits": peak <= memory}
        else:
            row[word] = {"time": None, "peak": None, "fits": False}  # weights beside the GPUs
    result = planned.plan(graph, cluster)
    row["ours"] = {"time": result["step_time_ns"], "fits": result["feasible"], "peak": max(
        device["peak_memory_bytes"] for device in result["devices"])}
    return row


def require(row):
    """A plan that fits, no slower than a map of Accelerate's that does."""
    if not row["ours"]["fits"]:
        raise planned.Failed(f"the plan does not fit: {line(row)}")
    for word in ("auto", "balanced"):
        if row[word]["fits"] and row["ours"]["time"] > 1.02 * row[word]["time"]:
            raise planned.Failed(f"slower than {word}: {line(row)}")


def line(row):
    def one(word):
        entry = row[word]
        if entry["time"] is None:
            return f"{word}: weights on the CPU"
        return (f"{word}: {entry['time'] / 1e6:.1f} ms, {entry['peak'] / 2**30:.2f} GiB"
                f"{'' if entry['fits'] else ', does not fit'}")
    return f"2 x {row['memory'] / 2**30:.2f} GiB; " + "; ".join(map(one, ("auto", "balanced", "ours")))
