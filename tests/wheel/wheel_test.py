"""wheel_test.py DIST BARE [TESTS]: the wheel and the sdist in DIST, and the wheel as installed in
the environment BARE, which has nothing else. With PyTorch (PLACEWRIGHT_TORCH_PYTHON, else the
Python that runs this) where that has it, and beside the source tree's program
(PLACEWRIGHT_PROGRAM)."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

from onnx_model import onnx_model
from packed_files import packed

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = SOURCE / "examples" / "tiny_transformer_adam.json.gz"
DIST, BARE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
MAX_BYTES = 40 << 20
MAX_GLIBC = 35  # of manylinux_2_N
# What every Linux with that glibc has.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1",
                 "ld-linux-x86-64.so.2"}
TORCH_PYTHON = os.environ.get("PLACEWRIGHT_TORCH_PYTHON", sys.executable)


def needed(path):
    """The names of the libraries that an ELF file asks for."""
    shown = subprocess.run(["objdump", "-p", str(path)], check=True, capture_output=True, text=True)
    return set(re.findall(r"NEEDED +(\S+)", shown.stdout))


def environment(**more):
    """Without what names parts of a source tree."""
    ours = {name: value for name, value in os.environ.items()
            if not name.startswith(("PLACEWRIGHT_", "PYTHONPATH", "LD_"))}
    return {**ours, "PYTHONDONTWRITEBYTECODE": "1", **more}


def said(*words, env=None, cwd=None):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, env=env or environment(), cwd=cwd)
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


class Files(unittest.TestCase):
    def setUp(self):
        self.wheel = next(DIST.glob("*.whl"))
        self.names = zipfile.ZipFile(self.wheel).namelist()

    def unpacked(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        zipfile.ZipFile(self.wheel).extractall(folder.name)
        return pathlib.Path(folder.name)

    def test_name_and_size(self):
        tag = re.search(r"-(cp3\d+)-(cp3\d+|abi3)-manylinux_2_(\d+)_x86_64\.whl$", self.wheel.name)
        self.assertIsNotNone(tag, self.wheel.name)
        self.assertLessEqual(int(tag.group(3)), MAX_GLIBC)
        self.assertEqual(tag.group(2) == "abi3", int(tag.group(1)[3:]) >= 12)
        self.assertLess(self.wheel.stat().st_size, MAX_BYTES)

    def test_program_and_data_are_in_it(self):
        shipped = [f"placewright/share/placewright/policies/{path.name}"
                   for path in (SOURCE / "policies").glob("*.policy")]
        for name in ["placewright/bin/placewright", "placewright/py.typed", "placewright_export.py",
                     "placewright/share/placewright/traversal.jsonl", *shipped]:
            self.assertIn(name, self.names)

    def test_nothing_else_is_needed(self):
        folder = self.unpacked()
        binaries = [*folder.rglob("*.so*"), folder / "placewright/bin/placewright"]
        bundled = {path.name for path in binaries}
        self.assertGreater(len(bundled), 10)
        for path in binaries:
            self.assertLessEqual(needed(path), bundled | OF_THE_SYSTEM, path.name)
        for name in sorted(bundled):
            self.assertIsNone(re.search("blas|gfortran|quadmath|gomp|torch", name), name)

    def test_licences_of_what_is_bundled(self):
        folder = self.unpacked()
        licences = next(folder.glob("*.dist-info")) / "licenses" / "bundled"
        listed = {}
        for line in (licences / "LIBRARIES.txt").read_text().split("\n\n", 1)[1].splitlines():
            name, rest = line.split(": ", 1)
            listed[name] = rest.split("; ")
        libraries = {path.name for path in (folder / "placewright.libs").iterdir()}
        self.assertEqual(set(listed) - {"headers"}, libraries)
        for name, (licence, _, _, file) in listed.items():
            self.assertTrue(licence, name)
            self.assertGreater((licences / file).stat().st_size, 100, name)

    def test_the_sdist_has_what_the_patterns_say(self):
        """sdist_test.py says that this is what the build needs."""
        with tarfile.open(next(DIST.glob("*.tar.gz"))) as archive:
            files = {name.split("/", 1)[1] for name in archive.getnames()}
        self.assertEqual(files - {"PKG-INFO"}, set(packed()))


class Bare(unittest.TestCase):
    """As installed, in an environment without any other package."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.plan = self.folder / "a.plan.json"

    def python(self, *words):
        return said(BARE / "bin" / "python", *words, cwd=self.folder)

    def test_import_loads_neither_library_nor_packages(self):
        print("\nimport:", self.python(
            "-c", "import time; start = time.time(); import placewright; "
                  "print(time.time() - start, 's')").strip())
        loaded = self.python("-c", "import placewright, sys; print(*sys.modules)").split()
        self.assertIn("placewright._plan", loaded)
        for name in ("torch", "numpy", "placewright._core"):
            self.assertNotIn(name, loaded)

    def test_plans_the_example(self):
        steps = self.python("-c", "import placewright as pw\n"
                            f"plan = pw.plan({str(EXAMPLE)!r}, '4xP100', iterations=500, seed=3)\n"
                            f"plan.save({str(self.plan)!r})\n"
                            "print(pw.check(plan)['ok'], plan.step_time)").split()
        self.assertEqual(steps[0], "True")
        self.python("-m", "placewright", "plan", EXAMPLE, "-c", "4xP100", "--iterations", "500",
                    "--seed", "3", "--no-store", "-o", self.folder / "b.plan.json", "-q")
        written = json.loads((self.folder / "b.plan.json").read_text())
        self.assertEqual(written["step_time_ns"], round(float(steps[1]) * 1e9))

    def test_the_program(self):
        program = BARE / "bin" / "placewright"
        self.assertRegex(said(program, "--version"), r"^placewright \d+\.\d+\.\d+\n$")
        self.assertEqual(self.python("-m", "placewright", "--version"), said(program, "--version"))
        advice = json.loads(said(program, "advise", EXAMPLE, "--json"))
        self.assertEqual(advice["schema"], "placewright.advise/1")

    def test_policies_are_its_own(self):
        done = subprocess.run(
            [BARE / "bin" / "placewright", "plan", EXAMPLE, "-c", "4xP100", "--algo", "gdp",
             "--policy", "gdp", "--no-store", "--json"], env=environment(), cwd=self.folder,
            capture_output=True, text=True, check=False)
        # The policy is found and read; planning by it needs LibTorch.
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "missing-runtime")

    def test_other_libraries_see_none_of_its_symbols(self):
        shown = self.python(
            "-c", "import ctypes, placewright as pw\n"
                  f"pw.plan({str(EXAMPLE)!r}, '4xP100', iterations=10)\n"
                  "of_all = ctypes.CDLL(None)\n"
                  "print('libmetis' in open('/proc/self/maps').read(),"
                  " [hasattr(of_all, name) for name in ('METIS_PartGraphKway', 'dgetrf_')])")
        self.assertEqual(shown, "True [False, False]\n")

    def test_reads_onnx_and_solves_linear_programs(self):
        (self.folder / "tiny.onnx").write_bytes(onnx_model())
        self.python("-c", "import placewright as pw; pw.plan('tiny.onnx', '2xV100', iterations=1)")
        said(BARE / "bin" / "placewright", "plan", EXAMPLE, "-c", "4xP100", "--algo", "m-sct",
             "--no-store", "-o", self.plan)


