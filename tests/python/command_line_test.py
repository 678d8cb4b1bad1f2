"""The command line, run as a process."""

from support import EXPORTER, SOURCE, VERSION, ExportTest, run_forked  # first: skips without PyTorch

import gzip
import json
import subprocess
import sys
import unittest

from placewright_export import ExportError, parts_of

MODEL = """
import torch
from torch import nn

def build(width=8, name="layer"):
    model = nn.Sequential()
    model.add_module(name, nn.Linear(width, width))
    optimizer = torch.optim.Adam(model.parameters())
    return model, torch.zeros(2, width), nn.MSELoss(), optimizer

def named(**settings):
    model, x, loss, optimizer = build(**settings)
    return {"model": model, "example_inputs": x, "loss": loss, "optimizer": optimizer,
            "targets": torch.zeros(2, 8), "batch": 2}

def real():
    drawn = nn.init.uniform_(torch.zeros(8))
    model = nn.Linear(8 + int(0 * drawn.sum().item()), 2)
    return model, torch.zeros(2, 8)

def computed(draw=False):
    rates = [x.item() for x in torch.linspace(0, 0.5, 3)]
    assert rates == [0, 0.25, 0.5], rates
    widths = (torch.arange(3) * 4 + 8).int()  # 8, 12, 16
    view = widths[2:]
    view += 4  # 20
    if draw:
        view.random_(5)
    widths = [int(width) for width in widths]
    if (torch.tensor([1, 2]) > 1).any():
        widths.append(len(torch.tensor([0, 1, 0, 1]).nonzero()))
    model = nn.Sequential(*(nn.Linear(a, b) for a, b in zip([8] + widths, widths)))
    return model, torch.zeros(2, 8)

def drawn():
    model = nn.Linear(8, 2)
    nn.init.trunc_normal_(model.weight, std=0.02)  # from 2.15 on draws until all are in range
    return model, torch.zeros(2, 8)

def sparse():
    model = nn.Sequential(nn.Linear(8, 8))
    model[0].weight = nn.Parameter(torch.eye(8).to_sparse())
    return model, torch.zeros(2, 8)

def with_targets(count=5, loss="given"):
    model, x, function, optimizer = build()
    parts = (model, x, function if loss == "given" else None, optimizer, torch.zeros(2, 8), 6, 7)
    return parts[:count]

def unknown():
    return {**named(), "target": 0}

def broken():
    return 7
"""


