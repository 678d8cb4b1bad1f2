"""Against training steps that others recorded from PyTorch 1.13 with torch.fx: the same operators
in the same order, with the same arguments, shapes and aliases."""

from support import SKIPPED, ExportTest, ops_of  # first: skips without PyTorch

import gzip
import json
import os
import pathlib
import sys
import unittest

import models
import torch
from torch import nn

CORPUS = pathlib.Path(os.environ.get("PLACEWRIGHT_SHARED_DATA", "")) / "fx"


def content(op):
    return op["target"], op["args"], op.get("kwargs"), op["outputs"], op.get("alias")


class Corpus(ExportTest):
    def compare(self, name, graph, phases=("fwd", "bwd", "opt")):
        recorded = json.loads(gzip.decompress((CORPUS / f"{name}.json.gz").read_bytes()))
        self.assertEqual((graph["n_ops"], graph["n_edges"]),
                         (recorded["n_ops"], recorded["n_edges"]))
        for phase in phases:
            for ours, theirs in zip(ops_of(graph, phase), ops_of(recorded, phase)):
                self.assertEqual(content(ours), content(theirs), ours["name"])

    def test_resnet50(self):
        model = models.resnet50()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-4,
                                    dampening=0.0)
        graph = self.exported(model, torch.zeros(32, 3, 224, 224), nn.CrossEntropyLoss(), optimizer,
                              targets=torch.zeros(32, dtype=torch.int64))
        self.compare("resnet50_b32_sgd", graph)

    def test_transformer(self):
        class Step(nn.Module):
            def __init__(self):
                super().__init__()
                self.transformer = nn.Transformer()

            def forward(self, source, target):
                return self.transformer(source, target).pow(2).mean()

        model = Step()
        graph = self.exported(model, (torch.zeros(64, 32, 512), torch.zeros(64, 32, 512)), None,
                              torch.optim.Adam(model.parameters()))
        # The update differs in the numbers of its step: theirs is the second.
        self.compare("nn_transformer_base_b32_s64_adam", graph, ("fwd", "bwd"))
        self.assertEqual(graph["phases"]["opt"], 1472)


if __name__ == "__main__":
    if not CORPUS.is_dir():
        print(f"SKIPPED: there is no folder {CORPUS} with recorded steps")
        sys.exit(SKIPPED)
    if not torch.__version__.startswith("1.13"):
        print(f"SKIPPED: PyTorch {torch.__version__} calls other operators than 1.13")
        sys.exit(SKIPPED)
    unittest.main()
