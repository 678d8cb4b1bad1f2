#!/usr/bin/env python3
"""Compiler time of a build from nothing, and of the build after one source was touched.

    bench/build/compile_time.py [--jobs N] [--touch SOURCE] [TARGET...]

Configures in a scratch folder with this script in front of the compiler, builds the targets
(default: placewright, as ./run does) and adds up user and system seconds of every compiler process,
by folder of src/. Caches in front of the compiler are switched off. What it prints is measured.
"""

import argparse
import collections
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOG = "PLACEWRIGHT_COMPILE_LOG"


def launch(command):
    """Runs one compiler and notes what it took."""
    status = subprocess.call(command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = command[command.index("-o") + 1] if "-o" in command else "?"
    line = json.dumps({"output": output, "seconds": used.ru_utime + used.ru_stime}) + "\n"
    with open(os.environ[LOG], "a", encoding="utf-8") as log:
        log.write(line)
    return status


def folder_of(output):
    parts = pathlib.PurePosixPath(output).parts
    return "/".join(parts[:2]) if parts and parts[0] in ("src", "tests", "tools") else parts[0]


def build(folder, log, targets, jobs):
    """Seconds by the clock and the compiler processes of one run of ninja."""
    log.write_text("")
    started = time.monotonic()
    subprocess.run(["ninja", "-C", folder, "--quiet", "-j", str(jobs), *targets], check=True,
                   env={**os.environ, LOG: str(log), "CCACHE_DISABLE": "1"})
    seconds = time.monotonic() - started
    return seconds, [json.loads(line) for line in log.read_text().splitlines()]


def report(title, seconds, processes):
    total = sum(process["seconds"] for process in processes)
    print(f"{title}: {total:.0f} s of compiler time in {len(processes)} processes, "
          f"{seconds:.0f} s by the clock")
    by_folder = collections.Counter()
    for process in processes:
        by_folder[folder_of(process["output"])] += process["seconds"]
    for name, part in by_folder.most_common():
        print(f"  {part:7.1f} s  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("targets", nargs="*", default=["placewright"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--touch", default="src/cli/commands/plan.cc",
                        help="source to touch for the second build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="placewright-build-") as scratch:
        folder, log = pathlib.Path(scratch) / "build", pathlib.Path(scratch) / "log"
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja",
                        "-DCMAKE_BUILD_TYPE=Release",
                        f"-DCMAKE_CXX_COMPILER_LAUNCHER={pathlib.Path(__file__).resolve()};--launch"],
                       check=True, stdout=subprocess.DEVNULL)
        report("from nothing", *build(folder, log, options.targets, options.jobs))
        (ROOT / options.touch).touch()
        report(f"after touching {options.touch}",
               *build(folder, log, options.targets, options.jobs))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--launch"]:
        sys.exit(launch(sys.argv[2:]))
    main()
