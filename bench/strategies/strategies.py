#!/usr/bin/env python3
"""What `auto` finds within 2, 10 and 60 s beside every named strategy, on 3 to 1,024 GPUs.

    bench/strategies/strategies.py PLACEWRIGHT RECORD [record|run|named FOLDER] [--only WORD...] [--seconds N...]
    bench/strategies/strategies.py PLACEWRIGHT RECORD print

PLACEWRIGHT is the program (./run), RECORD a file of one JSON object a line. `record` records the models of `models/`
into FOLDER, with the Python that the variable PLACEWRIGHT_PYTHON names (it needs transformers), those that it lacks;
`run` makes the lines of `auto` that RECORD does not have, `named` those of strategies by name; `print` prints the tables
of those that it has. --only takes cells whose names have one of the words.

Of every algorithm that is a strategy each cell has the rewriting that it is estimated to be the fastest with, and what
`auto` itself simulated of it, all by the same simulator. What is estimated to take more than 1.3 times as long as the
best plan is not simulated: its estimate stands in brackets. Times are modelled. Plans within a time depend on the
machine: a line says how many strategies and moves there were, and the processor time.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = (2, 10, 60)
ALGORITHMS = (
    "data-parallel data-parallel-p zero-1 zero-2 hybrid-zero-2 fsdp hsdp tensor 2d ulysses context experts "
    "gpipe 1f1b interleaved zb-h1 3d offload"
).split()
PIPELINES = ("gpipe", "1f1b", "interleaved", "zb-h1")
# Those that are estimated as another one with the same numbers.
ESTIMATED_AS = {"zero-1": "zero-2", "gpipe": "1f1b"}
FAR_TOO_MUCH = 1.25  # of the memory: such a strategy is left out
FAR_BEHIND = 1.3  # times the best plan: is not simulated
PATIENCE = 120  # seconds of a strategy by name


def hosts(count, gpus, nics="8 x 400 Gb/s", cpus="2 x Xeon-Platinum-8480+", interconnect="nvswitch"):
    return (
        f"  - {{count: {count}, gpus: {gpus}, cpus: {cpus}, memory: 2 TiB, "
        f"interconnect: {interconnect}, nics: {nics}}}\n"
    )


def cluster(name, *lines, network="400 Gb/s"):
    return f"name: {name}\nhosts:\n{''.join(lines)}network: {network}\n"


CLUSTERS = {f"{8 * n} H100": cluster(f"h100-{8 * n}", hosts(n, "8 x H100")) for n in (1, 4, 32, 128)}
CLUSTERS["32 A100"] = cluster("a100-32", hosts(4, "8 x A100-80GB", "8 x 200 Gb/s"), network="200 Gb/s")
CLUSTERS["8 A100 + 8 V100"] = cluster(
    "a100-v100",
    hosts(1, "8 x A100-80GB", "1", "2 x EPYC-7742"),
    hosts(1, "8 x V100-32GB", "1", "2 x Xeon-E5-2698v4", "nvlink"),
    network="100 Gb/s",
)
CLUSTERS["2 x 3090, 4090, 4 x 1080Ti"] = cluster(
    "unequal-10g",
    hosts(1, "2 x RTX-3090", "1", "Ryzen-9-5950X", "pcie4").replace("2 TiB", "64 GiB"),
    hosts(1, "1 x RTX-4090", "1", "Ryzen-9-7950X", "pcie4").replace("2 TiB", "64 GiB"),
    hosts(1, "4 x GTX-1080Ti", "1", "2 x Xeon-E5-2650v4", "pcie3").replace("2 TiB", "128 GiB"),
    network="10 Gb/s",
)
CLUSTERS["2 x 4090, 3090"] = (
    "name: mixed-4090\ngpus: [2 x RTX 4090, 1 x RTX 3090]\ncpus: 1 x Ryzen-9-7950X\n"
    "memory: 128 GiB\ninterconnect: pcie4\n"
)

# Recording: model, samples, tokens. Sizes follow the batch, not the tokens.
RECORDINGS = {
    "llama-3-8b": ("llama-3-8b", 8, 2048),
    "llama-3-8b-8192": ("llama-3-8b", 8, 8192),
    "llama-3-70b": ("llama-3-70b", 64, 2048),
    "mixtral-8x7b": ("mixtral-8x7b", 64, 2048),
    "gpt-2-1024": ("gpt-2", 8, 1024),
}

# Recording, batch, cluster; those that say most first.
CELLS = [
    ("llama-3-8b", 64, "32 H100"),
    ("llama-3-70b", 64, "32 H100"),
    ("llama-3-8b", 64, "8 H100"),
    ("mixtral-8x7b", 64, "32 H100"),
    ("llama-3-8b", 64, "8 A100 + 8 V100"),
    ("gpt-2-1024", 512, "8 A100 + 8 V100"),
    ("gpt-2-1024", 64, "2 x 3090, 4090, 4 x 1080Ti"),
    ("gpt-2-1024", 16, "2 x 4090, 3090"),
    ("llama-3-8b", 16, "2 x 4090, 3090"),
    ("llama-3-8b", 512, "256 H100"),
    ("llama-3-8b-8192", 512, "256 H100"),
    ("llama-3-70b", 512, "256 H100"),
    ("mixtral-8x7b", 512, "256 H100"),
    ("llama-3-8b", 512, "1024 H100"),
    ("llama-3-8b-8192", 512, "1024 H100"),
    ("llama-3-70b", 512, "1024 H100"),
    ("mixtral-8x7b", 512, "1024 H100"),
    ("llama-3-8b", 64, "32 A100"),
    ("llama-3-70b", 64, "32 A100"),
    ("mixtral-8x7b", 8, "8 H100"),
    ("llama-3-70b", 64, "8 H100"),
]
LABELS = {
    "llama-3-8b": "Llama-3-8B, {} x 2,048",
    "llama-3-8b-8192": "Llama-3-8B, {} x 8,192",
    "llama-3-70b": "Llama-3-70B, {} x 2,048",
    "mixtral-8x7b": "Mixtral-8x7B, {} x 2,048",
    "gpt-2-1024": "GPT-2, {} x 1,024, f32",
}


def name_of(cell):
    return f"{LABELS[cell[0]].format(cell[1])}, {cell[2]}"


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def cell_of(line):
    return (line["model"], line["batch"], line["cluster"])


def options_of(strategy):
    """A strategy of a plan file as words of the command line."""
    words = ["--algo", strategy["algorithm"]]
    settings = strategy.get("settings") or []
    if settings:
        words += ["--set", *settings]
    if strategy["micro_batches"] > 1 or strategy.get("pipeline"):
        words += ["--micro-batches", str(strategy["micro_batches"])]
    for modules in strategy["recompute"]:
        words += ["--recompute", modules]
    if strategy.get("pipeline"):
        words += ["--pipeline", strategy["pipeline"], "--stages", str(strategy["stages"])]
        if strategy["pipeline"] == "interleaved":
            words += ["--chunks", str(strategy["chunks"])]
        if strategy.get("layers"):
            words += ["--stage-layers", ",".join(map(str, strategy["layers"]))]
    return words


def under(algorithm, strategy):
    """The strategy, of an algorithm that is estimated as its own."""
    named = {**strategy, "algorithm": algorithm}
    if algorithm in PIPELINES:
        named["pipeline"] = algorithm
    return named


def words_of(strategy):
    return " ".join(options_of(strategy)[1:])


class Bench:
    def __init__(self, program, store, folder):
        self.program, self.store, self.folder = program, store, folder
        self.version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    def plan(self, cell, words, patience=None):
        """The program's answer, its plan file or {}, and the seconds of its processor."""
        model, batch, machines = cell
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            (work / "cluster.yaml").write_text(CLUSTERS[machines])
            out = work / "step.plan.json"
            command = [self.program, "plan", str(self.folder / f"{model}.json.gz"), "--batch", str(batch)]
            command += ["-c", str(work / "cluster.yaml"), "--json", "--quiet", "-o", str(out), *words]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience)
            except subprocess.TimeoutExpired:
                return {"error": {"code": "time", "message": f"not simulated within {patience} s"}}, {}, 0
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            try:
                made = json.loads(done.stdout)
            except ValueError:
                made = {"error": {"message": f"exit {done.returncode}: {done.stderr[-300:]}"}}
            plan = json.loads(out.read_text()) if out.exists() else {}
        return made, plan, cpu

    def line(self, cell, made, cpu, **more):
        model, batch, machines = cell
        line = {"model": model, "batch": batch, "cluster": machines, **more, "program": self.version}
        error = made.get("error")
        if error:
            return {**line, "fits": False, "error": error.get("code", ""), "why_not": error["message"][:300]}
        line |= {key: made[key] for key in ("algorithm", "step_time_ns", "lower_bound_ns", "iterations")}
        line |= {"fits": made["feasible"], "memory_bytes": max(d["peak_memory_bytes"] for d in made["devices"])}
        line |= {"first_seconds": made["first_feasible_seconds"], "used_seconds": made["seconds"]}
        return {**line, "processor_seconds": round(cpu, 2), "resident_bytes": made["peak_rss_bytes"]}

    def add(self, line):
        with self.store.open("a") as out:
            out.write(json.dumps(line) + "\n")
        print(name_of(cell_of(line)), line.get("seconds") or line["named"], milliseconds(line), flush=True)

    def run_auto(self, cell, seconds):
        made, plan, cpu = self.plan(cell, ["--time", f"{seconds}s"])
        line = self.line(cell, made, cpu, seconds=seconds)
        line["any_rewriting"] = [n for n in made.get("notes", []) if "under any rewriting" in n]
        line["strategies"] = [
            {key: value for key, value in one.items() if value not in (None, [], "")} | {"recompute": one["recompute"]}
            for one in plan.get("strategies", [])
        ]
        self.add(line)

    def run_named(self, cell, lines):
        """Each algorithm with what it is estimated to be the fastest with."""
        made = [one for one in lines if cell_of(one) == cell]
        autos = [one for one in made if "seconds" in one and one.get("strategies")]
        if not autos:
            return
        tried = max(autos, key=lambda one: one["seconds"])["strategies"]
        have = {one["named"] for one in made if "named" in one}
        for algorithm in ALGORITHMS:
            of_it = [s for s in tried if s["algorithm"] == ESTIMATED_AS.get(algorithm, algorithm)]
            # What does not fit by far, and what is none here.
            of_it = [s for s in of_it if 0 < s["memory_bytes"] <= FAR_TOO_MUCH * s["capacity_bytes"]]
            if algorithm in have or not of_it:
                continue
            best = under(algorithm, min(of_it, key=lambda s: (not s["fits"], s["estimated_time_ns"])))
            estimate = {"named": algorithm, "words": words_of(best), "estimated_ns": best["estimated_time_ns"]}
            if best["estimated_time_ns"] > FAR_BEHIND * min(one["step_time_ns"] for one in autos):
                model, batch, machines = cell
                self.add({"model": model, "batch": batch, "cluster": machines, **estimate, "program": self.version})
                continue
            answer, _, cpu = self.plan(cell, options_of(best), PATIENCE)
            self.add(self.line(cell, answer, cpu, **estimate))


