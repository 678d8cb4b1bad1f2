"""Steps that follow their batch size: what is proven, how inputs of other sizes are made, and what
is said where nothing can be proven."""

from support import EXPORTER, PROGRAM, ExportTest, at_batch, export, run_forked, without_slopes  # first

import functools
import json
import subprocess
import unittest

import models
import torch
from torch import nn


def labels(count):
    return torch.zeros(count, dtype=torch.int64)


def mlp(batch):
    model = models.mlp()
    return (model, torch.zeros(batch, 32), nn.CrossEntropyLoss(),
            torch.optim.SGD(model.parameters(), lr=0.1), labels(batch))


def transformer(batch):
    """The labels of all words of all samples lie in one dimension."""
    model = models.transformer(True)
    return (model, torch.zeros(batch, 5, dtype=torch.int64), nn.CrossEntropyLoss(),
            torch.optim.Adam(model.parameters()), labels(5 * batch))


def lstm(batch):
    """Time is the first dimension, the batch the second one."""
    model = models.lstm(False)
    return (model, torch.zeros(3, batch, dtype=torch.int64), nn.CrossEntropyLoss(),
            torch.optim.SGD(model.parameters(), lr=0.1), labels(3 * batch))


def resnet(batch):
    model = models.resnet()
    return (model, torch.zeros(batch, 3, 16, 16).to(memory_format=torch.channels_last),
            nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.1), labels(batch))


class Steps(nn.Module):
    """Of 8 numbers to a sample; `then` is what a test wants of the layer's output."""

    def __init__(self, then):
        super().__init__()
        self.layer, self.then = nn.Linear(8, 8), then

    def forward(self, x):
        return self.then(self.layer(x))


