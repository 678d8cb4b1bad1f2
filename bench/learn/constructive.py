#!/usr/bin/env python3
"""Which constructive planner is the best where policies/gdp.policy is trained, and where it is judged.

    bench/learn/constructive.py placewright [FOLDER]

plans the pairs of a graph and a cluster of policies/train_gdp by each constructive planner, and prints step times over
those of m-etf: geometric means over the pairs on which both fit, with all families and without each. Recorded steps are
kept in FOLDER.
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

PLANNERS = ("m-etf", "metis", "scotch", "expert", "layered", "heft", "m-topo", "single")
FAMILIES = {"rnnlm": "RNNLM", "gnmt": "GNMT", "transformer-xl": "Transformer-XL", "inception": "Inception",
            "amoebanet": "AmoebaNet", "wavenet": "WaveNet", "resnet": "ResNet", "vgg": "VGG", "bert": "BERT",
            "gpt": "GPT-2"}
# Where policies without a family are judged: docs/results/reproduction/gdp.md.
JUDGED = (("rnnlm-2@gdp", 2), ("gnmt-2@gdp", 2), ("transformer-xl-2@gdp", 2), ("inception-v3@gdp", 2),
          ("amoebanet-d@gdp", 4), ("wavenet-2x18@gdp", 2), ("resnet-50", 4), ("vgg-16", 4), ("bert-base", 4),
          ("gpt-2", 4))
CLUSTERS = {2: "2xP100-16GB", 4: "4xP100-16GB", 8: "8xP100"}


def family(graph):
    return next(name for start, name in FAMILIES.items() if graph.startswith(start))


def trained_on():
    script = (pathlib.Path(__file__).parents[2] / "policies" / "train_gdp").read_text()
    gpus = {name: int(name_of[0]) for name, name_of in re.findall(r"(\w+)=(\dxP100\S*)", script)}
    return [(graph, gpus[count]) for graph, count in re.findall(r"^on (\S+) \$(\w+)$", script, re.M)]


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main():
    program = sys.argv[1]
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    def step(graph, gpus, planner):
        path = folder / f"{graph}.json.gz"
        if not path.exists():
            subprocess.run([program, "capture", graph, "-o", path, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        made = subprocess.run([program, "plan", path, "-c", CLUSTERS[gpus], "--algo", planner, "--space", "placed",
                               "--no-store", "--json", "-o", folder / "plan.json"], capture_output=True, text=True)
        if not made.stdout:
            sys.exit(made.stderr)
        plan = json.loads(made.stdout)
        return plan["step_time_ns"] if plan.get("feasible") else None

    def table(title, pairs):
        times = {planner: {pair: step(*pair, planner) for pair in pairs} for planner in PLANNERS}
        rows = [("all", pairs)] + [(f"without {name}", [pair for pair in pairs if family(pair[0]) != name])
                                   for name in sorted({family(graph) for graph, _ in pairs})]
        print(f"| {title} | " + " | ".join(PLANNERS[1:]) + " |\n|---|" + "---:|" * (len(PLANNERS) - 1))
        for name, of in rows:
            cells = []
            for planner in PLANNERS[1:]:
                ratios = [times[planner][pair] / times["m-etf"][pair] for pair in of
                          if times[planner][pair] and times["m-etf"][pair]]
                cells.append(f"{mean(ratios):.3f}" + ("" if len(ratios) == len(of) else f" ({len(ratios)} fit)"))
            print(f"| {name} ({len(of)}) | " + " | ".join(cells) + " |", flush=True)
        print()

    table("trained on", trained_on())
    table("judged on", list(JUDGED))


if __name__ == "__main__":
    main()
