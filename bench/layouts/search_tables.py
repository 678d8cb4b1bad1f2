#!/usr/bin/env python3
"""What `auto` finds where ops may be split or copied: bench/layouts/search_tables.py PLACEWRIGHT STORE [run|print|ratios OLD]

PLACEWRIGHT is the program (./run). Cells: TAG's six models on its testbed and cloud, four models on four more
clusters, each within 2 s, 10 s and 60 s from when the graph is read, in `fifo` order. `run` makes the cells that STORE
(a file of one JSON object a line) does not have, each written as soon as it is there, of the seconds that the variable
SECONDS lists, or of all; `print` prints the table of those that it has; `ratios` prints each step of STORE as a share of
that of OLD, another store, within the same seconds and within 10 s. Times are modelled. Plans within a time depend on
the machine: the store says how many moves each had.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

TAG = ["inception-v3@tag-table3-guess", "resnet-101@tag", "vgg-19@tag", "transformer@tag-table3-guess"]
TAG += ["bert-small@tag-table3-guess", "bert-large@tag-table3-guess"]
OTHERS = ["bert-base", "gnmt-4", "gpt-2", "resnet-50"]
CELLS = [(m, c) for m in TAG for c in ("tag-testbed", "tag-cloud")]
CELLS += [(m, c) for m in OTHERS for c in ("4xP100", "8xP100", "dgx-a100", "mixed-lab")]
SECONDS = (2, 10, 60)


def read(store):
    if not store.exists():
        return {}
    lines = [json.loads(line) for line in store.read_text().splitlines()]
    return {(one["model"], one["cluster"], one["seconds"]): one for one in lines}


def make(program, model, cluster, seconds):
    with tempfile.TemporaryDirectory() as folder:
        out = str(pathlib.Path(folder) / "step.plan.json")
        command = [program, "plan", model, "-c", cluster, "--space", "replicated", "--order", "fifo"]
        command += ["--time", f"{seconds}s"]
        done = subprocess.run(command + ["-o", out, "--json", "--quiet"], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 4):
            sys.exit(f"{' '.join(command)}: {done.stderr}{done.stdout[-2000:]}")
        made = json.loads(done.stdout)
        checked = subprocess.run([program, "check", out], capture_output=True, text=True, check=False)
    fits = [b for b in made["baselines"] if b["feasible"] and not b["search"]]
    parallel = [b for b in fits if b["algorithm"].startswith("data-parallel") or b["algorithm"] == "horovod"]
    plain = [b for b in fits if b["algorithm"] == "data-parallel"]
    best = min(fits, key=lambda b: b["step_time_ns"], default=None)
    return {
        "model": model,
        "cluster": cluster,
        "seconds": seconds,
        "feasible": made["feasible"],
        "step_time_ns": made["step_time_ns"],
        "bound_ns": made["lower_bound_ns"],
        "moves": made["iterations"],
        "algorithm": made["algorithm"],
        "checked": checked.returncode == 0,
        "best_baseline": best and {"algorithm": best["algorithm"], "step_time_ns": best["step_time_ns"]},
        "data_parallel_ns": min((b["step_time_ns"] for b in plain), default=None),
        "best_parallel_ns": min((b["step_time_ns"] for b in parallel), default=None),
        "strategy": made.get("strategy_averages"),
        "words": words_of(made),
    }


def words_of(made):
    """The rows of the strategy that take a twentieth of the time or more, in words."""
    said = []
    for row in made.get("strategy") or []:
        if row["time_share"] < 0.05:
            continue
        parts = []
        for part in row["computed"][:2]:
            axis = f" by {part['axis']}" if part["axis"] else ""
            parts.append(f"{part['kind']}{axis} on {len(part['devices'])}")
        sums = [s["kind"] for s in row["synchronised"][:2] if s["kind"] != "none"]
        said.append(f"{row['name']}: {', '.join(parts)}" + (f" ({', '.join(sums)})" if sums else ""))
    return "; ".join(said[:4])


def milliseconds(ns):
    return "-" if ns is None else f"{ns / 1e6:,.1f}"


def print_table(store):
    cells = read(store)
    print("| model | cluster | data parallelism | best baseline | 2 s | 10 s | 60 s | 10 s above 60 s | bound | gap | speed-up | strategy |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for model, cluster in CELLS:
        two, ten, sixty = (cells.get((model, cluster, s)) for s in SECONDS)
        if ten is None:
            continue
        last = sixty or ten
        base = last["best_baseline"]
        above = f"{100 * (ten['step_time_ns'] / sixty['step_time_ns'] - 1):.1f}%" if sixty else "-"
        bound, parallel = last["bound_ns"], last["data_parallel_ns"]
        gap = f"{100 * (1 - bound / last['step_time_ns']):.0f}%" if bound else "-"
        gain = f"{parallel / last['step_time_ns']:.2f}" if parallel else "-"
        name = f"{milliseconds(base['step_time_ns'])} ({base['algorithm']})" if base else "-"
        print(
            f"| {model} | {cluster} | {milliseconds(parallel)} | {name} | {milliseconds(two and two['step_time_ns'])} | "
            f"{milliseconds(ten['step_time_ns'])} | "
            f"{milliseconds(sixty and sixty['step_time_ns'])} | {above} | {milliseconds(bound)} | {gap} | {gain} | {last['words']} |"
        )
    worse = [
        k for k, c in cells.items() if c["best_baseline"] and c["step_time_ns"] > c["best_baseline"]["step_time_ns"]
    ]
    print(f"\n{len(cells)} plans of {len(SECONDS) * len(CELLS)}; worse than a baseline: {worse}; not accepted by `check`:", end=" ")
    print([k for k, c in cells.items() if not c["checked"]])


def print_ratios(store, old):
    cells, before = read(store), read(old)
    print("| model | cluster | " + " | ".join(f"{s} s" for s in SECONDS) + " | 2 s to 10 s |")
    print("|---|---|" + "---:|" * (len(SECONDS) + 1))
    columns = [[] for _ in range(len(SECONDS) + 1)]
    for model, cluster in CELLS:
        row = []
        for column, (of, to) in zip(columns, [*((s, s) for s in SECONDS), (2, 10)], strict=True):
            one, other = cells.get((model, cluster, of)), before.get((model, cluster, to))
            if one and other:
                column.append(one["step_time_ns"] / other["step_time_ns"])
            row.append(f"{column[-1]:.3f}" if one and other else "-")
        print(f"| {model} | {cluster} | " + " | ".join(row) + " |")
    means = [f"{math.exp(sum(map(math.log, c)) / len(c)):.3f}" if c else "-" for c in columns]
    print("| geometric mean | | " + " | ".join(means) + " |")


def main():
    if len(sys.argv) < 3 or (len(sys.argv) > 3 and sys.argv[3] not in ("run", "print", "ratios")):
        sys.exit(__doc__)
    program, store = sys.argv[1], pathlib.Path(sys.argv[2])
    if len(sys.argv) > 3 and sys.argv[3] == "print":
        return print_table(store)
    if len(sys.argv) > 4:
        return print_ratios(store, pathlib.Path(sys.argv[4]))
    for seconds in map(int, os.environ.get("SECONDS", "2 10 60").split()):
        for model, cluster in CELLS:
            if (model, cluster, seconds) in read(store):
                continue
            made = make(program, model, cluster, seconds)
            with store.open("a") as out:
                out.write(json.dumps(made) + "\n")
            print(f"{model} {cluster} {seconds} s: {milliseconds(made['step_time_ns'])} ms, {made['moves']} moves", flush=True)
    return print_table(store)


if __name__ == "__main__":
    main()