class Proof(ExportTest):
    def exported_at(self, build, batch, **options):
        model, inputs, loss, optimizer, targets = build(batch)
        return self.exported(model, inputs, loss, optimizer, targets=targets, batch=batch,
                             **options)

    def test_slopes_by_hand(self):
        graph = self.exported_at(mlp, 8)
        self.assertEqual(graph["batch_proof"], {"sizes": [8, 9, 19], "smaller": 1})
        by_name = {record["name"]: record for record in graph["inputs"] + graph["ops"]}
        self.assertEqual(by_name["input:input"]["slopes"], [1, 0])
        self.assertEqual(by_name["input:target"]["slopes"], [1])
        self.assertNotIn("slopes", by_name["param:0.weight"])
        self.assertEqual(by_name["addmm"]["outputs"][0]["slopes"], [1, 0])
        self.assertNotIn("slopes", by_name["mm_1"]["outputs"][0])  # the gradient of a weight

    def test_a_mean_is_inverse_in_the_batch(self):
        model = Steps(lambda y: y * (1 / y.shape[0]))
        graph = self.exported(model, torch.zeros(4, 8), batch=4)
        self.assertEqual(graph["ops"][-1]["slopes"], [[1, "1/N"]])
        model.then = lambda y: y * (0.3 * y.shape[0])
        self.assertEqual(self.exported(model, torch.zeros(4, 8), batch=4)["ops"][-1]["slopes"],
                         [[1, "N"]])

    def test_numbers_of_statistics_follow_products(self):
        def law(then):
            return self.exported(Steps(then), torch.zeros(8, 8), batch=8)["ops"][-1]["slopes"]
        self.assertEqual(law(lambda y: y * (2 / (y.shape[0] - 1))), [[1, "1/(N-1)"]])
        self.assertEqual(law(lambda y: y * (2 / (y.numel() - 1))), [[1, "1/(8*N-1)"]])
        self.assertEqual(law(lambda y: y / y.shape[0] ** 2), [[1, "N*N"]])
        self.assertEqual(law(lambda y: y * y.shape[0] ** 0.5), [[1, "sqrt(N)"]])
        # Distances of all pairs
        graph = self.exported(Steps(nn.functional.pdist), torch.zeros(8, 8), batch=8)
        self.assertEqual(graph["ops"][-1]["outputs"][0], {"shape": [28], "dtype": "f32", "slopes": ["N*(N-1)"]})

    def test_inputs_are_made_from_the_examples(self):
        for build in (mlp, transformer, lstm, resnet):
            with self.subTest(build.__name__):
                graph = self.exported_at(build, 4, rebatch=True)
                direct = self.exported_at(build, 7, rebatch=False)
                self.assertEqual(at_batch(graph, 7), direct)
                self.assertEqual(without_slopes(graph),
                                 self.exported_at(build, 4, rebatch=False))

    def test_samples_that_are_taken_apart_and_joined(self):
        # As LLaVA does with images. 4 samples of 8 become 32 numbers in a row, and 4 samples again.
        for join, clone in ((lambda y: torch.cat(list(y.unsqueeze(1))), [4, 8]),
                            (lambda y: torch.cat([*y.view(-1, 8)]), [32]),
                            (lambda y: torch.stack(y.unbind(0)), [4, 8])):
            model = Steps(join)
            graph = self.exported(model, torch.zeros(4, 8), torch.sum, torch.optim.SGD(model.parameters(), 0.1),
                                  batch=4)
            self.assertNotIn("obstacle", graph["batch_proof"])
            copies = [op for op in graph["ops"] if op["target"] == "aten.clone.default"]
            self.assertEqual([op["outputs"][0]["shape"] for op in copies], [clone])
            self.assertFalse([op for op in graph["ops"] if op["target"] == "aten.unbind.int"])

    def test_samples_that_were_changed_are_no_copies(self):
        def joined(y):
            pieces = list(y.detach())
            for piece in pieces:
                piece.unsqueeze_(0)
            return y * torch.cat(pieces)

        for join, shape in ((joined, [4, 8]), (lambda y: torch.cat(torch.unbind(input=y, dim=0)), [32])):
            model = Steps(join)
            graph = self.exported(model, torch.zeros(4, 8), torch.sum, torch.optim.SGD(model.parameters(), 0.1),
                                  batch=4, rebatch=False)
            made = [op for op in graph["ops"] if op["target"] == "aten.cat.default"]
            self.assertEqual([op["outputs"][0]["shape"] for op in made], [shape])

    def test_what_is_remembered_is_of_one_recording(self):
        class Remembering(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self._tables = nn.Linear(4, 4), {}

            @functools.lru_cache(maxsize=8)
            def positions(self, count):
                return torch.arange(count).float().tanh()

            def forward(self, x):
                if 4 not in self._tables:
                    self._tables[4] = torch.arange(4).sin()
                return self.layer(x) + self.positions(4) + self._tables[4]

        graph = self.exported(Remembering(), torch.zeros(3, 4), batch=3)
        self.assertEqual(graph["batch_proof"], {"sizes": [3, 4, 9], "smaller": 1})
        self.assertEqual({"tanh", "sin"} - {op["name"] for op in graph["ops"]}, set())

    def test_a_function_makes_the_step(self):
        def build(batch):
            # The batch is neither of the sizes of this input.
            return Steps(lambda y: y.sum(1)), torch.zeros(2 * batch + 1, 8), torch.sum
        graph = self.exported(*build(4), batch=4, rebatch=build)
        self.assertEqual(graph["inputs"][2]["slopes"], [2, 0])
        # At batch 7 there are 2 * 7 + 1 rows, and 7 is no size of them.
        direct = self.exported(*build(7))
        self.assertEqual(at_batch(graph, 7), {**direct, "batch": 7})

    def test_a_smaller_size(self):
        def smaller(then, batch=8):
            return self.exported(Steps(then), torch.zeros(batch, 8), batch=batch)[
                "batch_proof"].get("smaller")
        self.assertEqual(smaller(lambda y: y), 1)
        self.assertEqual(smaller(lambda y: y, batch=2), 1)
        self.assertIsNone(smaller(lambda y: y, batch=1))
        # Another step at 1, at 1 and 2, at all sizes below the recorded one
        self.assertEqual(smaller(lambda y: y.exp() if y.shape[0] == 1 else y), 4)
        self.assertEqual(smaller(lambda y: y[:, :3] if y.shape[0] <= 2 else y), 4)
        self.assertIsNone(smaller(lambda y: y * 2.0 if y.shape[0] < 8 else y * 3.0))
        self.assertIsNone(smaller(lambda y: y * 2.0 if y.shape[0] < 2 else y * 3.0, batch=2))

    def test_the_program_plans_the_step_that_would_have_been_recorded(self):
        graphs = []
        for batch, options in ((4, ["--batch", "7"]), (7, [])):
            model, inputs, loss, optimizer, targets = transformer(batch)
            export(model, inputs, loss, optimizer, self.folder / "step.json.gz", targets=targets,
                   batch=batch, rebatch=None if options else False)
            subprocess.run([PROGRAM, "plan", "step.json.gz", "-c", "2xV100", "--iterations", "1",
                            "--algo", "single", "-o", "p.json", *options], cwd=self.folder,
                           check=True, capture_output=True)
            subprocess.run([PROGRAM, "export", "p.json", "--to", "aten", "-o", "g.json"],
                           cwd=self.folder, check=True, capture_output=True)
            graphs.append(without_slopes(json.loads((self.folder / "g.json").read_text())))
        self.assertEqual(*graphs)


class NoProof(ExportTest):
    def obstacle(self, then, x=None, batch=4):
        x = torch.zeros(batch, 8) if x is None else x
        model = Steps(then)
        graph = self.exported(model, x, batch=batch)
        self.assertFalse([op for op in graph["ops"] if "slopes" in op])
        self.refused(["does not follow its batch size", "rebatch=build"], model, x, batch=batch,
                     rebatch=True)
        # The program says the same, and takes no other batch.
        self.assertEqual(self.inspected()["batch_proof"],
                         {"smaller": None, **graph["batch_proof"]})
        run = subprocess.run([PROGRAM, "inspect", "step.json.gz", "--batch", "5"],
                             cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 3)
        self.assertIn("[batch-scaling]", run.stderr)
        return graph["batch_proof"]["obstacle"]

    def test_a_number_without_a_law(self):
        self.assertRegex(
            self.obstacle(lambda y: y[:, :1 + y.shape[0] // 3]),
            r"args\[3\] of op slice(_1)? \(aten.slice.Tensor\) is 2, 2 and 4, neither linear in the batch nor "
            "proportional to a product of such terms, at batch 4, 5 and 11")
        self.assertEqual(
            self.obstacle(lambda y: y ** (1.0 + y.shape[0] ** 2)),
            "args[1] of op pow (aten.pow.Tensor_Scalar) is 17.0, 26.0 and 122.0, neither linear in "
            "the batch nor proportional to a product of such terms, at batch 4, 5 and 11")

    def test_sizes_and_ops(self):
        self.assertIn("args[1][0] of op expand (aten.expand.default) is 17, 26 and 122, neither linear",
                      self.obstacle(lambda y: y[:1, :1].expand(1 + y.shape[0] ** 2, 8)))
        self.assertIn("op relu (aten.relu.default) is tanh (aten.tanh.default) at batch 5",
                      self.obstacle(lambda y: y.relu() if y.shape[0] == 4 else y.tanh()))
        for changed in (lambda y: torch.cat([one * 2 for one in y]), lambda y: torch.cat([*y][::-1]),
                        lambda y: torch.stack([*y], 1)):
            self.assertIn("outputs", self.obstacle(changed))
        self.assertIn("the number of ops is", self.obstacle(
            lambda y: y.sum() if y.shape[0] == 4 else y.sum().exp()))
        self.assertIn("batch 1", self.obstacle(
            lambda y: y.sum() if y.shape[0] == 1 else y.exp(), batch=1))

    def test_a_batch_that_the_model_fixes(self):
        self.assertRegex(self.obstacle(lambda y: y.view(4, 2, 4)),
                         "cannot be recorded at batch 5: .*batch_test.py")
        # 8 and 12 are possible; a size that grows by a quarter with each sample is not.
        model = Steps(lambda y: y if y.shape[0] % 4 == 0 else y.view(4, 2, 4))
        graph = self.exported(model, torch.zeros(4, 8), batch=4)
        self.assertEqual(graph["batch_proof"], {"sizes": [4, 8, 12]})
        self.assertIn("is 1, 2 and 3, neither linear",
                      self.obstacle(lambda y: y.view(-1, 4, 8)))

    def test_options(self):
        model, x = nn.Linear(8, 8), torch.zeros(4, 8)
        self.refused(["batch is 5", "no example input", "multiple"], model, x, batch=5)
        self.refused(["batch=N"], model, x, rebatch=True)
        self.refused(["rebatch is 3"], model, x, batch=4, rebatch=3)
        self.refused(["rebatch must return", "1 elements"], model, x, batch=4,
                     rebatch=lambda batch: (model,))
        self.assertNotIn("batch_proof", self.exported(model, x, batch=4, rebatch=False))
        self.assertNotIn("batch_proof", self.exported(model, x))


MODEL = """
import torch
from torch import nn

def build(size=4, fixed=False, mean=True):
    model = nn.Sequential(nn.Linear(8, 8), nn.Unflatten(0, (4, 1)) if fixed else nn.ReLU())
    loss = (lambda y, t: (y - t).pow(2).mean()) if mean else (lambda y, t: (y - t).pow(2).sum())
    return (model, torch.zeros(size, 8), loss, torch.optim.SGD(model.parameters(), lr=0.1),
            torch.zeros(size, 8))

def stated(size=4):
    parts = build(size)
    return {"model": parts[0], "example_inputs": parts[1], "batch": 4}
"""


class CommandLine(ExportTest):
    def run_exporter(self, *arguments):
        (self.folder / "model.py").write_text(MODEL)
        return run_forked(EXPORTER, *arguments, "-o", "step.json", folder=self.folder)

    def written(self):
        return json.loads((self.folder / "step.json").read_text())

    def test_a_batch_and_an_argument_that_is_the_batch(self):
        for options in (["--batch", "4", "--rebatch"], ["--batch-argument", "size"],
                        ["--set", "size=4", "--batch-argument", "size"]):
            run = self.run_exporter("model.py:build", *options)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("as recordings at 4, 5 and 11 prove", run.stdout)
            self.assertEqual(self.written()["batch_proof"], {"sizes": [4, 5, 11], "smaller": 1})
            self.assertIn("input:t", [record["name"] for record in self.written()["inputs"]])
        run = self.run_exporter("model.py:build", "--batch", "6", "--batch-argument", "size",
                                "--json", "--inference")
        self.assertEqual(json.loads(run.stdout)["batch_proof"], {"sizes": [6, 7, 15], "smaller": 1}, run.stderr)
        run = self.run_exporter("model.py:build", "--batch", "4", "--one-batch")
        self.assertNotIn("batch_proof", self.written())

    def test_what_cannot_be_proven(self):
        run = self.run_exporter("model.py:build", "--batch", "4", "--set", "fixed=true")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("valid for batch 4 only: it cannot be recorded at batch 5", run.stdout)
        run = self.run_exporter("model.py:build", "--batch", "4", "--set", "fixed=true", "--rebatch")
        self.assertEqual(run.returncode, 3)
        self.assertIn("does not follow its batch size", run.stderr)

    def test_mistakes(self):
        for arguments, status, words in (
                (["--batch-argument", "batch"], 2, "no argument of this name, but size"),
                (["--batch-argument", "fixed"], 2, "by --batch N"),
                (["--batch", "4", "--set", "size=4", "--batch-argument", "size"], 2, "the same"),
                (["--one-batch", "--rebatch"], 2, "--one-batch"),
                (["--rebatch"], 3, "--batch N"),
                (["--batch", "3"], 3, "batch is 3")):
            run = self.run_exporter("model.py:build", *arguments)
            self.assertEqual(run.returncode, status, (arguments, run.stderr))
            self.assertIn(words, run.stderr)
        run = self.run_exporter("model.py:stated", "--batch-argument", "size", "--batch", "6")
        self.assertEqual(run.returncode, 3)
        self.assertIn("states batch 4 when it is called with size=6", run.stderr)


if __name__ == "__main__":
    unittest.main()
