"""import placewright: plans, their files and how they are shown, without PyTorch."""

import contextlib
import functools
import gzip
import html.parser
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from package_support import EXAMPLE, PackageTest

import placewright as pw
from placewright import _find
from placewright._program import text_of
from placewright.errors import InfeasibleError, InputError, NothingFoundError, UsageError

MOVES = 500
VOID = {"br", "hr"}


def program(*arguments):
    """What the program prints with --json."""
    run = subprocess.run([str(_find.program()), *arguments, "--json", "--quiet"],
                         capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


class Tags(html.parser.HTMLParser):
    """Every element that is opened is closed, in the reverse order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.wrong = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


WIDTH = 256


def linear(samples, layers=1):
    """A step of linear layers: x w^T of each, the gradients, and the updates."""
    def tensor(*shape, **more):
        slopes = [int(size == samples) for size in shape]
        return {"shape": list(shape), "dtype": "f32", **({"slopes": slopes} if any(slopes) else {}),
                **more}

    def op(name, target, phase, inputs, output, **more):
        return {"name": name, "target": target, "phase": phase, "inputs": inputs,
                "args": [f"%{i}" for i in range(len(inputs))], "outputs": [output],
                "scope": f"layers.{name.split('.')[0]}.linear", **more}
    forward, backward, update = [], [], []
    x, gradient = "input:x", "input:gradient"
    for i in range(layers):
        forward += [
            op(f"{i}.t", "aten.t.default", "fwd", [f"param:{i}.w"], tensor(WIDTH, WIDTH),
               alias="view"),
            op(f"{i}.mm", "aten.mm.default", "fwd", [x, f"{i}.t"], tensor(samples, WIDTH))]
        update.append(op(f"{i}.add_", "aten.add_.Tensor", "opt", [f"param:{i}.w", f"{i}.mm_1"],
                         tensor(WIDTH, WIDTH), kwargs={"alpha": -0.01}))
        x = f"{i}.mm"
    for i in reversed(range(layers)):
        read = f"{i - 1}.mm" if i > 0 else "input:x"
        backward += [
            op(f"{i}.t_1", "aten.t.default", "bwd", [gradient], tensor(WIDTH, samples),
               alias="view"),
            op(f"{i}.mm_1", "aten.mm.default", "bwd", [f"{i}.t_1", read], tensor(WIDTH, WIDTH))]
        if i > 0:
            backward.append(op(f"{i}.mm_2", "aten.mm.default", "bwd", [gradient, f"param:{i}.w"],
                               tensor(samples, WIDTH)))
            gradient = f"{i}.mm_2"
    weights = [tensor(WIDTH, WIDTH, name=f"param:{i}.w", kind="param") for i in range(layers)]
    return {
        "name": "linear", "batch": samples,
        "batch_proof": {"sizes": [samples, samples + 1, samples + 11]},
        "inputs": [*weights, tensor(samples, WIDTH, name="input:x", kind="input"),
                   tensor(samples, WIDTH, name="input:gradient", kind="input")],
        "ops": [*forward, *backward, *update],
        "outputs": [x, *(one["name"] for one in update)]}


def without_measurements(plan):
    """A plan file's object without how long the search took and where its files lie."""
    for key in ("seconds", "first_feasible_seconds", "history", "digest"):
        plan.pop(key, None)
    for key in ("costs", "schedule", "compiled", "step"):
        plan.get(key, {}).pop("path", None)
    return plan


class Planning(PackageTest):
    def test_a_plan_is_the_programs(self):
        plan = pw.plan(EXAMPLE, "4xP100", iterations=MOVES, seed=3)
        said = program("plan", str(EXAMPLE), "-c", "4xP100", "--iterations", str(MOVES),
                       "--seed", "3", "--no-store", "-o", str(self.folder / "a.plan.json"))
        self.assertEqual(plan.to_dict()["step_time_ns"], said["step_time_ns"])
        self.assertEqual(plan.step_time, said["step_time_ns"] / 1e9)
        self.assertEqual(plan.bound, said["lower_bound_ns"] / 1e9)
        self.assertEqual(plan.gap, said["gap"])
        self.assertEqual(plan.algorithm, said["algorithm"])
        self.assertEqual(plan.seed, 3)
        self.assertEqual([use.name for use in plan.devices],
                         [use["name"] for use in said["devices"]])
        self.assertEqual(plan.memory, {use["name"]: use["peak_memory_bytes"]
                                       for use in said["devices"]})
        self.assertEqual([one.algorithm for one in plan.baselines],
                         [one["algorithm"] for one in said["baselines"]])
        self.assertLessEqual(plan.step_time, min(b.step_time for b in plan.baselines if b.feasible))

    def test_strategies_are_those_that_the_program_names(self):
        plan = pw.plan(EXAMPLE, "4xP100", iterations=MOVES)
        shown = text_of(["plan", str(EXAMPLE), "-c", "4xP100", "--iterations", str(MOVES),
                         "--no-store", "-o", str(self.folder / "a.plan.json")])
        self.assertGreater(len(plan.strategies), 5)
        for one in plan.strategies:
            self.assertIn(str(one), shown)
        fitting = [one.step_time for one in plan.strategies if one.simulated and one.fits]
        self.assertLessEqual(plan.step_time, min(fitting))
        for one in plan.strategies:
            self.assertEqual(one.step_time is None, bool(one.why_not) and one.capacity == 0)
        self.assertIn(str(plan.strategies[0]), str(plan))
        self.assertIn("<summary>strategies", plan._repr_html_())

    def test_threads_never_change_the_plan_of_a_budget(self):
        one, two = (pw.plan(EXAMPLE, "4xP100", iterations=MOVES, threads=n) for n in (1, 2))
        self.assertEqual(one.placement, two.placement)
        self.assertEqual(one.step_time, two.step_time)

    def test_plans_of_whole_ops_place_every_op(self):
        plan = pw.plan(EXAMPLE, "4xP100", iterations=MOVES, space="placed")
        self.assertEqual(plan.space, "placed")
        self.assertIsNone(plan.compiled())
        names = {device.name for device in plan.cluster.devices}
        self.assertLessEqual(set(plan.placement.values()), names)
        self.assertEqual(sum(use.ops for use in plan.devices), sum(plan.step.ops.values()))

    def test_plans_that_split_ops_have_a_compiled_step(self):
        plan = pw.plan(EXAMPLE, "4xP100", algorithm="data-parallel")
        self.assertEqual(plan.space, "replicated")
        compiled = plan.compiled()
        devices = {op["device"] for op in compiled["ops"] if "device" in op}
        self.assertEqual(devices, {f"host0/gpu{i}" for i in range(4)})
        self.assertTrue(compiled["collectives"])

    def test_many_devices_that_do_alike_are_one(self):
        """The plan's files are of one device; what asks for all of them gets all."""
        step = self.folder / "linear.json"
        step.write_text(json.dumps(linear(64)))
        plan = pw.plan(step, "4x8xH100", algorithm="data-parallel")
        lanes = plan.to_dict()["lanes"]
        self.assertEqual([len(lane) for lane in lanes], [32])
        self.assertIn("host0-3/gpu0-7", plan.svg())
        self.assertEqual({use.busy for use in plan.devices if use.device_class == "gpu"},
                         {plan.devices[0].busy})
        self.assertEqual({op["device"] for op in plan.compiled()["ops"]}, set(lanes[0]))
        self.assertTrue(pw.check(plan)["ok"])
        self.assertEqual(pw.simulate(plan)["step_time_ns"], plan.to_dict()["step_time_ns"])

    def test_plans_that_an_engine_can_say(self):
        plan = pw.plan(EXAMPLE, "4xP100", for_engine="ddp", iterations=1)
        self.assertEqual(plan.algorithm, "ddp")
        with self.assertRaises(pw.errors.UsageError) as caught:
            pw.plan(EXAMPLE, "4xP100", for_engine="fsdp")
        self.assertIn("one of ddp, fsdp2, tp", str(caught.exception))
        with self.assertRaises(pw.errors.UsageError) as caught:
            pw.plan(EXAMPLE, "4xP100", for_engine="ddp", algorithm="heft")
        self.assertIn("argument algorithm", str(caught.exception))

    def test_a_plan_is_improved_from_another(self):
        first = pw.plan(EXAMPLE, "4xP100", algorithm="single")
        second = pw.plan(EXAMPLE, "4xP100", algorithm="local-search", iterations=MOVES,
                         initial=first)
        self.assertLess(second.step_time, first.step_time)
        by_name = pw.plan(EXAMPLE, "4xP100", algorithm="local-search", iterations=MOVES,
                          initial=first.placement)
        self.assertEqual(by_name.step_time, second.step_time)

    def test_constraints_hold(self):
        plan = pw.plan(EXAMPLE, "4xP100", iterations=MOVES, space="placed",
                       pin={"question*": "host0/gpu2"}, forbid={"passage*": "host0/gpu0"})
        devices = {row["name"]: {share["device"] for share in row["devices"]}
                   for row in pw.simulate(plan)["layers"]}
        self.assertEqual(devices["question"], {"host0/gpu2"})
        self.assertNotIn("host0/gpu0", devices["passage"])
        together = pw.plan(EXAMPLE, "4xP100", iterations=MOVES, space="placed", colocate="*")
        self.assertEqual(len(set(together.placement.values())), 1)

    def test_another_batch(self):
        step = pw.read(EXAMPLE)
        self.assertEqual(step.batch, 32)
        self.assertIsNone(step.why_one_batch)
        twice = step.at_batch(64)
        self.assertEqual(twice.batch, 64)
        plan = pw.plan(twice, "4xP100", algorithm="single")
        self.assertGreater(plan.step_time, pw.plan(step, "4xP100", algorithm="single").step_time)
        self.assertAlmostEqual(plan.samples_per_second, 64 / plan.step_time, places=6)
        self.assertEqual(pw.check(plan)["ok"], True)

    def test_what_does_not_fit(self):
        # 331.7 MiB lie there for the whole step, and 400 MiB of each card are the runtime's.
        self.refused(InfeasibleError, "infeasible", ["331.7 MiB", "host0/gpu0"],
                     pw.plan, EXAMPLE, self.two_gpus(400), iterations=MOVES)
        layouts = self.written("layouts.json", json.dumps({"layouts": [
            {"groups": "*", "devices": [{"name": "host0/gpu0"}], "option": "place"}]}))
        error = self.refused(NothingFoundError, "nothing-found", ["host0/gpu0", "855.0 MiB"],
                             pw.plan, EXAMPLE, self.two_gpus(900), layouts=layouts)
        self.assertFalse(error.plan.feasible)
        self.assertIn("does not fit", str(error.plan))
        self.refused(UsageError, "usage", ["does not fit"], error.plan.save, self.folder / "p.json")


class Rewriting(PackageTest):
    """Steps that a plan rewrites."""

    def test_the_remedy_of_what_does_not_fit_is_the_programs(self):
        # Cards that hold what two micro-batches need, and not what the whole batch does.
        plenty = self.two_gpus(8000)
        peaks = [max(use.peak_memory for use in pw.plan(
            self.wide, plenty, algorithm="fsdp", micro_batches=count).devices) for count in (1, 2)]
        self.assertLess(peaks[1] + (32 << 20), peaks[0])
        cards = self.two_gpus(int(sum(peaks) / 2 / 0.95) >> 20)
        error = self.refused(NothingFoundError, "nothing-found", ["fsdp does not fit"], pw.plan,
                             self.wide, cards, algorithm="fsdp", micro_batches=1)
        advice = re.search(r"; or micro_batches=2: it then fits, [0-9.]+ \w+ a step", error.remedy)
        self.assertTrue(advice, error.remedy)
        self.assertNotIn("more time", error.remedy)
        self.assertEqual(error.place, "device host0/gpu0")
        command = [_find.program(), "plan", self.wide, "-c", cards, "--algo", "fsdp", "--no-store",
                   "--json"]
        run = subprocess.run([*command, "--strategies", "off"], capture_output=True, text=True,
                             check=False)
        said = json.loads(run.stdout)["error"]
        self.assertEqual((run.returncode, said["place"]), (5, "device host0/gpu0"))
        self.assertIn(advice[0].replace("micro_batches=2", "--micro-batches 2"), said["remedy"])
        # What is not stated is chosen.
        chosen = pw.plan(self.wide, cards, algorithm="fsdp")
        self.assertTrue(chosen.feasible)
        self.assertIn({"accumulate": 2}, chosen.to_dict()["transforms"])
        self.assertIn("is rewritten so that it does: micro_batches=2 (", chosen.notes[0])
        run = subprocess.run([*command, "-o", self.folder / "chosen.plan.json"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0)
        self.assertIn("is rewritten so that it does: --micro-batches 2 (", run.stderr)
        planned = json.loads((self.folder / "chosen.plan.json").read_text())
        self.assertEqual(planned["step_time_ns"], round(chosen.step_time * 1e9))
        self.assertEqual(planned["transforms"], chosen.to_dict()["transforms"])
        self.refused(NothingFoundError, "nothing-found", ["fsdp does not fit"], pw.plan, self.wide,
                     cards, algorithm="fsdp", strategies=False)

    def setUp(self):
        super().setUp()
        self.step = self.written("step.json", json.dumps(linear(64, layers=6)))
        self.wide = self.written("wide.json", json.dumps(linear(1 << 18, layers=6)))
        self.unequal = self.written(
            "unequal.yaml", "name: unequal\ngpus: [{kind: H100, count: 1}, {kind: T4, count: 1}]\n")

    def test_plans_are_the_programs_transforms_and_all(self):
        for given, words, transforms in (
                ({"algorithm": "1f1b", "stage_layers": [1, 2, 3]},
                 ["--algo", "1f1b", "--stage-layers", "1,2,3"],
                 [{"accumulate": 8}, {"pipeline": {"schedule": "1f1b", "stages": 3, "chunks": 1,
                                                   "layers": [1, 2, 3]}}]),
                ({"pipeline": "interleaved", "stages": 2, "micro_batches": 4},
                 ["--pipeline", "interleaved", "--stages", "2", "--micro-batches", "4"],
                 [{"accumulate": 4},
                  {"pipeline": {"schedule": "interleaved", "stages": 2, "chunks": 2}}]),
                ({"algorithm": "fsdp", "settings": {"gpus": "P100-12GB"}, "micro_batches": 2},
                 ["--algo", "fsdp", "--set", "gpus=P100-12GB", "--micro-batches", "2"],
                 [{"accumulate": 2}])):
            with self.subTest(words=words):
                plan = self.same("4xP100", given, words)
                self.assertEqual([one for one in plan["transforms"] if one != "counted-draws"],
                                 transforms)

    def test_stages_of_unequal_gpus_are_the_programs(self):
        """The faster GPU has more layers, and the plan states how many."""
        plan = self.same(self.unequal, {"algorithm": "1f1b", "micro_batches": 2},
                         ["--algo", "1f1b", "--micro-batches", "2"])
        first, second = plan["transforms"][-1]["pipeline"]["layers"]
        self.assertGreater(first, second)
        self.assertEqual(first + second, 6)

    def same(self, cluster, given, words):
        """The plan file, which Python and the program write alike."""
        pw.plan(self.step, cluster, iterations=5, **given).save(self.folder / "ours.plan.json")
        program("plan", str(self.step), "-c", str(cluster), *words, "--iterations", "5",
                "--no-store", "-o", str(self.folder / "theirs.plan.json"))
        ours, theirs = (without_measurements(json.loads((self.folder / f"{name}.plan.json")
                                                        .read_text()))
                        for name in ("ours", "theirs"))
        self.assertEqual(ours, theirs)
        for name in ("ours", "theirs"):
            path = self.folder / f"{name}.plan.json"
            self.assertTrue(pw.check(path)["ok"])
            self.assertEqual(pw.simulate(path)["step_time_ns"], ours["step_time_ns"])
        return ours

    def test_a_step_that_is_rewritten_keeps_it(self):
        step = pw.read(self.step).rewritten(micro_batches=2)
        plan = pw.plan(step, self.unequal, algorithm="1f1b", iterations=5)
        directly = pw.plan(self.step, self.unequal, algorithm="1f1b", iterations=5,
                           micro_batches=2)
        self.assertEqual(plan.to_dict()["transforms"], directly.to_dict()["transforms"])
        self.assertEqual(plan.to_dict()["transforms"][-2], {"accumulate": 2})
        self.assertEqual(plan.step_time, directly.step_time)
        stated = step.rewritten(pipeline="1f1b", stage_layers=[4, 2], micro_batches=2)
        plan = pw.plan(stated, self.unequal, algorithm="1f1b", iterations=5)
        self.assertEqual(plan.to_dict()["transforms"][-1]["pipeline"]["layers"], [4, 2])

    def test_compare_names_strategies_that_can_be_planned(self):
        compared = pw.compare(self.step, "4xP100", iterations=20)
        self.assertIn("1f1b", {one.algorithm for one in compared.strategies})
        planned = [one for one in compared.strategies if one.simulated and one.fits]
        self.assertGreater(len(planned), 2)
        self.assertEqual([one.step_time for one in planned],
                         sorted(one.step_time for one in planned))
        for one in planned:
            with self.subTest(strategy=str(one)):
                plan = pw.plan(self.step, "4xP100", iterations=20, **one.arguments())
                self.assertAlmostEqual(plan.step_time, one.step_time, places=9)
                self.assertEqual(max(use.peak_memory for use in plan.devices), one.memory)
        for one in compared.strategies:
            if one.step_time is None:
                self.assertTrue(one.why_not)
        text = str(compared)
        self.assertIn(str(planned[0]), text)
        self.assertIn("strategy", text)
        self.assertEqual(compared._repr_html_().count("<table>"), 2)
        rewritten = pw.read(self.step).rewritten(micro_batches=2)
        self.assertEqual(pw.compare(rewritten, "4xP100", iterations=5).strategies, [])

    def test_what_cannot_be_asked_for(self):
        refused = functools.partial(self.refused, UsageError, "usage")
        refused(["of a pipeline"], pw.plan, self.step, "4xP100", stages=2)
        refused(["heft has no settings"], pw.plan, self.step, "4xP100", algorithm="heft",
                settings={"tensor": 2})
        refused(['"tensr"', "did you mean tensor"], pw.plan, self.step, "4xP100",
                algorithm="tensor", settings={"tensr": 2})
        self.refused(InputError, "transform", ["5,5 layers", "6 layers"], pw.plan, self.step,
                     "4xP100", algorithm="1f1b", stage_layers=[5, 5])
        step = pw.read(self.step)
        refused(["argument stages"], step.rewritten, pipeline="1f1b")
        refused(["argument stage_layers"], step.rewritten, stage_layers=[3, 3])
        refused(["argument chunks"], step.rewritten, chunks=2)


class Arguments(PackageTest):
    def test_each_is_named_with_what_it_takes(self):
        step = pw.read(EXAMPLE)
        for name, values in {
                "time": ["10s", -1, float("nan"), True, 1e30],
                "iterations": [1.5, -1, 2 ** 70, True], "seed": [-1, "a", 2 ** 64],
                "threads": [0, 5000, "2"], "algorithm": [None, "a\0b", "\ud800"],
                "progress": [3, "yes"], "space": ["plced", 3], "order": ["last", 1],
                "sfb": ["x", None], "precision": [8], "cost_profile": [None],
                "local_batch_norm": [1], "cost_store": [3, ""], "layouts": [3],
                "initial": [3, "single"],
                "pin": ["x", {"*": 3}, {3: "x"}], "forbid": [["x"]], "colocate": [3, [3]],
                "colocate_each": [{"a": 1}, b"x"], "settings": ["tensor=2", {"tensor": None}],
                "micro_batches": [0, "2"], "recompute": [3], "offload": [b"x"], "pipeline": [3],
                "stages": [0], "chunks": [1.5], "stage_layers": [3, "12", [], [0, 1]],
                "mixed_precision": [{"a": 1}]}.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    self.refused(UsageError, "usage", [f"argument {name}"], pw.plan, step,
                                 "4xP100", **{"iterations": 1, name: value})

    def test_names_that_there_are_not(self):
        step = pw.read(EXAMPLE)
        error = self.refused(UsageError, "usage", ['algorithm "auot"', "did you mean auto"],
                             pw.plan, step, "4xP100", algorithm="auot")
        self.assertNotIn("--", str(error))
        self.refused(UsageError, "usage", ['precision "fp8"'], pw.plan, step, "4xP100",
                     precision="fp8")
        self.refused(UsageError, "usage", ['"placed"'], pw.plan, step, "4xP100",
                     algorithm="data-parallel", space="placed")
        self.refused(InputError, "constraint", ["nomodule"], pw.plan, step, "4xP100",
                     pin={"nomodule": "host0/gpu0"})
        self.refused(InputError, "unknown-name", ['"a"'], pw.plan, step, "4xP100",
                     initial={"a": "host0/gpu0"})
        self.refused(InputError, "unknown-name", ["5xP100", "4xP100"], pw.Cluster, "5xP100")
        self.refused(InputError, "file-unreadable", ["/missing"], pw.plan, step, "4xP100",
                     cost_store="/missing")
        self.refused(UsageError, "usage", ["graph-cycle"], pw.explain, "grph-cycle")

    def test_steps_and_clusters(self):
        for value in (3, None, b"x", ""):
            with self.subTest(value=value):
                self.refused(UsageError, "usage", ["argument"], pw.plan, value, "4xP100")
                self.refused(UsageError, "usage", ["argument"], pw.plan, EXAMPLE, value)
                self.refused(UsageError, "usage", ["argument"], pw.read, value)
        missing = str(self.folder / "missing")
        self.refused(InputError, "file-unreadable", [missing], pw.read, missing)
        self.refused(InputError, "field", [str(EXAMPLE)], pw.Cluster, EXAMPLE)
        self.refused(UsageError, "usage", ["argument batch"], pw.read, EXAMPLE, batch=0)
        self.refused(UsageError, "usage", ["argument dimensions"], pw.read, EXAMPLE, dimensions=3)
        self.refused(UsageError, "usage", ["dimensions a=3"], pw.read, EXAMPLE, dimensions={"a": 3})
        broken = self.written("broken.json", "{")
        self.assertEqual(self.refused(InputError, "syntax", [], pw.read, broken).file, str(broken))

    def test_plans_of_other_functions(self):
        for function in (pw.check, pw.simulate):
            self.refused(UsageError, "usage", ["argument plan"], function, 3)
            self.refused(InputError, "file-unreadable", ["/missing"], function, "/missing")
        self.refused(InputError, "field", ["schema"], pw.check, EXAMPLE)


class Files(PackageTest):
    def test_a_saved_plan_is_what_the_program_writes(self):
        step = self.folder / "step.json.gz"
        shutil.copy(EXAMPLE, step)
        plan = pw.plan(step, "4xP100", algorithm="data-parallel", iterations=MOVES)
        path = plan.save(self.folder / "ours.plan.json")
        program("plan", str(step), "-c", "4xP100", "--algo", "data-parallel", "--iterations",
                str(MOVES), "--no-store", "-o", str(self.folder / "theirs.plan.json"))
        ours, theirs = (json.loads((self.folder / f"{name}.plan.json").read_text())
                        for name in ("ours", "theirs"))
        self.assertEqual(without_measurements(ours), without_measurements(theirs))
        self.assertEqual(ours["graph"]["path"], "step.json.gz")
        self.assertEqual(pw.check(path)["step_time_ns"], plan.to_dict()["step_time_ns"])
        for ending in ("costs.json", "schedule.json", "compiled.json.gz"):
            self.assertEqual((self.folder / f"ours.plan.{ending}").read_bytes(),
                             (self.folder / f"theirs.plan.{ending}").read_bytes(), ending)

    def test_paths_are_those_of_when_they_were_given(self):
        shutil.copy(EXAMPLE, self.folder / "step.json.gz")
        before = os.getcwd()
        try:
            os.chdir(self.folder)
            step = pw.read("step.json.gz")
        finally:
            os.chdir(before)
        self.assertEqual(step.path, pathlib.Path.cwd() / self.folder / "step.json.gz")
        self.assertTrue(pw.check(pw.plan(step, "4xP100", algorithm="single"))["ok"])

    def test_what_cannot_be_saved(self):
        step = self.folder / "step.json.gz"
        shutil.copy(EXAMPLE, step)
        plan = pw.plan(step, "4xP100", algorithm="single")
        self.refused(UsageError, "usage", ["argument path"], plan.save, 3)
        self.refused(UsageError, "usage", ["depends on"], plan.save, step)
        self.refused(InputError, "file-unwritable", [], plan.save, self.folder / "no" / "a.json")
        self.refused(InputError, "file-unwritable", [], plan.save, self.folder)
        step.write_bytes(step.read_bytes() + b"x")
        self.refused(InputError, "plan-mismatch", ["step has changed", str(step)], plan.save,
                     self.folder / "a.plan.json")
        self.assertEqual(os.listdir(self.folder), ["step.json.gz"])
        self.refused(InputError, "plan-mismatch", ["step has changed"], plan.step.at_batch, 64)

    def test_a_cluster_file_that_has_changed(self):
        cluster = self.two_gpus(8000)
        plan = pw.plan(EXAMPLE, cluster, algorithm="single")
        cluster.write_text(cluster.read_text() + "# more\n")
        self.refused(InputError, "plan-mismatch", ["cluster has changed"], plan.save,
                     self.folder / "a.plan.json")

    def test_steps_are_saved_as_they_are(self):
        step = pw.read(EXAMPLE)
        path = step.save(self.folder / "copy.json.gz")
        self.assertEqual(path.read_bytes(), EXAMPLE.read_bytes())
        self.assertEqual(step.path, path)
        self.refused(InputError, "file-unwritable", [], step.save, self.folder / "no" / "a")
        self.assertEqual(os.listdir(self.folder), ["copy.json.gz"])

    def test_an_edited_plan_is_refused(self):
        path = pw.plan(EXAMPLE, "4xP100", algorithm="single").save(self.folder / "a.plan.json")
        document = json.loads(path.read_text())
        document["step_time_ns"] -= 1
        path.write_text(json.dumps(document))
        self.refused(InputError, "plan-invalid", [], pw.check, path)


class Commands(PackageTest):
    def test_simulate_says_where_time_goes(self):
        plan = pw.plan(EXAMPLE, "4xP100", algorithm="single")
        said = pw.simulate(plan, memory=True)
        self.assertEqual(said["step_time_ns"], plan.to_dict()["step_time_ns"])
        self.assertEqual(sum(reason["time_ns"] for reason in said["reasons"]),
                         said["step_time_ns"])
        self.refused(UsageError, "usage", ["argument memory"], pw.simulate, plan, memory=1)

    def test_compare_has_the_fastest_first(self):
        compared = pw.compare(EXAMPLE, self.two_gpus(8000), iterations=20)
        times = [row.step_time for row in compared.rows if row.feasible]
        self.assertEqual(times, sorted(times))
        single = next(row for row in compared.rows if row.algorithm == "single")
        self.assertEqual(single.step_time,
                         pw.plan(EXAMPLE, self.two_gpus(8000), algorithm="single").step_time)
        self.assertIn("single", str(compared))
        self.assertIn("<table>", compared._repr_html_())

    def test_size_names_the_fewest_devices(self):
        said = pw.size(EXAMPLE, ["RTX4090"], counts=[1, 2])
        answer = said["rows"][said["answer"]]
        self.assertEqual((answer["kind"], answer["count"]), ("RTX-4090", 1))
        self.refused(InputError, "unknown-name", ["A100"], pw.size, EXAMPLE, ["A100"])
        self.refused(UsageError, "usage", ["no unit"], pw.size, EXAMPLE, ["H100"],
                     target="step=500")

    def test_what_if_says_what_changes_gain(self):
        said = pw.what_if(EXAMPLE, "2x4090")
        names = [change["change"] for change in said["changes"]]
        self.assertIn("one GPU fewer", names)
        self.assertEqual(said["base"]["batch"], pw.read(EXAMPLE).batch)

    def test_memory_says_what_fills_devices(self):
        plans = [pw.plan(EXAMPLE, "2xV100", algorithm="single"),
                 pw.plan(pw.read(EXAMPLE, batch=16), self.two_gpus(8000), algorithm="fsdp")]
        for plan in plans:
            said = pw.memory(plan)
            self.assertEqual(said["step_time_ns"], plan.to_dict()["step_time_ns"])
            for device in said["devices"]:
                self.assertEqual(sum(device["allocated"].values()), device["allocated_bytes"])
                self.assertLessEqual(device["allocated_bytes"], device["reserved_bytes"])
            path = plan.save(self.folder / "a.plan.json.gz")
            self.assertEqual(pw.memory(path)["devices"], said["devices"])
        broken = self.written("broken.plan.json", json.dumps({"graph": {"path": "x"}}))
        self.refused(InputError, "format-unknown", [str(broken)], pw.memory, broken)
        self.refused(InputError, "file-unreadable", [], pw.memory, self.folder / "missing")

    def test_a_configuration_is_planned_beside_the_best(self):
        file = self.written("ds_config.json", json.dumps({
            "zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 4}))
        found = pw.from_configuration(EXAMPLE, "4xP100", file)
        self.assertEqual((found.program, found.batch), ("DeepSpeed", 16))
        self.assertEqual((found.configured.algorithm, found.configured.micro_batches), ("fsdp", 1))
        self.assertLessEqual(found.best.step_time, found.configured.step_time)
        lines = [change.line for change in found.changes]
        self.assertIn("zero_optimization.stage = 2", lines)
        for change in found.changes:
            self.assertAlmostEqual(
                change.gain, found.configured.step_time / change.strategy.step_time - 1)
        for text in (str(found), found._repr_html_()):
            for word in ("as configured", "the best", lines[0].split(" ")[0]):
                self.assertIn(word, text)
        step = pw.read(EXAMPLE).at_batch(found.batch)
        for one in (found.configured, found.best):
            plan = pw.plan(step, "4xP100", **one.arguments())
            self.assertEqual(plan.step_time, one.step_time, str(one))

    def test_a_configuration_that_does_not_fit(self):
        file = self.written("ds_config.json", json.dumps({"zero_optimization": {"stage": 0}}))
        found = pw.from_configuration(EXAMPLE, self.two_gpus(900), file)
        self.assertFalse(found.configured.fits)
        self.assertIn("does not fit", str(found))
        self.refused(pw.errors.InfeasibleError, "infeasible", [], pw.from_configuration, EXAMPLE,
                     self.two_gpus(1), file)
        self.refused(InputError, "not-expressible", [], pw.from_configuration, EXAMPLE,
                     "4xP100", self.written("job.toml", "[parallelism]\n"
                                            "tensor_parallel_degree = 2\n"
                                            "context_parallel_degree = 2\n"))

    def test_the_largest_batch_fits(self):
        cluster = self.two_gpus(4000)
        found = pw.largest_batch(EXAMPLE, cluster, algorithm="data-parallel")
        step, verdicts = pw.read(EXAMPLE), {one["batch"]: one["verdict"] for one in found["trials"]}
        self.assertTrue(pw.plan(step.at_batch(found["batch"]), cluster,
                                algorithm="data-parallel").feasible)
        self.assertNotEqual(verdicts[found["batch"] + 1], "fits")
        self.refused(pw.errors.NothingFoundError, "nothing-found", [], pw.plan,
                     step.at_batch(found["batch"] + 1), cluster, algorithm="data-parallel")

    def test_explain_knows_codes_statuses_and_algorithms(self):
        self.assertIn("cycle", pw.explain("graph-cycle"))
        self.assertIn("graph-cycle", pw.explain(3))
        self.assertIn("layout-search", pw.explain("layout-search"))

    def test_detect_describes_this_machine(self):
        machine = pw.detect()
        self.assertIn("cpu", {device.device_class for device in machine.devices})
        plan = pw.plan(EXAMPLE, machine, algorithm="single", space="placed")
        path = plan.save(self.folder / "here.plan.json")
        self.assertTrue((self.folder / "here.cluster.yaml").exists())
        del machine, plan
        self.assertTrue(pw.check(path)["ok"])

    def test_the_program_runs(self):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = [sys.executable, "-m", "placewright"]
        done = subprocess.run([*run, "explain", "graph-cycle"], capture_output=True, text=True,
                              env=environment, check=True)
        self.assertEqual(done.stdout, pw.explain("graph-cycle"))
        done = subprocess.run([*run, "plan"], capture_output=True, env=environment, check=False)
        self.assertEqual(done.returncode, 2)
        done = subprocess.run([*run, "doctor"], capture_output=True, text=True, check=False,
                              env={**environment, "PLACEWRIGHT_PROGRAM": "/missing"})
        self.assertEqual(done.returncode, 6)
        self.assertIn("missing-runtime", done.stderr)


class Shown(PackageTest):
    def test_as_text(self):
        plan = pw.plan(EXAMPLE, "4xP100", algorithm="single")
        text = str(plan)
        for word in ("tiny_transformer_adam on 4xP100: fits", "host0/gpu0", "P100-12GB",
                     "batch 32"):
            self.assertIn(word, text)
        self.assertIn("host0/gpu1 ... host0/gpu3 (3)", text)
        self.assertIn("tiny_transformer_adam", repr(plan))
        # 5% of 4 GiB are kept free.
        self.assertRegex(str(pw.Cluster(self.two_gpus(4096))),
                         r"host0/gpu1  RTX-2080 +3\.8 GiB +204\.8 MiB")
        self.assertIn("552 ops", str(plan.step))

    def test_in_notebooks(self):
        document = json.loads(gzip.decompress(EXAMPLE.read_bytes()))
        document["name"] = "<i>a&b"
        step = self.written("step.json", json.dumps(document))
        plan = pw.plan(step, "4xP100", iterations=MOVES)
        for shown in (plan, plan.cluster):
            tags = Tags()
            tags.feed(shown._repr_html_())
            self.assertEqual((tags.open, tags.wrong), ([], []))
            self.assertIn("table", tags.seen)
            self.assertNotIn("i", tags.seen)
        text = plan._repr_html_()
        self.assertIn("<svg", text)
        self.assertIn("&lt;i&gt;a&amp;b", text)
        self.assertNotIn("<script", text)

    def test_the_picture_is_the_programs(self):
        plan = pw.plan(EXAMPLE, "4xP100", algorithm="m-etf")
        path = plan.save(self.folder / "a.plan.json")
        program("simulate", str(path), "--svg", str(self.folder / "a.svg"))
        theirs = (self.folder / "a.svg").read_text()
        self.assertEqual(plan.svg(), theirs)

    def test_nothing_is_printed_unless_asked(self):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            pw.plan(EXAMPLE, "4xP100", iterations=MOVES)
        self.assertEqual((out.getvalue(), err.getvalue()), ("", ""))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            pw.plan(EXAMPLE, "4xP100", iterations=MOVES, progress=True)
        self.assertEqual(out.getvalue(), "")
        self.assertRegex(err.getvalue(), r"s  [a-z-]+  [0-9,]+ moves?  best [0-9.]+ ms *\n$")


if __name__ == "__main__":
    unittest.main()
