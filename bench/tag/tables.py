#!/usr/bin/env python3
"""TAG's search beside others: bench/tag/tables.py PLACEWRIGHT STORE first|seconds|print

PLACEWRIGHT is the program (./run). Steps are modelled.

`first`    TAG's Table 7: how many strategies `mcts` looks at before the first that is faster than data parallelism over
           all devices, with each prior, at most 200; five of TAG's models (as there) on random machines 1000, 1001, ...
`seconds`  the step that `mcts` and `layout-search` come to within 2 s from when the graph is read, three seeds, on
           24 pairs of models and machines. Such times depend on the machine: the store says how many moves each had.

Both make the cells that STORE (a file of one JSON object a line) does not have, each written as soon as it is there;
`print` prints tables of those that it has, and how many are to come.
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

MODELS = ["inception-v3@tag", "resnet-101@tag", "vgg-19@tag", "transformer@tag", "bert-small@tag"]
TOPOLOGIES = range(1000, 1020)
PRIORS = ["uniform", "floor"]
MOST = 200
PAIRS = [(m, c) for m in MODELS + ["bert-large@tag"] for c in ("tag-testbed", "tag-cloud", "random:1000", "random:1001")]
SEEDS = (0, 1, 2)
SECONDS = 2


def read(store):
    if not store.exists():
        return {}
    lines = [json.loads(line) for line in store.read_text().splitlines()]
    return {key_of(one): one for one in lines}


def key_of(one):
    return (one["kind"], one["model"], one["cluster"], one["method"], one["seed"])


def step_of(program, model, folder):
    path = folder / f"{model}.json.gz"
    if not path.exists():
        subprocess.run([program, "capture", model, "-o", path, "--quiet"], check=True)
    return path


def plan(program, key, folder, options):
    _, model, cluster, method, seed = key
    algorithm = ["--algo", "layout-search"] if method == "layout-search" else ["--algo", "mcts"]
    if method != "layout-search":
        algorithm += ["--set", f"prior={method}", "--set", "sfb=none" if key[0] == "first" else "sfb=best"]
    out = folder / "made.plan.json"
    command = [program, "plan", step_of(program, model, folder), "-c", cluster]
    command += ["--space", "replicated", "--seed", str(seed), "-o", out, "--json", "--quiet", *algorithm, *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4, 5):
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}{done.stdout[-2000:]}")
    made = json.loads(done.stdout)
    history = json.loads(out.read_text())["history"] if done.returncode == 0 else []
    return made, history


def first(program, key, folder):
    made, history = plan(program, key, folder, ["--iterations", str(MOST)])
    notes = " ".join(made.get("notes", [])) or " ".join(made.get("error", {}).get("notes", []))
    base = re.search(r"base ([0-9.]+) ms \([^)]*?(, if it fitted in memory)?\)", notes)
    base_ns = float(base.group(1)) * 1e6 if base else None
    faster = [point for point in history if base_ns and point["step_time_ns"] < base_ns - 1000]
    return {
        "base_ns": base_ns,
        "base_fits": bool(base) and not base.group(2),
        "first": faster[0]["iterations"] if faster else None,
        "step_time_ns": made.get("step_time_ns"),
    }


def seconds(program, key, folder):
    made, _ = plan(program, key, folder, ["--time", f"{SECONDS}s"])
    return {"step_time_ns": made.get("step_time_ns"), "feasible": made.get("feasible", False),
            "moves": made.get("iterations")}


def cells(kind):
    if kind == "first":
        return [("first", m, f"random:{t}", p, 0) for t in TOPOLOGIES for m in MODELS for p in PRIORS]
    return [("seconds", m, c, method, s) for s in SEEDS for m, c in PAIRS
            for method in ("floor", "uniform", "layout-search")]


def interval(logs):
    """Mean and half width of its 95% interval, by the normal distribution."""
    mean = sum(logs) / len(logs)
    if len(logs) < 2:
        return mean, float("nan")
    deviation = math.sqrt(sum((x - mean) ** 2 for x in logs) / (len(logs) - 1))
    return mean, 1.96 * deviation / math.sqrt(len(logs))


def ratio(pairs):
    mean, half = interval([math.log(a / b) for a, b in pairs])
    return f"{math.exp(mean):.3f} [{math.exp(mean - half):.3f}, {math.exp(mean + half):.3f}]"


def print_first(found):
    print(f"| model | prior | machines | solved | median | mean, {MOST} where none | uniform / this |")
    print("|---|---|---|---|---|---|---|")
    for model in MODELS + [None]:
        for prior in PRIORS:
            of = [k for k in found if k[0] == "first" and k[3] == prior and model in (None, k[1])]
            if not of:
                continue
            firsts = [found[k]["first"] or MOST for k in of]
            both = [(found[u]["first"] or MOST, found[k]["first"] or MOST) for k in of
                    if (u := (*k[:3], "uniform", k[4])) in found]
            solved = sum(1 for k in of if found[k]["first"])
            middle = sorted(firsts)[len(firsts) // 2]
            print(f"| {model or 'all'} | {prior} | {len(of)} | {solved} | {middle} | {sum(firsts) / len(firsts):.1f} "
                  f"| {ratio(both) if both else ''} |")
    left = sum(1 for key in cells("first") if key not in found)
    print(f"\n{left} of {len(cells('first'))} cells are still to come.")


def print_seconds(found):
    print("| model | machines | layout-search, ms | floor / layout-search | uniform / layout-search |")
    print("|---|---|---|---|---|")
    all_of = {"floor": [], "uniform": []}
    for model, cluster in PAIRS:
        row, search = [], [found.get(("seconds", model, cluster, "layout-search", s)) for s in SEEDS]
        times = [one["step_time_ns"] for one in search if one and one["feasible"]]
        for method in all_of:
            pairs = []
            for seed, other in zip(SEEDS, search):
                one = found.get(("seconds", model, cluster, method, seed))
                if one and other and one["feasible"] and other["feasible"]:
                    pairs.append((one["step_time_ns"], other["step_time_ns"]))
            all_of[method] += pairs
            row.append(f"{math.exp(sum(math.log(a / b) for a, b in pairs) / len(pairs)):.3f}" if pairs else "-")
        if times:
            print(f"| {model} | {cluster} | {min(times) / 1e6:.1f} | {row[0]} | {row[1]} |")
    print("\nGeometric means over pairs and seeds: "
          + "; ".join(f"{m} {ratio(pairs)}, n={len(pairs)}" for m, pairs in all_of.items() if pairs))
    left = sum(1 for key in cells("seconds") if key not in found)
    print(f"{left} of {len(cells('seconds'))} cells are still to come.")


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in ("first", "seconds", "print"):
        sys.exit(__doc__)
    program, store, what = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    found = read(store)
    if what == "print":
        print_first(found)
        print()
        print_seconds(found)
        return
    make = first if what == "first" else seconds
    with tempfile.TemporaryDirectory() as folder:
        for key in cells(what):
            if key in found:
                continue
            one = dict(zip(("kind", "model", "cluster", "method", "seed"), key))
            one.update(make(program, key, pathlib.Path(folder)))
            with store.open("a") as lines:
                lines.write(json.dumps(one) + "\n")


main()
