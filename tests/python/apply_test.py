"""Planned steps under apply, on 2 and 4 Gloo ranks of this machine: five steps with fresh batches
leave what the user's own loop leaves."""

from support import PROGRAM, SKIPPED, SOURCE, VERSION  # first

import json
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

import apply_cases
from placewright_export import export

try:
    import transformers  # noqa: F401
    LLAMA = True
except ImportError:
    print("without Llama: there is no transformers")
    LLAMA = False

CLUSTER = "hosts:\n  - {gpus: %d x H100}\nname: several\n"
EXACT, SINGLE = 1e-9, 1e-5


class ApplyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.steps = {}

    def program(self, *arguments):
        run = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout

    def recorded(self, model, optimizer, dtype=torch.float64):
        key = model, optimizer, dtype
        if key not in self.steps:
            path = self.folder / f"{model}-{optimizer}-{str(dtype)[6:]}.json.gz"
            built, update, loss = apply_cases.made(model, optimizer, dtype)
            given = apply_cases.batch(model, 0, dtype)
            if model == "llama":
                inputs, targets = {"input_ids": given[0], "labels": given[1]}, None
            else:
                inputs, targets = given[0], given[1]
            export(built, inputs, loss, update, path, targets=targets, batch=apply_cases.SAMPLES)
            self.steps[key] = path
        return self.steps[key]

    def planned(self, step, ranks, *options):
        """A plan of a recorded step that uses as many devices as there are ranks."""
        cluster = self.folder / f"{ranks}.yaml"
        cluster.write_text(CLUSTER % ranks)
        number = len(list(self.folder.glob("*.plan.json")))
        plan = self.folder / f"p{number}.plan.json"
        self.program("plan", step, "-c", cluster, *options, "-o", plan)
        return str(plan)

    def case(self, ranks, model, optimizer, *options, dtype=torch.float64, **more):
        step = self.recorded(model, optimizer, dtype)
        return {"model": model, "optimizer": optimizer, "dtype": str(dtype)[6:], "options_": options,
                "plan": self.planned(step, ranks, *options), **more}

    def on_ranks(self, ranks, cases):
        """What each rank says of each case, after all have ended."""
        path = self.folder / f"cases{ranks}-{len(list(self.folder.glob('cases*')))}.json"
        path.write_text(json.dumps(cases))
        torch.multiprocessing.spawn(apply_cases.rank_main, nprocs=ranks, join=True,
                                    args=(ranks, apply_cases.free_port(), str(path)))
        return [json.loads(pathlib.Path(f"{path}.{rank}").read_text()) for rank in range(ranks)]

    def compare(self, ranks, cases):
        for rank, results in enumerate(self.on_ranks(ranks, cases)):
            for case, result in zip(cases, results):
                with self.subTest(rank=rank, **{k: case[k] for k in ("model", "optimizer", "dtype",
                                                                     "options_")}):
                    if os.environ.get("APPLY_VERBOSE"):
                        print(rank, case["model"], case["optimizer"], case["options_"], result)
                    limit = EXACT if case["dtype"] == "float64" else SINGLE
                    for what in ("losses", "weights", "optimizer", "groups"):
                        self.assertLessEqual(result[what], limit, what)
                    self.assertEqual(result["untouched"], 0)
                    self.assertGreater(result["moved"], 1e-3)

    def layouts(self, step, ranks, seed):
        """A file of layouts by hand, any for each group."""
        said = json.loads(self.program("inspect", step, "--axes", "--json"))
        path = self.folder / f"layouts{ranks}-{seed}-{step.stem}.json"
        path.write_text(json.dumps(apply_cases.random_layouts(
            said, [f"host0/gpu{i}" for i in range(ranks)], seed)))
        return "--layouts", str(path)

    def test_two_ranks(self):
        cases = [self.case(2, "perceptron", optimizer, "--algo", "data-parallel")
                 for optimizer in apply_cases.OPTIMIZERS]
        cases.append(self.case(2, "perceptron", "adamw", "--algo", "data-parallel",
                               dtype=torch.float32))
        for algorithm in ("data-parallel-ps", "expert-hybrid", "round-robin", "layered"):
            cases.append(self.case(2, "perceptron", "adam", "--algo", algorithm))
        cases.append(self.case(2, "images", "momentum", "--algo", "data-parallel"))
        cases.append(self.case(2, "images", "adam", "--algo", "data-parallel-ps"))
        cases.append(self.case(2, "images", "adamw", "--algo", "round-robin"))
        cases.append(self.case(2, "perceptron", "adamw", "--algo", "data-parallel", begun=2))
        cases.append(self.case(2, "perceptron", "momentum", "--algo", "data-parallel", schedule=True))
        for model, optimizer in (("perceptron", "adam"), ("images", "sgd")):
            cases.append(self.case(2, model, optimizer, "--algo", "layout-search",
                                   "--iterations", "50"))
        self.compare(2, cases)


    def test_layouts_by_hand(self):
        for ranks in (2, 4):
            cases = []
            for seed, (model, optimizer) in enumerate([("perceptron", "adam"), ("images", "momentum"),
                                                       ("images", "adamw"), ("perceptron", "sgd")]):
                step = self.recorded(model, optimizer)
                cases.append(self.case(ranks, model, optimizer, *self.layouts(step, ranks, seed)))
            self.compare(ranks, cases)

    def test_four_ranks(self):
        cases = [self.case(4, "images", "adamw", "--algo", algorithm)
                 for algorithm in ("data-parallel", "data-parallel-ps", "expert-hybrid")]
        cases.append(self.case(4, "images", "momentum", "--algo", "layout-search",
                               "--iterations", "50"))
        self.compare(4, cases)

    @unittest.skipUnless(LLAMA, "needs transformers")
    def test_llama(self):
        cases = [self.case(2, "llama", "adamw", "--algo", algorithm) for algorithm in
                 ("data-parallel", "data-parallel-ps", "expert-hybrid", "round-robin")]
        cases.append(self.case(2, "llama", "sgd", "--algo", "layout-search", "--iterations", "50"))
        cases += [self.case(2, "llama", "adamw", *self.layouts(self.recorded("llama", "adamw"), 2, 5))]
        self.compare(2, cases)


if __name__ == "__main__":
    unittest.main()
