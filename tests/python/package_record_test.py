"""placewright.record: steps of PyTorch models, planned."""

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import unittest

from package_support import PackageTest
from support import ops_of, torch

import placewright as pw
from placewright.errors import InputError, MissingRuntimeError, UsageError
from placewright_export import export


def perceptron():
    """A model with what record takes of it."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 10))
    return {"model": model, "inputs": torch.randn(32, 64),
            "optimizer": torch.optim.AdamW(model.parameters()),
            "loss": torch.nn.CrossEntropyLoss(), "targets": torch.randint(0, 10, (32,))}


class DataDependent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x) if x.sum() > 0 else x


class Recording(PackageTest):
    def test_a_step_is_what_the_exporter_writes(self):
        step = pw.record(**perceptron(), batch=32)
        self.assertEqual((step.name, step.batch, step.format), ("Sequential", 32, "aten"))
        self.assertIsNone(step.why_one_batch)
        self.assertIsNone(step.path)
        parts = perceptron()
        path = self.folder / "exported.json.gz"
        export(parts["model"], parts["inputs"], parts["loss"], parts["optimizer"], path,
               targets=parts["targets"], batch=32, name="Sequential")
        saved = step.save(self.folder / "saved.json.gz")
        self.assertEqual(saved.read_bytes(), path.read_bytes())
        document = json.loads(gzip.decompress(path.read_bytes()))
        # 64 * 256 + 256 + 256 * 10 + 10 elements of 4 bytes; AdamW keeps two of each.
        self.assertEqual(step.persistent_bytes["parameter"], 4 * 19210)
        self.assertGreaterEqual(step.persistent_bytes["optimizer_state"], 8 * 19210)
        self.assertGreaterEqual(len(ops_of(document, "opt")), step.ops["optimizer"])

    def test_the_model_is_left_as_it_was(self):
        parts = perceptron()
        before = {key: value.clone() for key, value in parts["model"].state_dict().items()}
        pw.record(**parts, batch=32)
        for key, value in parts["model"].state_dict().items():
            self.assertTrue(torch.equal(value, before[key]))
        self.assertEqual(parts["optimizer"].state_dict()["state"], {})

    def test_it_is_planned_saved_and_checked(self):
        plan = pw.plan(pw.record(**perceptron(), batch=32, name="perceptron"), "8xH100",
                       algorithm="data-parallel")
        self.assertEqual({use.name for use in plan.devices if use.ops},
                         {f"host0/gpu{i}" for i in range(8)})
        path = plan.save(self.folder / "a.plan.json")
        self.assertTrue((self.folder / "a.step.json.gz").exists())
        self.assertIn("perceptron on 8xH100", plan._repr_html_())
        del plan
        self.assertTrue(pw.check(path)["ok"])

    def test_steps_without_a_batch_are_placed_whole(self):
        step = pw.record(**perceptron())
        self.assertIsNone(step.batch)
        self.assertIn("batch", step.why_one_batch)
        plan = pw.plan(step, "8xH100", iterations=100)
        self.assertEqual(plan.space, "placed")
        self.assertIsNone(plan.samples_per_second)
        self.refused(InputError, "batch-scaling", [], step.at_batch, 64)

    def test_inference(self):
        parts = perceptron()
        step = pw.record(parts["model"].eval(), parts["inputs"], batch=32)
        self.assertEqual((step.ops["backward"], step.ops["optimizer"]), (0, 0))

    def test_what_cannot_be_recorded(self):
        error = self.refused(InputError, "not-recordable", [], pw.record, DataDependent(),
                             torch.randn(2, 4))
        self.assertIn(f"{os.path.basename(__file__)}:", error.place + str(error))
        self.refused(InputError, "not-recordable", ["torch.nn.Module"], pw.record, 3,
                     torch.randn(2))
        self.refused(InputError, "not-recordable", [], pw.record, torch.nn.Linear(3, 3),
                     torch.randn(2, 4))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_arguments(self):
        parts = perceptron()
        for name, values in {"batch": [0, "x", True, 1.5], "name": [3],
                             "progress": ["yes"]}.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    self.refused(UsageError, "usage", [f"argument {name}"], pw.record,
                                 **{**parts, name: value})
        for name, value in {"rebatch": 3, "attention": "slow", "frozen_weights": "f3",
                            "optimizer": 3, "loss": 3}.items():
            with self.subTest(name=name):
                self.refused(pw.PlacewrightError, "not-recordable", [], pw.record,
                             **{**parts, "batch": 32, name: value})

    def test_without_pytorch(self):
        script = ("import sys; sys.modules['torch'] = None\n"
                  "import placewright as pw\n"
                  "try: pw.record(None, None)\n"
                  "except pw.errors.MissingRuntimeError as error: print(error.code)\n")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                             check=True, env=environment)
        self.assertEqual(run.stdout, "missing-runtime\n")
        self.assertEqual(MissingRuntimeError.exit_status, 6)

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "needs transformers")
    def test_a_configuration_is_a_step(self):
        folder = self.folder / "small"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({
            "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 32,
            "intermediate_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
            "num_key_value_heads": 2, "vocab_size": 128, "max_position_embeddings": 64}))
        step = pw.record_configuration(folder, batch=4, sequence=16, dtype="bf16",
                                       settings={"num_hidden_layers": 1})
        self.assertEqual((step.name, step.batch), ("small", 4))
        # Two of 128 x 32, 32 x (32 + 16 + 16 + 32), 3 of 32 x 64, 3 norms of 32; 2 bytes each.
        self.assertEqual(step.persistent_bytes["parameter"], 2 * (8192 + 3072 + 6144 + 96))
        self.assertGreater(step.ops["optimizer"], 0)
        self.assertTrue(pw.plan(step, "2xV100", algorithm="fsdp").feasible)
        frozen = pw.record_configuration(folder, batch=4, sequence=16, optimizer=None)
        self.assertEqual(frozen.ops["optimizer"], 0)
        self.refused(InputError, "not-recordable", ["config.json"], pw.record_configuration,
                     self.folder / "missing")
        for name, value in {"optimizer": "lion", "dtype": "f8", "task": "chess", "lora": 0,
                            "sequence": 1.5, "settings": [1], "batch": 0}.items():
            with self.subTest(name=name):
                self.refused(UsageError, "usage", [f"argument {name}"], pw.record_configuration,
                             folder, **{name: value})


if __name__ == "__main__":
    unittest.main()
