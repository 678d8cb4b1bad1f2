"""The models of bench/published: their losses are cross-entropies, and in parts they are the step on one device."""

from support import VERSION  # first

import importlib.util
import pathlib
import unittest

import torch
from torch.nn import functional as F

from in_parts import InParts

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "bench" / "published"
LAYERS, WORDS, PLACES = 2, 48, 8
SMALL = {"layers": LAYERS, "width": 16, "heads": 4, "length": PLACES, "vocabulary": WORDS, "batch": 4, "half": "bf16",
         "dropout": 0.0, "tied": 0}


def load(name):
    spec = importlib.util.spec_from_file_location(f"published_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gpt = load("gpt")


class Losses(unittest.TestCase):
    def test_are_cross_entropies_with_their_gradients(self):
        torch.manual_seed(3)
        labels = torch.randint(WORDS, (2, PLACES))
        scores = torch.randn(2, PLACES, WORDS)
        for made, more in ((gpt.CrossEntropy, ()), (gpt.CrossEntropyInParts, (torch.arange(WORDS),))):
            with self.subTest(made.__name__):
                own, due = (scores.clone().requires_grad_() for _ in range(2))
                loss = made.apply(own, labels, *more)
                expected = F.cross_entropy(due.flatten(0, 1), labels.flatten())
                loss.backward()
                expected.backward()
                self.assertLess((loss - expected).abs().item(), 1e-5)
                self.assertLess((own.grad - due.grad).abs().max().item(), 1e-7)


@unittest.skipUnless(VERSION >= (2, 4), "PyTorch's update in one kernel needs a GPU")
class InPartsTheyAreTheStep(InParts):
    def recorded(self, **settings):
        built = gpt.build(**SMALL, **settings)
        self.exported(built["model"], built["example_inputs"], built["loss"], built["optimizer"],
                      targets=built["targets"], batch=built["batch"])

    def gathered(self, compiled):
        """Whose casts are gathered, once for each group of devices that gathers one."""
        made = {op["name"]: op for op in compiled["ops"]}
        read = [made[op["inputs"][0]] for op in compiled["ops"]
                if op["target"] == "placewright.all_gather.default" and op["inputs"][0] in made]
        return [op["inputs"][0] for op in read if op["target"] == "aten._to_copy.default"]

    # Matrices are in parts within groups of two devices, with their state in shards over the two groups. Of what is cast the
    # backward pass and the second micro-batch read what was gathered.
    def test_groups_whose_update_is_in_shards(self):
        self.recorded(in_parts=1)
        compiled = self.compare("tensor", options=["--set", "tensor=2", "--set", "sequence=off", "--set",
                                                   "optimizer=shards", "--micro-batches", "2"])
        gathered = self.gathered(compiled)
        self.assertEqual(len(gathered), len(set(gathered)))
        for weight in ("attention.query", "attention.out", "mlp.up", "mlp.down"):
            shards = [name for name in gathered if f".{weight}.weight" in name]
            self.assertEqual(len(shards), 4 * LAYERS, weight)

    def test_the_distributed_optimizer(self):
        self.recorded()
        gathered = self.gathered(self.compare("zero-1"))
        self.assertEqual(len(gathered), len(set(gathered)))
        self.assertEqual(len([name for name in gathered if "mlp.up.weight" in name]), 4 * LAYERS)


if __name__ == "__main__":
    unittest.main()
