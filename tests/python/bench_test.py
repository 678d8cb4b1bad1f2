"""`python -m placewright.bench`: a plan's step under apply, beside its prediction and the user's
own step."""

from support import PROGRAM, SKIPPED, SOURCE, VERSION  # first

import contextlib
import functools
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import torch

if VERSION < (2, 6):
    print(f"SKIPPED: PyTorch {torch.__version__} is older than 2.6, which apply needs")
    sys.exit(SKIPPED)

from placewright import _measuring, bench

TRAIN = """\
import torch

def build(width=12, size=8, classes=4):
    model = torch.nn.Sequential(torch.nn.Linear(width, 16), torch.nn.ReLU(),
                                torch.nn.Linear(16, classes))
    return {"model": model, "example_inputs": torch.ones(size, width), "batch": size,
            "loss": torch.nn.CrossEntropyLoss(), "targets": torch.zeros(size, dtype=torch.int64),
            "optimizer": torch.optim.SGD(model.parameters(), lr=0.1)}

def named():
    parts = build()
    return {**parts, "targets": {"target": parts["targets"]}}

def frozen():
    return build()["model"], torch.ones(8, 12)

def broken():
    raise ValueError("no such folder")
"""
CLUSTER = "hosts:\n  - {gpus: 2 x H100}\nname: two\n"


class BenchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "train.py").write_text(TRAIN)
        (cls.folder / "two.yaml").write_text(CLUSTER)
        exporter = SOURCE / "python" / "placewright_export.py"
        for words in ([sys.executable, exporter, "train.py:build", "-o", "step.json.gz"],
                      [PROGRAM, "plan", "step.json.gz", "-c", "two.yaml", "--algo", "single",
                       "-o", "one.plan.json"],
                      [PROGRAM, "plan", "step.json.gz", "-c", "two.yaml", "--algo",
                       "data-parallel", "-o", "two.plan.json"]):
            subprocess.run([str(word) for word in words], cwd=cls.folder, check=True,
                           capture_output=True)

    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def bench(self, *words):
        """Exit status and what is printed, in this process."""
        out, errors = io.StringIO(), io.StringIO()
        threads = torch.get_num_threads()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            status = bench.main(words)
        torch.set_num_threads(threads)
        return status, out.getvalue(), errors.getvalue()

    def measured(self, *words):
        status, out, errors = self.bench(*words, "--json")
        self.assertEqual(status, 0, out + errors)
        return json.loads(out)

    def check_times(self, found):
        self.assertLess(0, found["p10"])
        self.assertLessEqual(found["p10"], found["median"])
        self.assertLessEqual(found["median"], found["p90"])

    def test_one_rank(self):
        """Losses are those of the user's loop; what is predicted is the plan's."""
        found = self.measured("one.plan.json", "train.py:build", "--steps", "3", "--turns", "2",
                              "--beside", "eager", "--threads", "1")
        plan = json.loads((self.folder / "one.plan.json").read_text())
        self.assertEqual(found["schema"], "placewright.bench-apply/1")
        self.assertEqual((found["steps"], found["turns"], found["dropped"], found["threads"]),
                         (6, 2, 5, 1))
        self.assertEqual(found["predicted"]["step_time_ns"], plan["step_time_ns"])
        self.assertEqual(found["cost_sources"], plan["cost_sources"])
        self.assertEqual(found["loss"], self.losses_of_loop(11))
        self.check_times(found["step_time_ns"])
        self.assertEqual([one["kind"] for one in found["beside"]], ["eager"])
        for one in found["beside"]:
            self.check_times(one["step_time_ns"])
            self.check_times(one["ratio"])
            self.check_times(one["processor_ratio"])
        rank, = found["ranks"]
        self.assertEqual(rank["device"], "host0/gpu0")
        # 12 * 16 + 16 + 16 * 4 + 4 parameters of 4 bytes are there all the time.
        self.assertGreater(rank["peak_memory_bytes"], 276 * 4)
        self.assertLess(rank["peak_memory_bytes"], 3 * rank["predicted_peak_bytes"])

    def losses_of_loop(self, steps):
        parts = {}
        exec(TRAIN, parts)
        torch.manual_seed(0)
        built, losses = parts["build"](), []
        for _ in range(steps):
            built["optimizer"].zero_grad()
            loss = built["loss"](built["model"](built["example_inputs"]), built["targets"])
            loss.backward()
            built["optimizer"].step()
            losses.append(loss.item())
        return losses

    def test_two_ranks(self):
        """Every rank has its row, and rank 0 alone prints."""
        done = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
             "-m", "placewright.bench", "two.plan.json", "train.py:build", "--steps", "2",
             "--turns", "2", "--beside", "eager", "--json"], cwd=self.folder, check=False,
            env={**os.environ, "PYTHONPATH": str(SOURCE / "python"), "OMP_NUM_THREADS": "1"},
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([(one["rank"], one["device"]) for one in found["ranks"]],
                         [(0, "host0/gpu0"), (1, "host0/gpu1")])
        slower = max(one["step_time_ns"]["median"] for one in found["ranks"])
        self.assertGreaterEqual(found["step_time_ns"]["p90"], slower)
        for own, wanted in zip(found["loss"], self.losses_of_loop(9), strict=True):
            self.assertAlmostEqual(own, wanted, places=5)

    def test_text(self):
        status, out, errors = self.bench("one.plan.json", "train.py:build", "--steps", "1",
                                         "--turns", "1", "--beside", "eager")
        self.assertEqual((status, errors), (0, ""))
        lines = out.splitlines()
        for begin, words in ((0, "step on two, one rank"), (1, "step time  measured "),
                             (2, "           predicted "), (3, "loss       "),
                             (4, "beside     eager: ")):
            self.assertTrue(lines[begin].startswith(words), lines[begin])
        self.assertIn("host0/gpu0", lines[-1])

    def test_arguments_of_function_and_clip(self):
        """A narrower step is another one; gradients are clipped in both kinds of step."""
        _, out, _ = self.bench("one.plan.json", "train.py:build", "--set", "width=6", "--json")
        self.assertEqual(json.loads(out)["error"]["code"], "plan-mismatch")
        found = self.measured("one.plan.json", "train.py:named", "--steps", "1", "--turns", "1",
                              "--clip", "0.01", "--beside", "eager")
        self.assertGreater(found["loss"][-1], self.losses_of_loop(6)[-1])

    def test_own_update(self):
        """The optimizer's class updates, and the losses are those of the loop."""
        found = self.measured("one.plan.json", "train.py:build", "--steps", "1", "--turns", "2",
                              "--update", "own")
        for own, wanted in zip(found["loss"], self.losses_of_loop(7), strict=True):
            self.assertAlmostEqual(own, wanted, places=5)

    def test_refused(self):
        """Each with its exit status, code, and what to do."""
        cases = [(["missing.plan.json", "train.py:build"], 3, "file-unreadable"),
                 (["train.py", "train.py:build"], 3, "file-unreadable"),
                 (["step.plan", "train.py:build"], 3, "plan-invalid"),
                 (["one.plan.json", "train.py"], 2, "usage"),
                 (["one.plan.json", "hf:folder"], 2, "usage"),
                 (["one.plan.json", "train.py:build", "--set", "width"], 2, "usage"),
                 (["one.plan.json", "train.py:other"], 3, "not-recordable"),
                 (["one.plan.json", "missing.py:build"], 3, "not-recordable"),
                 (["one.plan.json", "train.py:broken"], 3, "not-recordable"),
                 (["one.plan.json", "train.py:frozen"], 3, "not-recordable"),
                 (["two.plan.json", "train.py:build"], 3, "no-process-group")]
        (self.folder / "step.plan").write_text("{}")
        for words, status, code in cases:
            with self.subTest(words=words):
                found, out, errors = self.bench(*words, "--json")
                self.assertEqual(found, status, out + errors)
                error = json.loads(out)["error"]
                self.assertEqual(error["code"], code)
                self.assertTrue(error["remedy"])
                self.assertIn(error["message"], errors)
        errors = io.StringIO()
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(errors):
            bench.main(["one.plan.json", "train.py:build", "--beside", "fast"])
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("\"fast\" is none of eager, compiled", errors.getvalue())


