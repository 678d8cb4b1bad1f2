"""Planned steps under apply, on 2 and 4 Gloo ranks of this machine: five steps with fresh batches
leave what the user's own loop leaves. PLACEWRIGHT_LONG: all models under all strategies."""

from support import PROGRAM, SKIPPED, SOURCE, VERSION  # first

import importlib.util
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
from apply_models import KINDS, SAMPLES
from placewright.applied import plan_files
from placewright.applied.exchanges import COMPILES_TRANSFERS
from placewright_export import export

RECORD = SOURCE / "bench" / "records" / "apply.jsonl"
CLUSTER = "hosts:\n  - {gpus: %d x H100}\nname: several\n"
EXACT, SINGLE = 1e-9, 1e-5
COMPARED = ("losses", "weights", "optimizer", "groups")
USAGE, BAD_FILE = 2, 3  # exit statuses of the program


def installed(library):
    return importlib.util.find_spec(library) is not None


def there(model):
    """Whether the library that it is of is installed."""
    needs = KINDS[model].needs
    return not needs or installed(needs)


def differs(case, result):
    """What of a result is not as in the user's own loop; "" if it is equal."""
    # Losses that are computed in float32, whatever the weights are.
    kind = KINDS[case["model"]]
    exact = case["dtype"] == "float64" and kind.exact
    exact = exact and (kind.exact_compiled or not case.get("compile"))
    apart = {what: result[what] for what in COMPARED
             if not result[what] <= (EXACT if exact else SINGLE)}
    if result["untouched"] != 0:
        apart["the user's model"] = result["untouched"]
    if not result["moved"] > 1e-3:  # equal to what was not trained
        apart["moved"] = result["moved"]
    return ", ".join(f"{what}: {distance:.3g}" for what, distance in apart.items())


class ApplyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.steps, cls.groups = {}, {}

    def program(self, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              check=False)

    def recorded(self, model, optimizer, dtype="float64"):
        key = model, optimizer, dtype
        if key not in self.steps:
            path = self.folder / f"{model}-{optimizer}-{dtype}.json.gz"
            user = apply_cases.Training({"model": model, "optimizer": optimizer, "dtype": dtype})
            inputs, loss, targets = user.inputs()
            export(user.model, inputs, loss, user.optimizer, path, targets=targets, batch=SAMPLES)
            self.steps[key] = path
        return self.steps[key]

    def planned(self, step, ranks, *options):
        """A plan of a recorded step for as many devices; None if the planner refuses."""
        cluster = self.folder / f"{ranks}.yaml"
        cluster.write_text(CLUSTER % ranks)
        number = len(list(self.folder.glob("*.plan.json")))
        plan = self.folder / f"p{number}.plan.json"
        run = self.program("plan", step, "-c", cluster, *options, "-o", plan)
        self.refusal = run.stderr
        self.assertIn(run.returncode, (0, USAGE, BAD_FILE), run.stdout + run.stderr)
        return None if run.returncode else str(plan)

    def case(self, model, optimizer, strategy, ranks=2, dtype="float64", seed=0, **more):
        """A row of apply_cases with its plan. `seed`: of any layouts."""
        step = self.recorded(model, optimizer, dtype)
        devices = [f"host0/gpu{i}" for i in range(ranks)]
        for options in self.options_of(strategy, model, step, devices, seed):
            plan = self.planned(step, ranks, *options)
            if plan and plan_files.read(plan).devices == devices:
                return {"model": model, "optimizer": optimizer, "strategy": strategy,
                        "ranks": ranks, "dtype": dtype, "plan": plan, **more}
        self.fail(f"no plan of {strategy} for {model} uses {ranks} devices: {self.refusal}")

    def options_of(self, strategy, model, step, devices, seed):
        """What is tried in turn until the planner takes it and uses all devices."""
        if strategy == "by hand":
            yield self.layouts(apply_cases.layouts_by_hand(model, devices))
        elif strategy == "any layouts":
            axes = json.loads(self.program("inspect", step, "--axes", "--json").stdout)
            for tried in range(20):
                yield self.layouts(apply_cases.random_layouts(axes, devices, 100 * seed + tried))
        elif strategy == "layout-search":
            for tried in range(10):
                yield *apply_cases.STRATEGIES[strategy], "--seed", tried
        else:
            yield (apply_cases.STRATEGIES | apply_cases.REWRITTEN)[strategy]

    def layouts(self, content):
        path = self.folder / f"layouts{len(list(self.folder.glob('layouts*')))}.json"
        path.write_text(json.dumps(content))
        return "--layouts", str(path)

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

    def compare(self, cases):
        """Each rank's distances from the user's own loop, which are small. By number of ranks, in
        which the cases are put."""
        found = {}
        for ranks in dict.fromkeys(case["ranks"] for case in cases):
            own = [case for case in cases if case["ranks"] == ranks]
            found[ranks] = self.on_ranks(ranks, own)
            for rank, results in enumerate(found[ranks]):
                for case, result in zip(own, results):
                    self.compare_one(rank, case, result)
        return found

    def compare_one(self, rank, case, result):
        said = {key: value for key, value in case.items() if key != "plan"}
        with self.subTest(rank=rank, **said):
            if os.environ.get("APPLY_VERBOSE"):
                print(rank, said, result, flush=True)
            self.assertEqual(differs(case, result), "")

    def test_data_parallel(self):
        """All optimizers; float32; from step 2; with a scheduler of rates."""
        cases = [self.case("perceptron", optimizer, "data-parallel")
                 for optimizer in apply_cases.OPTIMIZERS]
        cases.append(self.case("perceptron", "adamw", "data-parallel", dtype="float32"))
        cases.append(self.case("perceptron", "adamw", "data-parallel", begun=2))
        cases.append(self.case("perceptron", "momentum", "data-parallel", schedule=True, begun=2))
        cases.append(self.case("images", "adamw", "data-parallel", 4))
        self.compare(cases)

    def test_strategies(self):
        cases = [self.case("perceptron", "adam", strategy, ranks)
                 for strategy in apply_cases.SEVERAL for ranks in (2, 4)]
        cases += [self.case("images", optimizer, strategy) for strategy, optimizer in (
            ("parameter-server", "adam"), ("placed", "adamw"), ("layout-search", "momentum"),
            ("by hand", "momentum"), ("fsdp", "adamw"))]
        self.compare(cases)

    def test_any_layouts(self):
        self.compare([self.case(model, optimizer, "any layouts", ranks, seed=seed)
                      for seed, (model, optimizer) in enumerate((
                          ("perceptron", "adam"), ("images", "momentum"), ("images", "adamw"),
                          ("perceptron", "sgd"))) for ranks in (2, 4)])

    def test_models_that_people_train(self):
        """The whole of each in the long test."""
        rows = [("clicks", "by hand", "adamw", 0.1), ("llama", "expert-hybrid", "adamw", None),
                ("llama", "fsdp", "adamw", 0.1), ("llama", "tensor", "adamw", None),
                ("llama", "placed", "adamw", None), ("vit", "by hand", "momentum", 0.1),
                ("mixtral", "data-parallel", "adamw", 0.1),
                ("translation", "parameter-server", "momentum", 0.1)]
        cases = [self.case(model, optimizer, strategy, clip=clip, schedule=True)
                 for model, strategy, optimizer, clip in rows if there(model)]
        if there("routed mixtral") and hasattr(torch, "_grouped_mm"):
            cases.append(self.case("routed mixtral", "adamw", "experts", dtype="float32", clip=0.1))
        self.compare(cases)

    def test_clipped(self):
        """Below the norm that gradients have: about 1 and more."""
        cases = [self.case("perceptron", "momentum", strategy, clip=0.1) for strategy in (
            "data-parallel", "parameter-server", "placed", "any layouts")]
        cases.append(self.case("images", "sgd", "data-parallel", clip=0.1))
        self.compare(cases)

    def test_compiled(self):
        cases = [self.case("perceptron", optimizer, "data-parallel", compile=True)
                 for optimizer in ("adam", "momentum")]
        for results in self.compare(cases)[2]:
            self.assertEqual([result["graphs"] for result in results], [1, 1])  # not one a step
        placed = self.case("perceptron", "adam", "placed")
        if COMPILES_TRANSFERS:
            self.compare([{**placed, "compile": True}])
        else:
            self.refuse(2, [{**placed, "refused": "not-supported", "names": "does not compile",
                             "options": {"compile": True}}])

    def test_dropout(self):
        """Masks are the counted ones, whatever the plan is."""
        self.compare([self.case("dropout", "adam", strategy, ranks, begun=begun)
                      for strategy, ranks, begun in (("data-parallel", 2, 0), ("by hand", 4, 2))])

    def test_rewritten(self):
        """Micro-batches, activations computed again, stages of a pipeline; masks are those of the
        whole batch."""
        cases = [self.case("dropout", "adam", "micro-batches", begun=2)]
        cases += [self.case("llama", "adamw", strategy, ranks, clip=0.1)
                  for strategy, ranks in (("recomputed", 2), ("fsdp in parts", 2), ("1f1b", 2),
                                          ("zb-h1", 2), ("1f1b", 4), ("3d", 4)) if there("llama")]
        self.compare(cases)

    def test_placed_ops_of_a_rewritten_step(self):
        """Micro-batches and activations computed again, where each op lies on one device."""
        cases = [self.case("dropout", "adam", "placed in parts", begun=2)]
        if there("llama"):
            cases.append(self.case("llama", "adamw", "placed, recomputed", clip=0.1))
        self.compare(cases)

    def test_wider_parameters(self):
        """As fully_shard with MixedPrecisionPolicy: the model has the type that the plan keeps, and
        computes in the one in which it was recorded."""
        both = {"dtype": "float32", "wider": "float64", "clip": 0.1, "begun": 2}
        cases = [self.case("perceptron", "adam", strategy, **both)
                 for strategy in ("wider", "wider, placed")]
        if there("llama"):
            cases.append(self.case("llama", "adamw", "wider", **both))
        cases.append({**cases[0], "options": {"update": "own"}})
        self.compare(cases)
        self.refuse(2, [{**cases[0], "wider": None, "refused": "plan-mismatch",
                         "names": "mixed_precision"}])

    def test_in_lanes(self):
        """A plan whose files are those of one device of each class, five devices a rank."""
        case = self.case("perceptron", "adam", "in lanes", 20, samples=40)
        self.assertIn("lanes", json.loads(pathlib.Path(case["plan"]).read_text()))
        self.compare([{**case, "ranks": 4, "options": {"devices": ["cpu"] * 5}}])

    def test_offloaded(self):
        """Activations that lie in host memory between the passes; one process has all devices."""
        if not there("llama"):
            self.skipTest("needs transformers")
        step = self.recorded("llama", "adamw")
        cluster = self.folder / "desk.yaml"
        cluster.write_text("hosts:\n  - {gpus: 2 x H100, cpus: EPYC-7763, memory: 64 GiB}\n")
        plan = self.folder / "desk.plan.json"
        run = self.program("plan", step, "-c", cluster, "--algo", "offload", "--offload",
                           "model.layers.0*", "-o", plan)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("host0/cpu0", plan_files.read(plan).devices)
        case = {"model": "llama", "optimizer": "adamw", "dtype": "float64", "plan": str(plan),
                "options": {"devices": ["cpu"] * 3}}
        self.compare_one(0, case, apply_cases.compared(case))

    def test_resumed_under_another_plan(self):
        """Three steps under one plan, two under another on more ranks: the five of the own loop."""
        both = {"model": "images", "optimizer": "adamw", "schedule": True}
        self.compare_resumed([({**both, "strategy": "data-parallel", "ranks": 2, "until": 3},
                               {**both, "strategy": "any layouts", "ranks": 4, "begun": 3})])

    def compare_resumed(self, pairs):
        firsts, seconds = [], []
        for i, (first, second) in enumerate(pairs):
            kept = str(self.folder / f"kept{i}.pt")
            firsts.append(self.case(**first, keep=kept))
            seconds.append(self.case(**second, kept=kept))
        self.compare(firsts)
        self.compare(seconds)

    @unittest.skipUnless(apply_cases.LONG, "takes long")
    def test_all_strategies(self):
        self.compare_rows(apply_cases.grid())

    @unittest.skipUnless(apply_cases.LONG, "takes long")
    def test_all_compiled(self):
        self.compare_rows(apply_cases.compiled_grid())

    @unittest.skipUnless(apply_cases.LONG, "takes long")
    def test_all_resumed(self):
        for pair in apply_cases.resumed_grid():
            with self.subTest(pair=pair):
                self.skip_missing(pair[0]["model"])
                self.compare_resumed([pair])

    def compare_rows(self, rows):
        """One after the other, so that one that fails is seen beside the others."""
        for row in rows:
            with self.subTest(row=row):
                self.skip_missing(row["model"])
                self.compare([self.case(**row)])

    def skip_missing(self, model):
        if not there(model):
            self.skipTest(f"{model} needs {KINDS[model].needs}")

    def test_the_grid_is_wide(self):
        """Each model, strategy and number of ranks meets all that a training may have."""
        rows = apply_cases.grid()
        for what in ("model", "strategy", "ranks"):
            for other in ("optimizer", "dtype", "clip", "schedule"):
                met = {(row[what], row[other]) for row in rows}
                self.assertEqual(len(met), len({row[what] for row in rows})
                                 * len({row[other] for row in rows}), (what, other))

    def test_the_record_is_of_the_grid(self):
        """What tools/record_apply has found are rows of today, each equal to the loop."""
        rows, seen = apply_cases.all_rows(), []
        for line in map(json.loads, RECORD.read_text().splitlines()):
            with self.subTest(rows=line["rows"], torch=line["versions"]["torch"]):
                self.assertIn(line["rows"], rows)
                self.assertEqual(line["failed"], "")
                self.assertEqual(differs(line["rows"][-1], line["apart"]), "")
                seen.append((line["versions"]["torch"], line["rows"]))
                self.assertEqual(seen.count(seen[-1]), 1)

    def test_other_optimizers(self):
        """On one device, from step 0."""
        for optimizer in apply_cases.OTHER_OPTIMIZERS:
            with self.subTest(optimizer=optimizer):
                case = self.case("perceptron", optimizer, "single", 1)
                result = apply_cases.compared(case)
                self.assertLessEqual(max(result[what] for what in ("losses", "weights", "optimizer",
                                                                   "groups")), EXACT, result)
                self.assertGreater(result["moved"], 1e-3)

    def test_one_device(self):
        """Without a process group."""
        case = self.case("perceptron", "adamw", "single", 1)
        result = apply_cases.compared(case)
        self.assertLessEqual(max(result["losses"], result["weights"], result["optimizer"]), EXACT)
        self.assertGreater(result["moved"], 1e-3)

    def test_shares_no_memory(self):
        """Neither the pieces nor what is gathered lies where the user's tensors lie."""
        from placewright import apply
        case = self.case("images", "momentum", "single", 1)
        user = apply_cases.Training(case)
        user.step(0)
        model, optimizer = user.model, user.optimizer
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
        good = self.case("perceptron", "adam", "data-parallel")
        four = self.case("perceptron", "adam", "data-parallel", 4)
        changed = pathlib.Path(good["plan"]).with_name("changed.plan.json")
        plan = json.loads(pathlib.Path(good["plan"]).read_text())
        plan["step"]["sha256"] = "0" * 64
        changed.write_text(json.dumps(plan))
        self.refuse(2, [
            {**good, "refused": "plan-mismatch", "names": "first.weight", "as": "images"},
            {**good, "refused": "plan-mismatch", "names": "second.weight", "reshaped": True},
            {**good, "refused": "plan-mismatch", "names": "SGD", "with": "momentum"},
            {**good, "refused": "plan-mismatch", "names": "weight_decay", "decayed": True},
            {**good, "refused": "plan-mismatch", "names": "model.module", "wrapped": True},
            {**good, "refused": "argument", "names": "the class Adam", "optimizer_class": True},
            {**good, "refused": "plan-mismatch", "names": "compiled", "plan": str(changed)},
            {**good, "refused": "file-unreadable", "names": "missing", "plan": "missing.plan.json"},
            {**good, "refused": "file-unreadable", "names": "missing",
             "plan_of_others": "missing.plan.json"},
            {**good, "refused": "plan-mismatch", "names": "rank 1 has another plan",
             "plan_of_others": self.case("perceptron", "adam", "placed")["plan"]},
            {**good, "refused": "plan-mismatch", "names": "other weights", "other_weights": True},
            {**four, "refused": "rank-count", "names": "4 devices"},
            {**good, "refused": "batch", "names": "[6, 12]", "short": True}])

    def test_no_process_group(self):
        case = self.case("perceptron", "adam", "data-parallel")
        result = apply_cases.refused(case)
        self.assertEqual(result["code"], "no-process-group", result["text"])
        self.assertEqual(result["untouched"], 0)


if __name__ == "__main__":
    unittest.main()
