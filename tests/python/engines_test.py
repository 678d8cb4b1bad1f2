"""Plans as PyTorch's own DistributedDataParallel, fully_shard and parallelize_module, on 2 Gloo
ranks of this machine: five steps leave what one process leaves. What they cannot say is refused,
with the module's name."""

from support import PROGRAM, SKIPPED, VERSION  # first

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

if VERSION < (2, 6):
    print(f"SKIPPED: PyTorch {torch.__version__} is older than 2.6, which fully_shard needs")
    sys.exit(SKIPPED)

import engines_cases
from placewright import engines
from placewright.errors import InputError
from placewright_export import export

try:
    import transformers  # noqa: F401
    TRANSFORMERS = True
except ImportError:
    print("without Llama, GPT-2 and ViT: there is no transformers")
    TRANSFORMERS = False

CLUSTER = "hosts:\n  - {gpus: 2 x H100}\nname: two\n"
GPUS = ["host0/gpu0", "host0/gpu1"]
SINGLE = 1e-5  # of the magnitude, in float32
FULLY_SHARD = hasattr(torch.cpu.Stream, "record_event")  # runs on CPUs
CALLS = {"ddp": "to_ddp", "fsdp2": "to_fsdp2", "tp": "to_parallelize_module"}


class EnginesTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "two.yaml").write_text(CLUSTER)
        cls.steps, cls.ranks = {}, None

    def program(self, *arguments, fails=False):
        run = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode != 0, fails, run.stdout + run.stderr)
        return run.stderr if fails else run.stdout

    def recorded(self, name):
        if name not in self.steps:
            model, optimizer, loss = engines_cases.made(name)
            given, target = engines_cases.batch(name, 0)
            self.steps[name] = self.folder / f"{name}.json.gz"
            export(model, given, loss, optimizer, self.steps[name], targets=target,
                   batch=engines_cases.SAMPLES)
        return self.steps[name]

    def planned(self, name, *options):
        plan = self.folder / f"p{len(list(self.folder.glob('*.plan.json')))}.plan.json"
        self.program("plan", self.recorded(name), "-c", self.folder / "two.yaml", "--iterations",
                     "1", *options, "-o", plan)
        return str(plan)

    def by_hand(self, name, *layouts, **more):
        path = self.folder / f"{name}.layouts.json"
        path.write_text(json.dumps({"layouts": layouts, **more}))
        return self.planned(name, "--layouts", path)

    def inspected(self, name):
        return json.loads(self.program("inspect", self.recorded(name), "--axes", "--json"))

    def in_parts(self, name):
        """A plan with every parameter, its state and its update in parts along its first axis."""
        layouts = {}
        recorded = json.loads(gzip.decompress(self.recorded(name).read_bytes()))
        updates = {op["name"] for op in recorded["ops"] if op["phase"] == "opt"}
        for op in self.inspected(name)["ops"]:
            axes = (op["rule"] or {"axes": []})["axes"]
            if op["name"] in updates and axes and axes[0]["named"]:
                layouts.setdefault(op["group"], axes[0]["named"][0])
        return self.by_hand(name, {"groups": "*", "axis": "batch", "devices": GPUS},
                            *({"groups": group, "axis": axis, "devices": GPUS}
                              for group, axis in layouts.items()))

    def by_axes(self, name, *wanted):
        """A plan with all samples on both devices, and what has the axes split by them."""
        layouts = {}
        for op in self.inspected(name)["ops"]:
            for axis in (op["rule"] or {"axes": []})["axes"]:
                for named in axis["named"]:
                    if axis["parts"] != "whole" and any(one in named for one in wanted):
                        layouts[op["group"]] = named
        return self.by_hand(name, {"groups": "*", "option": "duplicate", "devices": GPUS},
                            *({"groups": group, "axis": axis, "devices": GPUS}
                              for group, axis in layouts.items()))

    def on_ranks(self, cases):
        if type(self).ranks is None:
            type(self).ranks = engines_cases.EngineRanks(2)
            self.addClassCleanup(lambda ranks=self.ranks: ranks.end())
        try:
            # One at a time: a rank has some time for what it is given.
            found = [self.ranks.run([case]) for case in cases]
            return [[results[rank][0] for results in found] for rank in range(2)]
        except BaseException:
            self.ranks.kill()
            type(self).ranks = None
            raise

    def trained(self, engine, *names):
        """Plans of the engine's search, trained by; what each rank says of each."""
        cases = [{"model": name, "call": CALLS[engine],
                  "plan": self.planned(name, "--for", engine)} for name in names]
        return self.compare(cases)

    def compare(self, cases):
        found = self.on_ranks(cases)
        for rank, results in enumerate(found):
            for case, result in zip(cases, results, strict=True):
                with self.subTest(rank=rank, model=case["model"], call=case["call"]):
                    self.assertLessEqual(result["losses"], SINGLE)
                    self.assertLessEqual(result["weights"], SINGLE)
                    self.assertGreater(result["moved"], 1e-3)
        return found

    def test_ddp(self):
        names = ["perceptron", "gpt", *(["llama", "gpt2", "vit"] if TRANSFORMERS else [])]
        for results in self.trained("ddp", *names):
            for result in results:
                self.assertEqual(result["elements"], result["all"])

    @unittest.skipUnless(FULLY_SHARD, "fully_shard of this PyTorch does not run on CPUs")
    def test_fsdp2(self):
        names = ["perceptron", "gpt", *(["llama", "gpt2", "vit"] if TRANSFORMERS else [])]
        for results in self.trained("fsdp2", *names):
            for result in results:
                self.assertLess(result["elements"], result["all"])

    def test_columns_and_rows(self):
        names = ["perceptron", "gpt", *(["llama"] if TRANSFORMERS else [])]
        for results in self.trained("tp", *names):
            for result in results:
                self.assertLess(result["elements"], result["all"])

    @unittest.skipIf(FULLY_SHARD, "fully_shard of this PyTorch runs on CPUs")
    def test_fsdp2_on_old_cpus(self):
        recipe = engines.to_fsdp2(self.in_parts("perceptron"))
        with self.assertRaisesRegex(InputError, "does not run on CPUs"):
            recipe.check(engines_cases.made("perceptron")[0])

    @unittest.skipUnless(FULLY_SHARD, "fully_shard of this PyTorch does not run on CPUs")
    def test_all_in_parts(self):
        """Of models whose first axes can all be halved."""
        names = ["perceptron", "gpt", *(["llama"] if TRANSFORMERS else [])]
        cases = [{"model": name, "call": "to_fsdp2", "plan": self.in_parts(name)}
                 for name in names]
        for results in self.compare(cases):
            for result in results:
                self.assertEqual(result["elements"], result["all"] // 2)

    def test_all_columns_and_rows(self):
        gpt = self.by_axes("gpt", ".q.weight[0].0", ".up.weight[0]")
        cases = [{"model": "gpt", "call": "to_parallelize_module", "plan": gpt}]
        if TRANSFORMERS:
            llama = self.by_axes("llama", "q_proj.weight[0].0", "gate_proj.weight[0]")
            cases.append({"model": "llama", "call": "to_parallelize_module", "plan": llama})
        for results in self.compare(cases):
            for result in results:
                self.assertLess(result["elements"], 0.75 * result["all"])

    def test_code_is_what_a_person_would_write(self):
        self.assertEqual(engines.to_ddp(self.planned("perceptron", "--for", "ddp")).code(), """\
# Start 2 processes: torchrun --nproc-per-node 2 ...; each calls
# torch.distributed.init_process_group() first.
# each rank gives its model 4 of 8 samples; gradients are averaged, so that the loss must be a mean,
# of as many targets on every rank
from torch.nn.parallel import DistributedDataParallel


def distribute(model):
    return DistributedDataParallel(model, bucket_cap_mb=0)
""")
        recipe = engines.to_fsdp2(self.in_parts("gpt"))
        self.assertEqual(str(recipe).partition("def ")[2], """\
distribute(model):
    device = next(model.parameters()).device.type
    parts = {"mesh": init_device_mesh(device, (2,))}
    for block in model.blocks:
        fully_shard(block, **parts)
    fully_shard(model, **parts)
    return model
""")
        self.assertEqual((recipe.ranks, recipe.batch_per_rank), (2, 4))
        recipe = engines.to_parallelize_module(self.by_axes("gpt", ".up.weight[0]"))
        self.assertEqual(recipe.code().partition("mesh = ")[2], """\
init_device_mesh(device, (2,))
    return parallelize_module(model, mesh, {
        "blocks.*.up": ColwiseParallel(),
        "blocks.*.down": RowwiseParallel(),
    })
""")

    def refuse(self, call, plan, name, place, *words, given=None):
        """The recipe, or its check of the model, is refused with this place and these words."""
        model = engines_cases.made(given or name)[0]
        with self.assertRaises(InputError) as caught:
            getattr(engines, call)(plan).check(model)
        self.assertEqual(caught.exception.place, place, str(caught.exception))
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertTrue(caught.exception.remedy)
        return caught.exception

    def test_plans_that_an_engine_cannot_say(self):
        batch = {"groups": "*", "axis": "batch", "devices": GPUS}
        served = self.by_hand("perceptron", {**batch, "option": "parameter-server"})
        for call in CALLS.values():
            self.refuse(call, served, "perceptron", "module first", "first.weight lies on "
                        "host0/gpu0, and not on host0/gpu1")
        uneven = [{"name": GPUS[0], "from": 0, "to": 5}, {"name": GPUS[1], "from": 5, "to": 8}]
        self.refuse("to_ddp", self.by_hand("perceptron", {**batch, "devices": uneven}),
                    "perceptron", "module first", "[5, 12] of input:x [8, 12]")
        group = next(op["group"] for op in self.inspected("perceptron")["ops"]
                     if op["name"] == "lerp_")
        part = {"groups": group, "axis": "param:first.weight[0]", "devices": GPUS}
        uneven = [{"name": GPUS[0], "from": 0, "to": 10}, {"name": GPUS[1], "from": 10, "to": 16}]
        self.refuse("to_fsdp2", self.by_hand("perceptron", batch, {**part, "devices": uneven}),
                    "perceptron", "module first", "uneven parts (host0/gpu0 has 0 to 10 of 16")
        mixed = self.by_hand("perceptron", batch, part)
        self.refuse("to_fsdp2", mixed, "perceptron", "module first",
                    "first.bias is whole on every rank and first.weight in parts")
        self.refuse("to_ddp", mixed, "perceptron", "module first", "first.weight is in parts")
        self.refuse("to_parallelize_module", mixed, "perceptron", "module first",
                    "reads a part of input:x")
        whole = self.planned("perceptron", "--for", "ddp")
        self.refuse("to_fsdp2", whole, "perceptron", "the model itself", "every parameter is whole")
        single = self.planned("perceptron", "--algo", "single")
        self.refuse("to_ddp", single, "perceptron", "the plan", "places whole operations")

    def test_models_that_an_engine_cannot_take(self):
        ddp = self.planned("perceptron", "--for", "ddp")
        error = self.refuse("to_ddp", ddp, "perceptron", "module first", "this one none",
                            given="gpt")
        self.assertEqual(error.code, "plan-mismatch")
        error = self.refuse("to_ddp", self.planned("normed", "--for", "ddp"), "normed",
                            "module layers.1", "SyncBatchNorm needs GPUs")
        self.assertEqual(error.code, "not-expressible")
        local = self.planned("normed", "--for", "ddp", "--batch-norm", "local")
        engines.to_ddp(local).check(engines_cases.made("normed")[0])

    def test_heads_that_a_forward_pass_fixes(self):
        axes = ".q.weight[0].0", ".up.weight[0]"
        self.refuse("to_parallelize_module", self.by_axes("gpt-heads", *axes), "gpt-heads",
                    "module blocks.0", "shape '[8, 12, 4, 8]' is invalid", "engines_cases.py")
        self.refuse("to_parallelize_module", self.by_axes("gpt-silently", *axes), "gpt-silently",
                    "module blocks.0", "[8, 12, 4, 4] of [8, 12, 4, 8]",
                    "in the plan [8, 12, 2, 8]")
        self.refuse("to_parallelize_module", self.by_axes("per-head", ".q.0.weight[0].0"),
                    "per-head", "module blocks.0.q.2", "gradient would have to be summed")

    @unittest.skipUnless(TRANSFORMERS, "there is no transformers")
    def test_tied_weights_and_other_layers(self):
        tied = self.by_axes("llama", "embed_tokens.weight[0]")
        self.refuse("to_parallelize_module", tied, "llama", "module model.embed_tokens",
                    "tied to module lm_head")
        self.refuse("to_parallelize_module", self.by_axes("gpt2", "c_fc.weight[1]"), "gpt2",
                    "module transformer.h.0.mlp.c_fc", "columns and rows of linear layers")
        said = self.program("plan", self.recorded("gpt2"), "-c", self.folder / "two.yaml", "--for",
                            "tp", "-o", self.folder / "x.plan.json", fails=True)
        self.assertIn("no layer whose columns and rows can be split", said)

    def test_search_keeps_to_the_engine(self):
        step, cluster = self.recorded("perceptron"), self.folder / "two.yaml"
        for engine in CALLS:
            self.assertIn(f"found by   {engine},", self.program(
                "plan", step, "-c", cluster, "--for", engine, "-o", self.folder / "x.plan.json"))
        said = self.program("plan", step, "-c", cluster, "--for", "fsdp", fails=True)
        self.assertIn('--for "fsdp" is unknown (did you mean fsdp2?)', said)
        said = self.program("plan", step, "-c", cluster, "--for", "ddp", "--algo", "heft",
                            fails=True)
        self.assertIn("--algo cannot be used with --for", said)

    def test_plans_in_memory(self):
        import placewright
        try:
            placewright._find.core()
        except placewright.errors.MissingRuntimeError as missing:
            self.skipTest(str(missing))
        plan = placewright.plan(self.recorded("perceptron"), self.folder / "two.yaml",
                                for_engine="ddp")
        self.assertEqual(plan.to_ddp().code(),
                         engines.to_ddp(self.planned("perceptron", "--for", "ddp")).code())
        with self.assertRaises(InputError):
            plan.to_fsdp2()
        with self.assertRaises(InputError):
            plan.to_parallelize_module()

    def exported(self, plan, form):
        return self.program("export", plan, "--to", form, "-o", "-")

    def test_configurations(self):
        ddp, parts = self.planned("gpt", "--for", "ddp"), self.in_parts("gpt")
        self.assertIn("data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 1\n",
                      self.exported(ddp, "torchtitan"))
        self.assertIn("data_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 2\n"
                      'fsdp_reshard_after_forward = "always"\ntensor_parallel_degree = 1\n',
                      self.exported(parts, "torchtitan"))
        self.assertEqual(json.loads(self.exported(ddp, "deepspeed")), {
            "gradient_accumulation_steps": 1, "train_batch_size": 8,
            "train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 0}})
        self.assertEqual(json.loads(self.exported(parts, "deepspeed"))["zero_optimization"],
                         {"stage": 3, "stage3_param_persistence_threshold": 0})
        self.assertIn("fsdp_reshard_after_forward: true", self.exported(parts, "accelerate-fsdp"))
        for plan, form, words in (
                (ddp, "accelerate-fsdp", 'the module "words" has "words.weight" on every rank'),
                (self.by_axes("gpt", ".up.weight[0]"), "deepspeed", 'the module "blocks.0.up"'),
                (self.by_axes("gpt", ".up.weight[0]"), "torchtitan", 'the module "words"')):
            said = self.program("export", plan, "--to", form, "-o", "-", fails=True)
            self.assertIn(words, said)
            self.assertIn("[not-expressible]", said)

    def test_torchtitan_knows_the_keys(self):
        try:
            from torchtitan.config.configs import ParallelismConfig, TrainingConfig
        except ImportError:
            self.skipTest("there is no torchtitan, or an earlier one")
        import dataclasses
        import tomllib
        read = tomllib.loads(self.exported(self.in_parts("gpt"), "torchtitan"))
        for section, config in (("parallelism", ParallelismConfig), ("training", TrainingConfig)):
            self.assertLessEqual(set(read[section]),
                                 {field.name for field in dataclasses.fields(config)})

    def test_accelerate_reads_its_configuration(self):
        try:
            from accelerate.commands.config.config_args import load_config_from_file
        except ImportError:
            self.skipTest("there is no accelerate")
        path = self.folder / "fsdp.yaml"
        path.write_text(self.exported(self.in_parts("gpt"), "accelerate-fsdp"))
        read = load_config_from_file(str(path))
        self.assertEqual((read.num_processes, read.num_machines), (2, 1))
        self.assertEqual(read.distributed_type.value, "FSDP")
        self.assertEqual(read.fsdp_config["fsdp_version"], 2)


if __name__ == "__main__":
    unittest.main()