class MeasuringTest(unittest.TestCase):
    def test_compiled(self):
        """The user's step through torch.compile gives the losses of the loop."""
        parts = {}
        exec(TRAIN, parts)
        losses = []
        traced = functools.partial(torch.compile, backend="eager")
        for kind in ("eager", "compiled"):
            torch.manual_seed(0)
            built = parts["named"]()
            built.pop("batch")
            with unittest.mock.patch("torch.compile", traced):
                step = getattr(_measuring.UserStep(**built), kind)(0.5)
            losses.append([step().item() for _ in range(4)])
        self.assertEqual(*losses)
        self.assertLess(losses[0][-1], losses[0][0])

    def test_quantiles(self):
        """Of 1, 2, 3, 4 the median is between 2 and 3, a tenth at 1 + 0.3."""
        self.assertAlmostEqual(_measuring.quantile([4, 1, 3, 2], 0.5), 2.5)
        self.assertAlmostEqual(_measuring.quantile([4, 1, 3, 2], 0.1), 1.3)

    def test_ratios_are_of_turns(self):
        """6 / 3 and 8 / 2: a slow turn of both counts once, not as a slow kind."""
        found = _measuring.ratios([[6, 6, 6], [8, 8, 8]], [[3, 3, 3], [2, 2, 2]])
        self.assertEqual(found["median"], 3.0)

    def test_turns(self):
        """Kinds take turns, every other turn in reverse; warm-up has no times."""
        made = []

        def step_of(name):
            def step():
                made.append(name)
                return torch.zeros(())
            return step
        times, losses = _measuring.take_turns(
            ["a", "b"], {name: step_of(name) for name in "ab"}, steps=2, turns=2, warm_up=1,
            meet=lambda: None)
        self.assertEqual("".join(made), "ba" + "aabb" + "bbaa")
        self.assertEqual([len(turn) for turn in times["a"].clock], [2, 2])
        self.assertEqual(len(losses["a"]), 5)

    def test_peak(self):
        """Two tensors of 4,000 bytes at once beside the one that is held."""
        held = torch.zeros(1000)

        def step():
            first = held + 1
            second = first * 2
            del first
            return second.sum()
        peak = _measuring.peak_of_tensors(step, [held, held[10:]])
        self.assertGreaterEqual(peak, 12_000)
        self.assertLess(peak, 13_000)


if __name__ == "__main__":
    unittest.main()
