"""Every script of docs/from-your-training-script.md runs on two Gloo ranks of this machine, and
what a script becomes trains to the weights of what it was."""

from support import PROGRAM, SKIPPED, SOURCE, VERSION  # first

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

if VERSION < (2, 6):
    print(f"SKIPPED: PyTorch {torch.__version__} is older than 2.6, which apply needs")
    sys.exit(SKIPPED)

import package_support  # noqa: E402, F401  (ends the test where the package's core is not built)

sys.path.insert(0, str(SOURCE / "tests" / "docs"))
import markdown  # noqa: E402

PAGE = SOURCE / "docs" / "from-your-training-script.md"
EPSILON = 1e-5


class TrainingScriptTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.scripts = {}
        for block in markdown.blocks(PAGE.read_text()):
            name = block.lines[0].removeprefix("# ")
            if name.endswith(".py"):
                cls.scripts[name] = block.text()
                (cls.folder / name).write_text(block.text())
        commands = [command for block in markdown.blocks(PAGE.read_text())
                    for _, command in block.commands()]
        for command in commands:
            cls.call([PROGRAM, *command.split()[1:]])
        cls.call([sys.executable, "plan.py"])
        cls.weights = {}

    @classmethod
    def call(cls, words):
        environment = {**os.environ, "PYTHONPATH": str(SOURCE / "python"), "OMP_NUM_THREADS": "1",
                       "PLACEWRIGHT_PROGRAM": PROGRAM}
        done = subprocess.run(words, cwd=cls.folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=600)
        if done.returncode != 0:
            raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout[-4000:]}")

    def weights_of(self, script):
        """What the script saves, run once on two ranks."""
        if script not in self.weights:
            saved = self.folder / "weights.pt"
            saved.unlink(missing_ok=True)
            self.call([sys.executable, "-m", "torch.distributed.run", "--standalone",
                       "--nproc-per-node", "2", script])
            self.weights[script] = torch.load(saved)
        return self.weights[script]

    def check_equal(self, before, after):
        """And far from the weights that the training begins with."""
        found, wanted = self.weights_of(after), self.weights_of(before)
        parts = {}
        exec(self.scripts["parts.py"], parts)
        first = parts["make_model"]().state_dict()
        self.assertEqual(list(found), list(first))
        self.assertEqual(list(wanted), list(first))
        for name, value in first.items():
            self.assertLessEqual((found[name] - wanted[name]).abs().max().item(), EPSILON, name)
            self.assertGreater((found[name] - value).abs().max().item(), 100 * EPSILON, name)

    def test_every_script_is_tested(self):
        tested = {"parts.py", "plan.py", "ddp_before.py", "ddp_after.py", "fsdp_before.py",
                  "accelerate_before.py", "accelerate_after.py", "lightning_before.py",
                  "lightning_after.py"}
        self.assertEqual(set(self.scripts), tested)

    def test_ddp(self):
        self.check_equal("ddp_before.py", "ddp_after.py")

    def test_fsdp(self):
        self.check_equal("fsdp_before.py", "ddp_after.py")

    @unittest.skipUnless(importlib.util.find_spec("accelerate"), "needs accelerate")
    def test_accelerate(self):
        self.check_equal("accelerate_before.py", "accelerate_after.py")

    @unittest.skipUnless(importlib.util.find_spec("lightning"), "needs lightning")
    def test_lightning(self):
        self.check_equal("lightning_before.py", "lightning_after.py")


if __name__ == "__main__":
    unittest.main()
