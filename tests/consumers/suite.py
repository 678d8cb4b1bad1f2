"""Models as users have them, from record to device_map; a line each, and how many passed.

    suite.py [--folder FOLDER] [GROUP]... [NAME]...

    detector     maps that GPUs would refuse are refused here, too
    small        recorded, planned on two GPUs that it needs both, divided by Accelerate and run
    real         recorded without memory at a published size, planned, checked
    automap      the plan beside Accelerate's own maps
    torchvision  recorded, planned, checked
    recorder     tests of the exporter that need the newest PyTorch or transformers

Every model is recorded in a process of its own, so that none sees what another left.
"""

import os
import pathlib
import signal
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]
LIMIT = 900  # seconds for a model


def record(function, arguments, path):
    """Records as the command line does."""
    import placewright_export
    words = [function, "-o", str(path)]
    for key, value in arguments.items():
        words += ["--set", f"{key}={value}"]
    with open(f"{path}.log", "w") as log:
        out, err = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = log
        try:
            status = placewright_export.main(words)
        finally:
            sys.stdout, sys.stderr = out, err
    if status:
        raise RuntimeError(pathlib.Path(f"{path}.log").read_text().strip()[-700:])


def kept_whole(name):
    """An option for every kind of block that a device_map has to keep whole, and for what shares
    a weight."""
    import cases
    case = cases.CASES[name]
    options = [word for glob in case.whole for word in ("--colocate-each", glob)]
    return options + [word for glob in case.tied for word in ("--pin", f"{glob}=host0/gpu0")]


def small(name, folder):
    """Recorded, planned on two GPUs that it needs both, checked; Accelerate divides it so."""
    import cases
    import dispatched
    import planned
    graph = folder / f"{name}.json.gz"
    record(f"{HERE}/cases.py:build", {"model": name}, graph)
    given = kept_whole(name)
    result, memory, mapping, options = planned.device_map_of_plan(graph, given)
    worst, devices = dispatched.compare(name, mapping)
    if len(devices) < 2:
        raise planned.Failed(f"only {devices} computed; map {mapping}")
    ops = sum(device["ops"] for device in result["devices"])
    advised = (len(options) - len(given)) // 2
    return (f"{ops} ops on 2 GPUs of {memory / 2**20:.1f} MiB, {len(mapping)} entries, {advised} "
            f"advised options, outputs within {worst:.1e}")


def real(name, folder):
    """Recorded without memory at a published size, planned on a DGX A100, checked."""
    import planned
    graph = folder / f"{name}-real.json.gz"
    begin = time.monotonic()
    record(f"{HERE}/cases.py:build", {"model": name, "size": "real"}, graph)
    seconds = time.monotonic() - begin
    held = planned.call("inspect", graph)
    result = planned.plan(graph, "dgx-a100", moves="50")
    return (f"{held['ops']} ops, {held['parameters'] / 1e6:.0f} M parameters, recorded in "
            f"{seconds:.0f} s, step {result['step_time_ns'] / 1e6:.1f} ms")


def torchvision_model(name, folder):
    """Recorded with small images, planned, checked."""
    import planned
    graph = folder / f"{name}.json.gz"
    record(f"{HERE}/torchvision_cases.py:build", {"model": name}, graph)
    held = planned.call("inspect", graph)
    result = planned.plan(graph, "4xP100", moves="20")
    return f"{held['ops']} ops, step {result['step_time_ns'] / 1e6:.2f} ms"


def recorder(name, folder):
    """A file of tests/python, run by this Python."""
    import subprocess
    run = subprocess.run([sys.executable, str(HERE.parent / "python" / f"{name}_test.py")],
                         capture_output=True, text=True, check=False)
    lines = run.stderr.strip().splitlines()
    if run.returncode:
        raise RuntimeError("\n".join(lines[-30:]))
    return f"{lines[-3]}, {lines[-1]}"


def detector(name, folder):
    """The test's own eyes: a map that CUDA would refuse is refused on pretended GPUs, too."""
    import broken_maps
    return broken_maps.CASES[name]()


def beside_automap(name, folder):
    """The plan beside the maps of infer_auto_device_map, on two GPUs of the same memory."""
    import automap
    graph = folder / f"{name}-real.json.gz"
    if not graph.exists():
        record(f"{HERE}/cases.py:build", {"model": name, "size": "real"}, graph)
    row = automap.compare(name, graph)
    automap.require(row)
    return automap.line(row)


def jobs():
    """(group, name, function) of all there is to do, in this order."""
    import broken_maps
    import cases
    import torchvision_cases
    groups = (("detector", broken_maps.CASES, detector), ("small", cases.CASES, small),
              ("real", cases.CASES, real), ("automap", cases.CASES, beside_automap),
              ("torchvision", torchvision_cases.names(), torchvision_model),
              ("recorder", ("attention", "assume", "hf"), recorder))
    return [(group, name, function) for group, names, function in groups for name in names]


def run_one(function, name, folder):
    """(status, line) of the job in a child: 0 passed, 1 failed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(LIMIT)
        try:
            status, line = 0, function(name, folder)
        except BaseException as error:  # also exits of the exporter
            status, line = 1, f"{type(error).__name__}: {error}"
            if os.environ.get("VERBOSE"):
                traceback.print_exc()
        with os.fdopen(write, "w") as pipe:
            pipe.write(f"{line}")
        os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        line = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, line or f"died with {status}"


def main(words):
    folder = None
    if words[:1] == ["--folder"]:
        folder, words = pathlib.Path(words[1]), words[2:]
    todo = jobs()
    unknown = set(words) - {word for group, name, _ in todo for word in (group, name)}
    if unknown:
        sys.exit(f"neither group nor model: {' '.join(sorted(unknown))}")
    groups = {group for group, _, _ in todo if group in words}
    names = set(words) - groups
    failed = passed = 0
    with tempfile.TemporaryDirectory() as made:
        folder = folder or pathlib.Path(made)
        for group, name, function in todo:
            if (groups and group not in groups) or (names and name not in names):
                continue
            status, line = run_one(function, name, folder)
            failed, passed = failed + bool(status), passed + (not status)
            print(f"{'FAILED' if status else 'ok'} {group} {name}: {line}", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