class CommandLine(ExportTest):
    def setUp(self):
        super().setUp()
        (self.folder / "model.py").write_text(MODEL)

    def run_exporter(self, *arguments):
        return run_forked(EXPORTER, *arguments, folder=self.folder)

    def written(self, name="step.json.gz"):
        return json.loads(gzip.decompress((self.folder / name).read_bytes()))

    def test_help(self):
        run = subprocess.run([sys.executable, str(EXPORTER), "--help"], cwd=self.folder,
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0)
        for word in ("MODULE:FUNCTION", "--output", "--set", "--inference", "Examples:"):
            self.assertIn(word, run.stdout)

    def test_a_training_step(self):
        run = subprocess.run([sys.executable, str(EXPORTER), "model.py:named", "-o", "step.json.gz", "--json"],
                             cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        said, graph = json.loads(run.stdout), self.written()
        # 8 x 8 weights and 8 biases; ops of Adam for each of two tensors: eight, since 2.1 seven
        self.assertEqual((said["parameters"], said["phases"]["opt"]),
                         (72, 16 if VERSION < (2, 1) else 14))
        self.assertEqual((graph["name"], graph["batch"], graph["optimizer"]), ("step", 2, "adam"))
        self.assertEqual(self.inspected()["parameters"], 72)

    def test_a_tuple_of_two_to_five_elements(self):
        run = self.run_exporter("model.py:with_targets", "-o", "step.json.gz")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("input:target", [i["name"] for i in self.written()["inputs"]])
        run = self.run_exporter("model.py:with_targets", "--set", "count=6", "-o", "x.json")
        self.assertEqual(run.returncode, 3)
        self.assertIn("(model, example_inputs, loss, optimizer, targets)", run.stderr)
        self.assertIn("it returned 6 elements", run.stderr)
        run = self.run_exporter("model.py:with_targets", "--set", "loss=none", "-o", "x.json")
        self.assertEqual(run.returncode, 3)
        self.assertIn("targets are given, but no loss", run.stderr)
        names = ("model", "example_inputs", "loss", "optimizer", "targets")
        for count in range(2, 6):
            given = dict(zip(names, range(count)))
            self.assertEqual(parts_of(tuple(given.values()), "f"),
                             {**dict.fromkeys(names), **given})
        for count in (0, 1, 6, 7):
            with self.assertRaisesRegex(ExportError, f"it returned {count} elements"):
                parts_of(list(range(count)), "f")

    def test_settings_and_inference(self):
        run = self.run_exporter("model:build", "--set", "width=16", "--set", "name=dense",
                                "--inference", "-o", "step.json.gz", "--name", "net",
                                "--batch", "2")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("272 parameters", run.stdout)  # 16 x 16 + 16
        graph = self.written()
        self.assertEqual(graph["parameters"], ["param:dense.weight", "param:dense.bias"])
        self.assertEqual((graph["name"], graph["batch"]), ("net", 2))
        self.assertEqual(graph["phases"], {"fwd": 2, "bwd": 0, "opt": 0})
        self.assertIs(graph["wrapped"], False)  # a child "m" would be the model's own

    def test_a_builder_that_needs_values(self):
        run = self.run_exporter("model.py:real", "-o", "step.json.gz")
        self.assertEqual(run.returncode, 3)
        self.assertIn("--real-weights", run.stderr)
        run = self.run_exporter("model.py:real", "-o", "step.json.gz", "--real-weights")
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_a_builder_that_looks_at_numbers_of_its_own(self):
        run = self.run_exporter("model.py:computed", "-o", "step.json.gz")
        self.assertEqual(run.returncode, 0, run.stderr)
        # 8 -> 8 -> 12 -> 20 -> 2: 72 + 108 + 260 + 42 parameters
        self.assertEqual(self.inspected()["parameters"], 482)
        run = self.run_exporter("model.py:computed", "--set", "draw=true", "-o", "x.json")
        self.assertEqual(run.returncode, 3)  # the third is drawn through a view of it
        self.assertIn("_local_scalar_dense", run.stderr)

    def test_a_builder_that_draws_its_weights(self):
        run = self.run_exporter("model.py:drawn", "-o", "step.json.gz")
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_mistakes(self):
        for arguments, status, words in (
                (["model.py:build"], 2, "--output"),
                (["model.py", "-o", "x.json"], 2, "MODULE:FUNCTION"),
                (["missing.py:build", "-o", "x.json"], 3, "no file"),
                (["missing_module:build", "-o", "x.json"], 3, "missing_module"),
                (["model.py:nothing", "-o", "x.json"], 3, "no function \"nothing\""),
                (["model.py:broken", "-o", "x.json"], 3, "it returned int"),
                (["model.py:unknown", "-o", "x.json"], 3, "its dict has a \"target\""),
                (["model.py:build", "--set", "width=4", "--set", "width=8", "-o", "x.json"], 2,
                 "--set width is given twice"),
                (["model.py:build", "-o", "x.json"], 3, "target"),  # MSELoss without a target
                (["model.py:named", "--set", "width", "-o", "x.json"], 2, "NAME=VALUE"),
                (["model.py:named", "--set", "depth=3", "-o", "x.json"], 3, "depth"),
                (["model.py:named", "-o", "no/x.json"], 3, "cannot write"),
                (["model.py:named", "-o", "x.json", "--batch", "0"], 2, "batch"),
                (["model.py:sparse", "-o", "x.json", "--real-weights"], 3, "\"0.weight\" of layout")):
            run = self.run_exporter(*arguments)
            self.assertEqual(run.returncode, status, (arguments, run.stderr))
            self.assertIn(words, run.stderr)
            self.assertNotIn("Traceback", run.stderr)
            self.assertFalse((self.folder / "x.json").exists())

    def test_the_example_is_what_its_script_writes(self):
        example = SOURCE / "examples" / "tiny_transformer_adam.json.gz"
        run = subprocess.run([sys.executable, str(SOURCE / "examples" / "record_training_step.py"),
                              str(self.folder / example.name)],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        kept = json.loads(gzip.decompress(example.read_bytes()))
        again = self.written(example.name)
        if kept["torch"] == again["torch"]:  # another PyTorch may call other operators
            self.assertEqual(kept, again)


if __name__ == "__main__":
    unittest.main()
