#!/usr/bin/env python3
"""learned_speed.py PROGRAM GRAPH CLUSTER: how fast learned planners sample and learn, on one thread.

Each line is the difference of a training of 2 K samples and one of K, so that reading, units and the
first draws do not count: seconds of the agent alone (sampling and updates), of the simulator, its
share of both, and samples per second of both together. Pre-training is the difference of 1,000 iterations and none.
GRAPH is a recorded step, such as `placewright capture bert-base -o bert.json.gz` makes. Prints
seconds of this machine: compare lines of one run. Settings are the papers': updates as they have them.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

CASES = [
    # name, algorithm, settings, samples K
    ("mars, colocation groups", "mars", [], 20),
    ("mars, 256 parts", "mars", ["parts=256"], 20),
    ("mars, 256 parts, attention after", "mars", ["parts=256", "attention=after"], 20),
    ("mars, 256 parts, Transformer-XL", "mars", ["parts=256", "placer=transformer-xl"], 20),
    ("eagle, 256 groups", "eagle", [], 10),
    ("post, colocation groups", "post", [], 100),
]


def train(arguments, algorithm, settings, samples, folder):
    command = [arguments.program, "train", algorithm, arguments.graph, "-c", arguments.cluster,
               "--iterations", str(samples), "--threads", "1", "--json", "-q",
               "-o", os.path.join(folder, "policy")]
    for setting in ["values=published"] + settings:
        command += ["--set", setting]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("graph")
    parser.add_argument("cluster")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':36} {'samples':>7} {'agent s':>8} {'simulator s':>11} {'share':>6} {'samples/s':>9}")
        for name, algorithm, settings, samples in CASES:
            plain = settings + (["pretraining=0"] if algorithm == "mars" else [])
            short = train(arguments, algorithm, plain, samples, folder)
            long = train(arguments, algorithm, plain, 2 * samples, folder)
            simulator = long["evaluating_seconds"] - short["evaluating_seconds"]
            both = long["seconds"] - short["seconds"]
            print(f"{name:36} {samples:7} {both - simulator:8.2f} {simulator:11.3f} "
                  f"{simulator / both:6.1%} {samples / both:9.2f}", flush=True)
        none = train(arguments, "mars", ["pretraining=0"], 20, folder)["seconds"]
        thousand = train(arguments, "mars", ["pretraining=1000"], 20, folder)["seconds"]
        print(f"{'mars, 1,000 iterations of Infomax':36} {'':7} {thousand - none:8.2f}")


if __name__ == "__main__":
    main()