# One process that plans (METIS, protobuf, Clp) and computes with PyTorch, whichever comes first.
TOGETHER = """
import sys
def plan():
    import placewright as pw
    times = [pw.plan({example!r}, "4xP100", algorithm=name, iterations=50, seed=1).step_time
             for name in ("auto", "m-sct")]
    return times + [pw.plan({onnx!r}, "2xV100", iterations=1).step_time]
def compute():
    import torch
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    loss = model(torch.ones(8, 64)).sum() + torch.linalg.inv(torch.eye(50) * 2).sum()
    loss.backward()
    return [loss.item(), model[0].weight.grad.sum().item()]
turns = {{"plan": plan, "compute": compute}}
print([turns[turn]() for turn in sys.argv[1:]])
"""

RECORDED = """
import torch, placewright as pw
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loss = torch.nn.CrossEntropyLoss()
x, y = torch.randn(8, 12), torch.randint(0, 4, (8,))
step = pw.record(model, x, optimizer=optimizer, loss=loss, targets=y, batch=8)
plan = pw.plan(step, "2xV100", algorithm="single")
train = pw.apply(plan, model, optimizer)
ours = [float(train(x, y)) for _ in range(3)]
theirs = []
for _ in range(3):
    optimizer.zero_grad()
    value = loss(model(x), y)
    value.backward()
    optimizer.step()
    theirs.append(float(value))
print(max(abs(a - b) for a, b in zip(ours, theirs)) < 1e-6, ours, theirs)
"""


