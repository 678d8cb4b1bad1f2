#!/usr/bin/env python3
"""Tables of layouts in docs/results/planners.md: bench/layouts/tables.py PLACEWRIGHT TABLE [MODEL ...]

PLACEWRIGHT is the program (./run); TABLE: testbed, cloud, by-hand or table4. Each cell is a plan of its own:
step time, share of it in which something moves, memory of the fullest GPU in GiB; the fastest of a row is
bold. Rows are printed as they come.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

DATA_PARALLEL = ["data-parallel", "data-parallel-p", "data-parallel-ps", "horovod", "data-parallel-best"]
TAG = {
    "inception-v3@tag-table3-guess": "Inception-V3",
    "resnet-101@tag": "ResNet-101",
    "vgg-19@tag": "VGG-19",
    "transformer@tag-table3-guess": "Transformer",
    "bert-small@tag-table3-guess": "BERT-Small",
    "bert-large@tag-table3-guess": "BERT-Large",
}
BY_HAND = ["vgg-16", "bert-base", "gpt-2", "transformer", "gnmt-4", "moe-transformer"]


def plan(program, arguments):
    with tempfile.TemporaryDirectory() as folder:
        out = str(pathlib.Path(folder) / "step.plan.json")
        command = [program, "plan", *arguments, "-o", out, "--json", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def numbers(made):
    moving = made["communication_ns"] / made["step_time_ns"]
    memory = max(d["peak_memory_bytes"] for d in made["devices"] if d["class"] == "gpu")
    return made["step_time_ns"] / 1e6, moving, memory / 2**30, made["feasible"]


def cell(figures, best):
    step, moving, memory, fits = figures
    time = f"{step:,.0f} ms"
    if not fits:
        return f"does not fit, {memory:.1f}"
    return f"{f'**{time}**' if best else time}, {100 * moving:.0f}%, {memory:.1f}"


def row(program, model, cluster, algorithms, *more):
    plans = [
        numbers(plan(program, [model, "-c", cluster, "--algo", a, "--space", "replicated", "--iterations", "1", *more]))
        for a in algorithms
    ]
    fastest = min((round(p[0]) for p in plans if p[3]), default=0)
    return " | ".join(cell(p, round(p[0]) == fastest) for p in plans)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, table, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
    if table in ("testbed", "cloud"):
        algorithms = [*DATA_PARALLEL, "expert-hybrid"]
        print(f"| model | {' | '.join(algorithms)} |\n|{'---|' * (len(algorithms) + 1)}")
        for model, name in TAG.items():
            if not wanted or model in wanted:
                cells = row(program, model, f"tag-{table}", algorithms, "--batch-norm", "local")
                print(f"| {name} | {cells} |", flush=True)
    elif table == "by-hand":
        algorithms = ["data-parallel-best", "horovod", "expert-hybrid"]
        print(f"| cluster | model | {' | '.join(algorithms)} |\n|{'---|' * (len(algorithms) + 2)}")
        for cluster in ("4xP100", "dgx-1"):
            for model in BY_HAND:
                if not wanted or model in wanted:
                    print(f"| {cluster} | `{model}` | {row(program, model, cluster, algorithms)} |", flush=True)
    elif table == "table4":
        folder = pathlib.Path(__file__).parent / "table4"
        print("| model | step, moving, GiB |\n|---|---|")
        for model, name in TAG.items():
            layouts = folder / f"{model.split('@')[0]}.json"
            if not wanted or model in wanted:
                made = plan(program, [model, "-c", "tag-testbed", "--batch-norm", "local", "--layouts", str(layouts)])
                print(f"| {name} | {cell(numbers(made), False)} |", flush=True)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