def milliseconds(line):
    if not line:
        return "-"
    if "fits" not in line:
        return f"({line['estimated_ns'] / 1e6:,.0f})"
    if not line["fits"]:
        return "does not fit"
    return f"{line['step_time_ns'] / 1e6:,.0f}" if line["step_time_ns"] >= 1e8 else f"{line['step_time_ns'] / 1e6:,.1f}"


def best_named(lines, cell):
    """By algorithm: ns and words of the fastest that fits, by itself or within a run of auto."""
    best = {}

    def take(algorithm, nanos, words):
        if algorithm not in best or nanos < best[algorithm][0]:
            best[algorithm] = (nanos, words)

    for line in (one for one in lines if cell_of(one) == cell):
        if line.get("named") and line.get("fits"):
            take(line["named"], line["step_time_ns"], line["words"])
        for one in line.get("strategies", []):
            if one["fits"] and one.get("step_time_ns"):
                take(one["algorithm"], one["step_time_ns"], words_of(one))
    return best


def percent(above):
    return f"{100 * above:.1f}%"


def print_tables(lines, cells):
    print("| step | 2 s | 10 s | 60 s | 10 s above 60 s | best named strategy | bound | left | first plan |")
    print("|---|---:|---:|---:|---:|---|---:|---:|---:|")
    autos = {(cell_of(one), one["seconds"]): one for one in lines if "seconds" in one}
    worse = []
    for cell in cells:
        two, ten, sixty = (autos.get((cell, s)) for s in SECONDS)
        last = sixty or ten or two
        if last is None:
            continue
        best = best_named(lines, cell)
        name, (nanos, words) = min(best.items(), key=lambda one: one[1][0], default=("", (None, "")))
        both = sixty and ten and sixty["fits"] and ten["fits"]
        above = percent(ten["step_time_ns"] / sixty["step_time_ns"] - 1) if both else "-"
        if nanos is not None and (ten or last)["fits"] and nanos < (ten or last)["step_time_ns"]:
            worse.append(f"{name_of(cell)}: {percent((ten or last)['step_time_ns'] / nanos - 1)} above {words}")
        bound = last.get("lower_bound_ns")
        left = percent(1 - bound / last["step_time_ns"]) if bound and last["fits"] else "-"
        named = f"{nanos / 1e6:,.0f} `{words}`" if nanos else "-"
        firsts = [one["first_seconds"] for one in (two, ten, sixty) if one and one.get("first_seconds") is not None]
        print(
            f"| {name_of(cell)} | {milliseconds(two)} | {milliseconds(ten)} | {milliseconds(sixty)} | {above} | {named} | "
            f"{f'{bound / 1e6:,.0f}' if bound else '-'} | {left} | {f'{min(firsts):.1f} s' if firsts else '-'} |"
        )
    print("\nWithin 10 s above a named strategy: " + ("; ".join(worse) or "none") + ".\n")
    print("| step | " + " | ".join(ALGORITHMS) + " |")
    print("|---|" + "---:|" * len(ALGORITHMS))
    for cell in cells:
        best = best_named(lines, cell)
        rest = {one["named"]: one for one in lines if cell_of(one) == cell and "named" in one}
        if best:
            row = [f"{best[a][0] / 1e6:,.0f}" if a in best else milliseconds(rest.get(a)) for a in ALGORITHMS]
            print(f"| {name_of(cell)} | " + " | ".join(row) + " |")