def has_torch():
    """PyTorch of the Python whose packages are installed in BARE, from 2.0 on; else None."""
    ask = "import sys, torch; print(sys.version_info[:2], torch.__version__)"
    done = subprocess.run([TORCH_PYTHON, "-c", ask], capture_output=True, text=True, check=False)
    bare = said(BARE / "bin" / "python", "-c", "import sys; print(sys.version_info[:2])").strip()
    if done.returncode != 0 or not done.stdout.startswith(bare):
        return None
    return done.stdout.removeprefix(bare).strip()


class BesidePyTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.version = has_torch()
        if cls.version is None:
            raise unittest.SkipTest(f"{TORCH_PYTHON} has no PyTorch, or is another Python")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        packages = said(BARE / "bin" / "python", "-c",
                        "import placewright; print(placewright.__path__[0])").strip()
        self.env = environment(PYTHONPATH=str(pathlib.Path(packages).parent))

    def test_either_may_be_imported_first(self):
        onnx = self.folder / "tiny.onnx"
        onnx.write_bytes(onnx_model())
        code = TOGETHER.format(example=str(EXAMPLE), onnx=str(onnx))

        def turns(*words):
            return json.loads(said(TORCH_PYTHON, "-c", code, *words, env=self.env))

        plan, compute = turns("plan")[0], turns("compute")[0]
        self.assertEqual(turns("plan", "compute", "plan"), [plan, compute, plan])
        self.assertEqual(turns("compute", "plan", "compute"), [compute, plan, compute])

    @unittest.skipIf("PLACEWRIGHT_PROGRAM" not in os.environ, "no program of the source tree")
    def test_the_source_trees_program_in_turn(self):
        program = os.environ["PLACEWRIGHT_PROGRAM"]
        code = ("import subprocess, sys, placewright as pw\n"
                f"first = pw.plan({str(EXAMPLE)!r}, '4xP100', iterations=50, seed=1).step_time\n"
                f"subprocess.run([{program!r}, 'capture', 'mlp', '--batch', '8', '-q', '-o', "
                "'mlp.json.gz'], check=True, stdout=subprocess.DEVNULL)\n"
                "pw.plan('mlp.json.gz', '2xV100', iterations=10)\n"
                f"second = pw.plan({str(EXAMPLE)!r}, '4xP100', iterations=50, seed=1).step_time\n"
                "print(first == second)")
        self.assertEqual(said(TORCH_PYTHON, "-c", code, env=self.env, cwd=self.folder), "True\n")

    def test_records_plans_and_applies(self):
        if int(self.version.split(".")[0]) < 2:
            self.skipTest(f"apply needs PyTorch 2, this is {self.version}")
        self.assertTrue(said(TORCH_PYTHON, "-c", RECORDED, env=self.env).startswith("True"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
