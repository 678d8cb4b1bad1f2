#!/usr/bin/env python3
"""Where a plan made with measured costs stands among others when all are executed.

    bench/runtime/rank.py placewright STEP CLUSTER FOLDER [--rounds 3] [--steps 12]

Profiles the step on the cluster's workers into a store of its own, makes a plan with it, and twenty others: one by
each planner with few moves, and random ones. All are executed in turns, `--rounds` times; a plan's time is the
smallest of its medians, so that what else the machine did counts for none of them. Prints a table and the rank."""

import argparse
import json
import os
import random
import subprocess
import sys

PLANNERS = ["single", "round-robin", "layered", "m-etf", "m-topo", "m-sct", "heft", "metis", "scotch", "expert", "mcmc",
            "annealing", "local-search", "descent"]
OTHERS = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("step")
    parser.add_argument("cluster")
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--iterations", type=int, default=20000)
    given = parser.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    store = os.path.join(given.folder, "costs.sqlite")

    def placewright(*words):
        ran = subprocess.run([given.program, *words, "--json"], capture_output=True, text=True)
        try:
            return ran.returncode, json.loads(ran.stdout)
        except json.JSONDecodeError:
            return ran.returncode, {"error": {"message": ran.stderr}}

    status, profiled = placewright("profile", given.step, "-c", given.cluster, "--loaded", "--cost-store", store,
                                   "--largest-transfer", "64")
    if status != 0:
        sys.exit(profiled["error"]["message"])
    plans = {}

    def plan(name, *words):
        path = os.path.join(given.folder, name + ".plan.json")
        status, made = placewright("plan", given.step, "-c", given.cluster, "-o", path, *words)
        if status == 0 and made["feasible"]:
            plans[name] = (path, made["step_time_ns"])

    plan("found", "--space", "placed", "--cost-store", store, "--iterations", str(given.iterations))
    for planner in PLANNERS:
        plan(planner, "--algo", planner, "--cost-store", store, "--iterations", "1000")
    seed = 0
    while len(plans) < OTHERS + 1 and seed < 3 * OTHERS:
        seed += 1
        plan(f"random-{seed}", "--algo", "random", "--seed", str(seed), "--cost-store", store, "--iterations", "1")
    times = {name: [] for name in plans}
    for round_ in range(given.rounds):
        order = list(plans)
        random.Random(round_).shuffle(order)
        for name in order:
            status, ran = placewright("run", plans[name][0], "--steps", str(given.steps))
            if status != 0:
                sys.exit(f"{name}: {ran['error']['message']}")
            times[name].append(ran["step_time_ns"]["median"])
    measured = {name: min(all_) for name, all_ in times.items()}
    print("| plan | predicted, ms | measured, ms |")
    print("|---|---:|---:|")
    for name in sorted(measured, key=measured.get):
        print(f"| {name} | {plans[name][1] / 1e6:.1f} | {measured[name] / 1e6:.1f} |")
    rank = 1 + sum(time < measured["found"] for name, time in measured.items() if name != "found")
    print(f"\nrank of the plan found: {rank} of {len(measured)}")


if __name__ == "__main__":
    main()
