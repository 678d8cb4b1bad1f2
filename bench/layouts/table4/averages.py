#!/usr/bin/env python3
"""What TAG's Table 4 says of a plan on tag-testbed: averages.py PLAN...

On how many GPUs of each kind an op of the forward and backward pass is, on average over the ops that run (views do not);
and which share of the gradients is synchronised by parameter servers or by AllReduce. A parameter of which every GPU has
a copy has its gradient reduced, one that is on a single GPU while its module runs on several has a server. Shares are of
the number of gradients.
"""
import gzip
import json
import os
import sys

KINDS = {"host0": "V100", "host5": "P100", "host6": "P100"}  # the other machines have 1080Ti


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def files_of(path):
    plan = read(path)
    return [read(os.path.join(os.path.dirname(path), plan[name]["path"])) for name in ("step", "schedule")]


def names_run(schedule):
    return {op["name"] for op in schedule["ops"] if op["end_ns"] > op["start_ns"]}


def gpus_per_op(step, run):
    devices = {}  # by the op of the original step
    for op in step["ops"]:
        if op.get("of") and op["phase"] != "opt" and op["name"] in run:
            devices.setdefault(op["of"], set()).add(op["device"])
    counts = dict.fromkeys(("V100", "1080Ti", "P100"), 0)
    for device in (device for on in devices.values() for device in on):
        counts[KINDS.get(device.split("/")[0], "1080Ti")] += 1
    return {kind: count / len(devices) for kind, count in counts.items()}


def synchronised(step, run):
    pieces = {}  # how many of a parameter
    original = {}
    for piece in step["inputs"]:
        if piece["kind"] == "param":
            name = piece["of"]["input"] if "of" in piece else piece["name"]
            original[piece["name"]] = name
            pieces[name] = pieces.get(name, 0) + 1
    modules = {}  # where a module runs
    reads = {}  # the modules that read a parameter
    for op in step["ops"]:
        if op["phase"] != "fwd" or not op.get("device"):
            continue
        if op["name"] in run:
            modules.setdefault(op["scope"], set()).add(op["device"])
        for name in op["inputs"]:
            if name in original:
                reads.setdefault(original[name], set()).add(op["scope"])
    servers = copies = 0
    for name, count in pieces.items():
        on = set().union(*(modules.get(scope, ()) for scope in reads.get(name, ())))
        copies += count > 1
        servers += count == 1 and len(on) > 1
    return servers / len(pieces), copies / len(pieces)


def main():
    for path in sys.argv[1:]:
        step, schedule = files_of(path)
        run = names_run(schedule)
        gpus = "  ".join(f"{kind} {value:.2f}" for kind, value in gpus_per_op(step, run).items())
        servers, copies = synchronised(step, run)
        print(f"{path}: {gpus}  PS {servers:.1%}  AR {copies:.1%}")


if __name__ == "__main__":
    main()
