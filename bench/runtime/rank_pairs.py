#!/usr/bin/env python3
"""Simulated against measured step times of plans that two processes execute, each on one core of this machine.

    bench/runtime/rank_pairs.py placewright FOLDER [--models mlp,vgg] [--steps 15] [--rounds 1] [--time 20]

Describes two machines of one core each, measures what they take to exchange tensors (`profile --ranks`) and the ops
of some small models of the zoo (`profile --loaded`), makes seven plans of each model: data parallel by all-reduce, the
same fused, by parameter servers, two mixtures of parameter servers, all-reduce and whole layers, and two placements;
and executes each over two processes. A plan's measured time is the smallest median of its rounds. Prints a table, and
the median of the absolute errors. What FOLDER has of a model is not measured again."""

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys

MODELS = {
    "mlp": ["mlp", "--batch", "256", "--param", "hidden=1024", "--param", "dropout=0"],
    "vgg": ["vgg-16", "--batch", "8", "--param", "size=32", "--param", "hidden=256", "--param", "classes=10",
            "--param", "dropout=0"],
    "bert": ["bert-small", "--batch", "4", "--param", "sequence=64", "--param", "layers=2", "--param", "hidden=256",
             "--param", "inner=1024", "--param", "heads=4", "--param", "vocabulary=2000", "--param", "dropout=0"],
    "transformer": ["transformer", "--batch", "4", "--param", "source=32", "--param", "target=32", "--param",
                    "layers=2", "--param", "hidden=256", "--param", "inner=1024", "--param", "vocabulary=2000",
                    "--param", "dropout=0"],
    "wavenet": ["wavenet-2x18", "--batch", "4", "--param", "samples=512"],
}
# Which modules of a mixture have parameter servers, and which lie whole on the second rank.
MIXTURES = {
    "mlp": [("hidden0", "output"), ("output", "hidden1")],
    "vgg": [("conv5*", "conv1*"), ("conv1*", "conv5*")],
    "bert": [("layer0*", "embeddings*"), ("embeddings*", "layer1*")],
    "transformer": [("encoder0*", "decoder1*"), ("decoder*", "encoder0*")],
    "wavenet": [("stack0*", "stack1*"), ("stack1*", "stack0*")],
}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Bench:
    def __init__(self, given):
        self.given = given
        self.program = os.path.abspath(given.program)
        self.folder = given.folder
        os.makedirs(self.folder, exist_ok=True)
        self.cluster, self.store = self.path("ranks.yaml"), self.path("ranks.sqlite")
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "OMPI_", "SLURM_")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
        self.environment["OMP_NUM_THREADS"] = "1"

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *words):
        ran = subprocess.run([self.program, *words, "--json"], env=self.environment, capture_output=True, text=True)
        if ran.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {ran.stdout[-800:]} {ran.stderr[-800:]}")
        return json.loads(ran.stdout)

    def call_ranks(self, *words):
        port, processes = str(free_port()), []
        for rank in (0, 1):
            variables = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
                         "MASTER_PORT": port}
            processes.append(subprocess.Popen([self.program, *words, "--json"], env={**self.environment, **variables},
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        out, err = processes[0].communicate()
        processes[1].communicate()
        if processes[0].returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {out[-800:]} {err[-800:]}")
        return json.loads(out)

    def describe(self):
        """Each core a machine of its own, joined by what `profile --ranks` measures."""
        self.call("cluster", "detect", "--split-cpu", "2", "-o", self.cluster)
        with open(self.cluster, encoding="utf-8") as file:
            text = file.read()
        text = text[:text.index("switches:")]
        devices = re.findall(r"- \{name: (\S+?),", text)
        text = re.sub(rf"(name: {re.escape(devices[1])},.*host:) 0", r"\1 1", text)
        # A rank exchanges one thing at a time, to and fro.
        ends = f"between: [{devices[0]}, {devices[1]}]"
        text += f"links:\n  - {{{ends}, bandwidth: 1 GB/s, latency: 100 us, duplex: half}}\n"
        with open(self.cluster, "w", encoding="utf-8") as file:
            file.write(text)
        self.devices = devices

    def profile(self, name):
        """Both just before the model's plans are executed: the machine is not equally fast at all times."""
        graph = self.path(name + ".json.gz")
        if os.path.exists(graph) and not self.given.profile:
            return
        self.call("capture", *MODELS[name], "-o", graph)
        self.call_ranks("profile", "--ranks", "-c", self.cluster, "--cost-store", self.store, "--largest-transfer",
                        "16")
        self.call("profile", graph, "-c", self.cluster, "--loaded", "--no-transfers", "--time", self.given.time,
                  "--cost-store", self.store)

    def layouts(self, name, number):
        servers, whole = MIXTURES[name][number]
        path = self.path(f"{name}-mixed-{number}.layouts.json")
        layouts = [{"groups": "*", "axis": "batch", "devices": self.devices},
                   {"groups": servers, "axis": "batch", "devices": self.devices, "option": "parameter-server"},
                   {"groups": whole, "option": "place", "devices": [self.devices[1]]}]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"layouts": layouts}, file)
        return path

    def plans(self, name):
        ways = {"all-reduce": ["--algo", "data-parallel"], "fused": ["--algo", "horovod"],
                "parameter-server": ["--algo", "data-parallel-ps"],
                "mixed 1": ["--layouts", self.layouts(name, 0)], "mixed 2": ["--layouts", self.layouts(name, 1)],
                "placed heft": ["--algo", "heft"], "placed random": ["--algo", "random", "--iterations", "1"]}
        for way, words in ways.items():
            path = self.path(f"{name}-{way.replace(' ', '-')}.plan.json")
            try:
                made = self.call("plan", self.path(name + ".json.gz"), "-c", self.cluster, "--cost-store", self.store,
                                 "-o", path, *words)
                yield way, path, made["step_time_ns"], made["cost_sources"]["measured"]
            except RuntimeError as error:
                print(f"{name} {way}: {error}", file=sys.stderr)

    def measure(self, path):
        """The step time; what it is predicted to be with ops longer by what their cores send and receive; and the
        time in ops over what the plan says of them: where that is far from 1, the cores do something else beside."""
        times, ratios, executed = [], [], self.path("executed.json")
        for _ in range(self.given.rounds):
            ran = self.call_ranks("run", path, "--steps", str(self.given.steps), "--schedule", executed)
            times.append(ran["step_time_ns"]["median"])
            ratios.append(self.time_in_ops(executed) / self.time_in_ops(path.replace(".json", ".schedule.json")))
        best = times.index(min(times))
        return times[best], ran["predicted"]["over_ranks_ns"], ratios[best]

    @staticmethod
    def time_in_ops(path):
        with open(path, encoding="utf-8") as file:
            schedule = json.load(file)
        collectives = ("all_reduce@", "all_gather@", "reduce_scatter@", "all_to_all@", "broadcast@")
        return sum(op["end_ns"] - op["start_ns"] for op in schedule["ops"]
                   if not any(name in op["name"] for name in collectives))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--time", default="20", help="seconds of a profile for each batch")
    parser.add_argument("--profile", action="store_true", help="measure again what FOLDER has")
    bench = Bench(parser.parse_args())
    bench.describe()
    errors, plain_errors = [], []
    print("| model | plan | the plan's, ms | error | beside exchanges, ms | measured, ms | error | "
          "ops, executed over simulated |\n|---|---|---:|---:|---:|---:|---:|---:|")
    for name in bench.given.models:
        bench.profile(name)
        for way, path, simulated, share in bench.plans(name):
            measured, beside, ratio = bench.measure(path)
            plain_error, error = simulated / measured - 1, (beside or simulated) / measured - 1
            errors.append(abs(error))
            plain_errors.append(abs(plain_error))
            print(f"| {name} | {way} | {simulated / 1e6:.1f} | {plain_error:+.1%} | "
                  f"{(beside or simulated) / 1e6:.1f} | {measured / 1e6:.1f} | {error:+.1%} | {ratio:.2f} |", flush=True)
            if share < 0.9:
                print(f"{name} {way}: {share:.0%} of the time is measured", file=sys.stderr)
    print(f"\n{len(errors)} pairs: median error of the plan's {statistics.median(plain_errors):.1%}; beside exchanges "
          f"{statistics.median(errors):.1%}, largest {max(errors):.1%}")


if __name__ == "__main__":
    main()
