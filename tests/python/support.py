"""What the tests share. Importing it ends the test, as skipped, where PyTorch is missing."""

import gzip
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import traceback
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
EXPORTER = SOURCE / "python" / "placewright_export.py"
PROGRAM = os.environ.get("PLACEWRIGHT_PROGRAM", str(SOURCE / "build" / "bin" / "placewright"))
SKIPPED = 77  # ctest's SKIP_RETURN_CODE

sys.path.insert(0, str(EXPORTER.parent))

try:
    import torch  # noqa: F401
except ImportError:
    print(f"SKIPPED: {sys.executable} has no PyTorch; Debian's package is python3-torch")
    sys.exit(SKIPPED)

from placewright_export import export  # noqa: E402

VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])


class ExportTest(unittest.TestCase):
    """Tests that export into a folder of their own."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        torch.manual_seed(1)

    def exported(self, *args, **kwargs):
        """The file that export() writes, as an object."""
        path = self.folder / "step.json.gz"
        export(*args, path=path, **kwargs)
        return json.loads(gzip.decompress(path.read_bytes()))

    def inspected(self, *options):
        """What `placewright inspect --json` says of the last file."""
        run = subprocess.run([PROGRAM, "inspect", str(self.folder / "step.json.gz"), "--json",
                              *options], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return json.loads(run.stdout)

    def refused(self, words, *args, **kwargs):
        """export() raises ExportError with all these words, and leaves no file."""
        from placewright_export import ExportError
        path = self.folder / "refused.json.gz"
        with self.assertRaises(ExportError) as caught:
            export(*args, path=path, **kwargs)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertEqual(list(self.folder.glob("*refused*")) +
                         list(self.folder.glob(".*refused*")), [])


def run_forked(script, *arguments, folder):
    """What subprocess.run() gives of `script`, run in a process that has imported PyTorch already: a copy of this one,
    which must not have computed gradients, since PyTorch's threads for them are not copied: tests that call this come
    first in their file, by the name of their class. Importing takes two seconds of a processor."""
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.stdout, sys.stderr = open(1, "w"), open(2, "w")
            os._exit(_exit_status(script, arguments, folder))
        _, status = os.waitpid(pid, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess([script, *arguments], os.waitstatus_to_exitcode(status), *texts)


def _exit_status(script, arguments, folder):
    """Runs it; of the copy."""
    try:
        os.chdir(folder)
        sys.argv, sys.path[0] = [str(script), *arguments], str(pathlib.Path(script).parent)
        runpy.run_path(str(script), run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code or 0


def without_slopes(graph):
    """A file's object without its proof and slopes."""
    if isinstance(graph, dict):
        return {key: without_slopes(value) for key, value in graph.items()
                if key not in ("batch_proof", "slopes")}
    return [without_slopes(item) for item in graph] if isinstance(graph, list) else graph


def at_batch(graph, to):
    """A file's object taken to another batch by its slopes, which are then left out."""
    from placewright_torch.batch_laws import number_at
    batch = graph["batch"]
    result = without_slopes(graph)
    shapes = list(zip(graph["inputs"], result["inputs"]))
    for op, scaled in zip(graph["ops"], result["ops"]):
        shapes += [pair for pair in zip(op["outputs"], scaled["outputs"]) if pair[0]]
        for *path, law in op.get("slopes", ()):
            holder = scaled["kwargs"] if isinstance(path[0], str) else scaled["args"]
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = number_at(holder[path[-1]], law, batch, to)
    for tensor, scaled in shapes:
        for dimension, law in enumerate(tensor.get("slopes", ())):
            scaled["shape"][dimension] = number_at(scaled["shape"][dimension], law, batch, to)
    return {**result, "batch": to}


def ops_of(graph, phase):
    return [op for op in graph["ops"] if op["phase"] == phase]


def names_of(graph, phase):
    """Operators without "aten." and overload, in order."""
    return [op["target"].split(".")[1] for op in ops_of(graph, phase)]


def inputs_of(graph, kind):
    return [record["name"] for record in graph["inputs"] if record["kind"] == kind]
