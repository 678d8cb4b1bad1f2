"""What the program makes of a recorded step: planned, checked, exported."""

import json
import os
import pathlib
import shlex
import subprocess

PROGRAM = os.environ.get("PLACEWRIGHT_PROGRAM", "placewright")
MOVES = "300"

# GPUs whose memory is the file's alone: no room for contexts and reserves besides.
DIVIDED = """\
kinds:
  Part: {{like: V100-16GB, memory_bytes: {memory}, runtime_context_bytes: 0}}
devices:
  - {{name: host0/gpu, kind: Part, count: {count}, reserve_bytes: 0}}
"""
LINKS = """\
links:
  - {between: ["host0/gpu*", "host0/gpu*"], bandwidth: 12 GB/s, latency: 3 us}
"""


class Failed(Exception):
    """What the program refuses: its message, and its remedy."""

    def __init__(self, message, remedy=""):
        super().__init__(message)
        self.remedy = remedy


def call(*words, allowed=(0,)):
    """The object that `placewright WORDS --json` prints; Failed for another exit status."""
    run = subprocess.run([PROGRAM, *map(str, words), "--json"], capture_output=True, text=True,
                         check=False)
    if run.returncode not in allowed:
        try:
            error = json.loads(run.stdout)["error"]
        except (ValueError, KeyError):
            error = {"message": (run.stdout + run.stderr)[-600:], "remedy": ""}
        raise Failed(f"placewright {words[0]}: exit status {run.returncode}: {error['message']}",
                     error["remedy"])
    return json.loads(run.stdout)


def plan(graph, cluster, *options, moves=MOVES):
    """The result of `plan`, with the plan beside the graph and checked."""
    graph = pathlib.Path(graph)
    file = graph.with_name(graph.name.split(".")[0] + ".plan.json")
    result = call("plan", graph, "-c", cluster, "--iterations", moves, "-o", file, *options)
    if not call("check", file)["ok"]:
        raise Failed(f"{file}: the checker refuses it")
    return result


def gpus(graph, count, memory):
    """A cluster file beside the graph."""
    file = pathlib.Path(graph).with_name(f"{pathlib.Path(graph).name}.{count}x{memory}.yaml")
    file.write_text(DIVIDED.format(memory=memory, count=count) + (LINKS if count > 1 else ""))
    return file


def one_device_memory(graph):
    """Bytes that the whole step takes on one device."""
    cluster = gpus(graph, 1, 2**50)
    result = call("plan", graph, "-c", cluster, "--algo", "single", "--iterations", "1",
                  "-o", cluster.with_name("one.plan.json"))
    return result["devices"][0]


def divided_cluster(graph, share, count=2):
    """A cluster of GPUs that each have `share` of what the tensors of the step take, and room for
    the workspace of its ops."""
    whole = one_device_memory(graph)
    memory = int(whole["tensor_peak_bytes"] * share) + whole["workspace_bytes"]
    return gpus(graph, count, memory), memory


def plan_divided(graph, options):
    """A plan on two GPUs that must use both, on the smallest of these memories that has one."""
    for share in (0.6, 0.7, 0.8, 0.9):
        cluster, memory = divided_cluster(graph, share)
        try:
            return plan(graph, cluster, *options), memory
        except Failed as error:
            reason = error
    raise Failed(f"no plan that divides the model: {reason}")


def device_map_of_plan(graph, options):
    """A plan that divides the step, and its device_map. Where the program says which options would
    make the plan one that a map can say, they are followed. (plan's result, memory, map, options)"""
    for _ in range(4):
        result, memory = plan_divided(graph, options)
        try:
            return result, memory, device_map(graph), options
        except Failed as error:
            advice = error.remedy.partition("Plan again with ")[2].partition(", besides")[0]
            if not advice:
                raise
            options = options + shlex.split(advice)
            reason = error
    raise Failed(f"its advice does not help: {options}: {reason}")


def device_map(graph):
    """`export --to accelerate` of the plan beside the graph."""
    graph = pathlib.Path(graph)
    base = graph.with_name(graph.name.split(".")[0])
    file = base.with_suffix(".map.json")
    call("export", base.with_suffix(".plan.json"), "--to", "accelerate", "-o", file)
    return json.loads(file.read_text())
