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
from placewright.applied.exchanges import COMPILES_TRANSFERS
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
        cls.steps, cls.groups = {}, {}

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
        return {"model": model, "optimizer": optimizer, "dtype": str(dtype)[6:],
                "options_": options, "plan": self.planned(step, ranks, *options), **more}

    def on_ranks(self, ranks, cases):
        """What each rank says of each case; the ranks of a number stay for all tests."""
        if ranks not in self.groups:
            self.groups[ranks] = apply_cases.Ranks(ranks)
            self.addClassCleanup(self.groups[ranks].end)
        try:
            return self.groups[ranks].run(cases)
        except BaseException:
            self.groups.pop(ranks).kill()
            raise

    def compare(self, ranks, cases):
        """Each rank's distances from the user's own loop, which are small."""
        found = self.on_ranks(ranks, cases)
        for rank, results in enumerate(found):
            for case, result in zip(cases, results):
                with self.subTest(rank=rank, **{k: case[k] for k in ("model", "optimizer", "dtype",
                                                                     "options_")}):
                    if os.environ.get("APPLY_VERBOSE"):
                        print(rank, case["model"], case["optimizer"], case["options_"], result)
                    # Llama's loss is computed in float32, whatever its weights are.
                    exact = case["dtype"] == "float64" and case["model"] != "llama"
                    limit = EXACT if exact else SINGLE
                    for what in ("losses", "weights", "optimizer", "groups"):
                        self.assertLessEqual(result[what], limit, what)
                    self.assertEqual(result["untouched"], 0)
                    self.assertGreater(result["moved"], 1e-3)
        return found

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
        cases.append(self.case(2, "perceptron", "momentum", "--algo", "data-parallel",
                               schedule=True))
        for model, optimizer in (("perceptron", "adam"), ("images", "sgd")):
            cases.append(self.case(2, model, optimizer, "--algo", "layout-search",
                                   "--iterations", "50"))
        self.compare(2, cases)


    def test_layouts_by_hand(self):
        for ranks in (2, 4):
            cases = []
            for seed, (model, optimizer) in enumerate((
                    ("perceptron", "adam"), ("images", "momentum"), ("images", "adamw"),
                    ("perceptron", "sgd"))):
                step = self.recorded(model, optimizer)
                cases.append(self.case(ranks, model, optimizer, *self.layouts(step, ranks, seed)))
            self.compare(ranks, cases)

    def test_four_ranks(self):
        cases = [self.case(4, "images", "adamw", "--algo", algorithm)
                 for algorithm in ("data-parallel", "data-parallel-ps", "expert-hybrid")]
        cases.append(self.case(4, "images", "momentum", "--algo", "layout-search",
                               "--iterations", "50"))
        self.compare(4, cases)

    def test_clipped(self):
        """Below the norm that gradients have: about 1 and more."""
        cases = [self.case(2, "perceptron", "momentum", *options, clip=0.1) for options in (
            ("--algo", "data-parallel"), ("--algo", "data-parallel-ps"), ("--algo", "round-robin"),
            self.layouts(self.recorded("perceptron", "momentum"), 2, 7))]
        cases.append(self.case(2, "images", "sgd", "--algo", "data-parallel", clip=0.1))
        self.compare(2, cases)

    def test_compiled(self):
        cases = [self.case(2, "perceptron", optimizer, "--algo", "data-parallel", compile=True)
                 for optimizer in ("adam", "momentum")]
        for results in self.compare(2, cases):
            self.assertEqual([result["graphs"] for result in results], [1, 1])  # not one a step
        placed = self.case(2, "perceptron", "adam", "--algo", "round-robin")
        if COMPILES_TRANSFERS:
            self.compare(2, [{**placed, "compile": True}])
        else:
            self.refuse(2, [{**placed, "refused": "not-supported", "names": "does not compile",
                             "options": {"compile": True}}])

    def test_dropout(self):
        """Counted draws do not depend on the plan: 2 ranks and 4 draw the same."""
        losses = [self.on_ranks(ranks, [self.case(ranks, "dropout", "adam", "--algo",
                                                  "data-parallel", plain=True)])[0][0]["values"]
                  for ranks in (2, 4)]
        self.assertLessEqual(apply_cases.apart(*losses), EXACT)
        without = self.on_ranks(2, [self.case(2, "perceptron", "adam", "--algo", "data-parallel",
                                              plain=True)])[0][0]["values"]
        self.assertGreater(apply_cases.apart(losses[0], without), 1e-3)

    def test_resumed_under_another_plan(self):
        """Three steps under one plan, two under another: the five of the user's own loop."""
        first = self.case(2, "images", "adamw", "--algo", "data-parallel")
        layouts = self.layouts(self.recorded("images", "adamw"), 2, 3)
        second = self.case(2, "images", "adamw", *layouts)
        self.compare(2, [{**first, "then": second["plan"]}])

    def test_other_optimizers(self):
        """On one device, from step 0."""
        for optimizer in apply_cases.OTHER_OPTIMIZERS:
            with self.subTest(optimizer=optimizer):
                case = self.case(1, "perceptron", optimizer, "--algo", "layered")
                result = apply_cases.compared(case)
                self.assertLessEqual(max(result[what] for what in ("losses", "weights", "optimizer",
                                                                   "groups")), EXACT, result)
                self.assertGreater(result["moved"], 1e-3)

    def test_one_device(self):
        """Without a process group."""
        case = self.case(1, "perceptron", "adamw", "--algo", "layered")
        result = apply_cases.compared(case)
        self.assertLessEqual(max(result["losses"], result["weights"], result["optimizer"]), EXACT)
        self.assertGreater(result["moved"], 1e-3)

    def test_shares_no_memory(self):
        """Neither the pieces nor what is gathered lies where the user's tensors lie."""
        from placewright import apply
        case = self.case(1, "images", "momentum", "--algo", "layered")
        model, optimizer, loss = apply_cases.made("images", "momentum")
        apply_cases.trained("images", model, optimizer, loss, [apply_cases.batch("images", 0)])
        train = apply(case["plan"], model, optimizer)

        def memory(tensors):
            return {tensor.untyped_storage().data_ptr() for tensor in tensors}

        def tensors_of(state, update):
            return [*state.values(), *(value for slots in update["state"].values()
                                       for value in slots.values())]
        own = memory(tensors_of(model.state_dict(), optimizer.state_dict()))
        pieces = memory(train._state)
        gathered = memory(tensors_of(train.state_dict(), train.optimizer_state_dict()))
        self.assertGreater(len(own), 10)
        for one, other in ((own, pieces), (own, gathered), (pieces, gathered)):
            self.assertEqual(one & other, set())

    def refuse(self, ranks, cases):
        for rank, results in enumerate(self.on_ranks(ranks, cases)):
            for case, result in zip(cases, results):
                with self.subTest(rank=rank, refused=case["refused"]):
                    self.assertEqual(result["code"], case["refused"], result["text"])
                    self.assertIn(case["names"], result["text"])
                    self.assertEqual(result["untouched"], 0)

    def test_refused(self):
        good = self.case(2, "perceptron", "adam", "--algo", "data-parallel")
        four = self.case(4, "perceptron", "adam", "--algo", "data-parallel")
        changed = pathlib.Path(good["plan"]).with_name("changed.plan.json")
        plan = json.loads(pathlib.Path(good["plan"]).read_text())
        plan["step"]["sha256"] = "0" * 64
        changed.write_text(json.dumps(plan))
        self.refuse(2, [
            {**good, "refused": "plan-mismatch", "names": "first.weight", "as": "images"},
            {**good, "refused": "plan-mismatch", "names": "second.weight", "reshaped": True},
            {**good, "refused": "plan-mismatch", "names": "SGD", "with": "momentum"},
            {**good, "refused": "plan-mismatch", "names": "weight_decay", "decayed": True},
            {**good, "refused": "plan-mismatch", "names": "compiled", "plan": str(changed)},
            {**good, "refused": "file-unreadable", "names": "missing", "plan": "missing.plan.json"},
            {**good, "refused": "file-unreadable", "names": "missing",
             "plan_of_others": "missing.plan.json"},
            {**good, "refused": "plan-mismatch", "names": "rank 1 has another plan",
             "plan_of_others": self.case(2, "perceptron", "adam", "--algo", "round-robin")["plan"]},
            {**good, "refused": "plan-mismatch", "names": "other weights", "other_weights": True},
            {**four, "refused": "rank-count", "names": "4 devices"},
            {**good, "refused": "batch", "names": "[6, 12]", "short": True}])

    def test_no_process_group(self):
        case = self.case(2, "perceptron", "adam", "--algo", "data-parallel")
        result = apply_cases.refused(case)
        self.assertEqual(result["code"], "no-process-group", result["text"])
        self.assertEqual(result["untouched"], 0)

    @unittest.skipUnless(LLAMA, "needs transformers")
    def test_llama(self):
        cases = [self.case(2, "llama", "adamw", "--algo", algorithm) for algorithm in
                 ("data-parallel", "data-parallel-ps", "expert-hybrid", "round-robin")]
        cases.append(self.case(2, "llama", "sgd", "--algo", "layout-search", "--iterations", "50"))
        layouts = self.layouts(self.recorded("llama", "adamw"), 2, 5)
        cases.append(self.case(2, "llama", "adamw", *layouts))
        self.compare(2, cases)


if __name__ == "__main__":
    unittest.main()
