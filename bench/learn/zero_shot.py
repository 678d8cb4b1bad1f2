#!/usr/bin/env python3
"""zero_shot.py PROGRAM POLICY CLUSTER GRAPH...: how long a stored policy of gdp takes to place a graph.

Of each graph, the milliseconds from the policy's file being read to a placement that fits, evaluated,
on one thread, and what opening LibTorch takes beside: how much longer the whole program runs than
with --algo single, less the placement. The minimum and the median of --runs runs. GRAPH is a recorded
step, such as `placewright capture bert-base -o bert.json.gz` makes.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time


def plan(arguments, graph, algorithm, folder):
    command = [arguments.program, "plan", graph, "-c", arguments.cluster, "--threads", "1", "--json",
               "-o", os.path.join(folder, "step.plan.json"), "--algo"] + algorithm
    begin = time.monotonic()
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    return time.monotonic() - begin, json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    for name in ("program", "policy", "cluster"):
        parser.add_argument(name)
    parser.add_argument("graphs", nargs="+", metavar="GRAPH")
    arguments = parser.parse_args()
    print(f"{'graph':36} {'placed ms':>9} {'median':>7} {'LibTorch opened ms':>18} {'step ms':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for graph in arguments.graphs:
            placed, opened = [], []
            for _ in range(arguments.runs):
                alone, _ = plan(arguments, graph, ["single"], folder)
                whole, result = plan(arguments, graph, ["gdp", "--policy", arguments.policy,
                                                        "--iterations", "0"], folder)
                took = next(re.search(r"placement took (\d+) ms", note)
                            for note in result["notes"] if "placement took" in note)
                placed.append(int(took.group(1)))
                opened.append(1000 * (whole - alone) - placed[-1])
            print(f"{os.path.basename(graph):36} {min(placed):9} {statistics.median(placed):7.0f} "
                  f"{statistics.median(opened):18.0f} {result['step_time_ns'] / 1e6:9.1f}",
                  flush=True)


if __name__ == "__main__":
    main()