def record(folder, cells):
    python = os.environ.get("PLACEWRIGHT_PYTHON", sys.executable)
    for name in dict.fromkeys(model for model, _, _ in cells):
        out = folder / f"{name}.json.gz"
        model, batch, tokens = RECORDINGS[name]
        if out.exists():
            continue
        command = [python, str(ROOT / "python" / "placewright_export.py"), f"hf:{HERE / 'models' / model}.json"]
        subprocess.run([*command, "--batch", str(batch), "--sequence", str(tokens), "-o", str(out)], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("store", type=pathlib.Path)
    parser.add_argument("task", choices=("record", "run", "named", "print"), default="print", nargs="?")
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--seconds", nargs="+", type=int, default=list(SECONDS))
    given = parser.parse_args()
    cells = [cell for cell in CELLS if any(word in name_of(cell) for word in given.only)]
    if given.task != "print" and given.folder is None:
        parser.error(f"{given.task} needs the folder of the recordings")
    if given.task == "record":
        return record(given.folder, cells)
    if given.task == "print":
        return print_tables(read(given.store), cells)
    bench = Bench(given.program, given.store, given.folder)
    if given.task == "named":
        for cell in cells:
            bench.run_named(cell, read(given.store))
        return None
    for seconds in given.seconds:
        for cell in cells:
            have = {(cell_of(one), one.get("seconds")) for one in read(given.store)}
            if (cell, seconds) not in have:
                bench.run_auto(cell, seconds)
    return None


if __name__ == "__main__":
    sys.exit(main())
