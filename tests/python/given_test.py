"""What is given to the exporter is used, not dropped: inputs and outputs in structures, hooks, types."""

from support import VERSION, ExportTest, inputs_of, names_of, ops_of  # first: skips without PyTorch

import dataclasses
import types
import unittest

import torch
from torch import nn

X = torch.zeros(4, 8)


@dataclasses.dataclass
class Batch:
    words: torch.Tensor
    masks: list


class Model(nn.Module):
    def __init__(self, then):
        super().__init__()
        self.layer, self.then = nn.Linear(8, 8), then

    def forward(self, x):
        return self.then(self, x)


class Cache:
    """An output that is no container that Python knows."""

    def __init__(self, keys):
        self.layers = [types.SimpleNamespace(keys=keys, values=keys * 2)]
        self.owner = self


class Structures(ExportTest):
    def test_tensors_in_data_classes_and_read_only_mappings_are_inputs(self):
        model = Model(lambda m, b: m.layer(b.words) * b.masks[0])
        graph = self.exported(model, (Batch(X, [X.clone()]),), batch=4)
        self.assertEqual(inputs_of(graph, "input"), ["input:x.words", "input:x.masks.0"])
        self.assertEqual(graph["batch_proof"], {"sizes": [4, 5, 11], "smaller": 1})
        given = types.MappingProxyType({"a": X})
        graph = self.exported(Model(lambda m, b: m.layer(b["a"])), (given,))
        self.assertEqual(inputs_of(graph, "input"), ["input:x.a"])

    def test_tensors_in_objects_are_outputs(self):
        def cached(model, x):
            y = model.layer(x)
            return {"logits": y, "cache": Cache(y + 1)}
        graph = self.exported(Model(cached), X)
        self.assertEqual(graph["outputs"], ["addmm", "add", "mul"])

    def test_one_tensor_given_twice_is_one_input_at_every_batch(self):
        graph = self.exported(nn.Bilinear(8, 8, 3), (X, X), batch=4, rebatch=True)
        self.assertEqual(len(inputs_of(graph, "input")), 1)


class Gradients(ExportTest):
    def test_hooks_of_parameters_run_in_the_backward_pass(self):
        model = nn.Linear(8, 8)
        model.weight.register_hook(lambda gradient: gradient.clamp(-1, 1))
        graph = self.exported(model, X, torch.sum, torch.optim.SGD(model.parameters(), lr=0.1))
        self.assertEqual(names_of(graph, "bwd").count("clamp"), 1)
        clipped = next(op["name"] for op in graph["ops"] if "clamp" in op["target"])
        self.assertIn(clipped, {name for op in ops_of(graph, "opt") for name in op["inputs"]})

    def test_a_counting_norm_stands_in_the_middle_of_training(self):
        norm = nn.BatchNorm1d(8, momentum=None)
        graph = self.exported(norm, X)
        # The average over 1000 steps, this one among them.
        self.assertEqual(graph["ops"][-1]["args"][6], 1 / 1000)
        self.assertIsNone(norm.momentum)


class Precision(ExportTest):
    def test_autocast_of_a_gpu_is_not_dropped(self):
        def half(dtype, enabled=True):
            def run(model, x):
                with torch.autocast("cuda", dtype=dtype, enabled=enabled):
                    return model.layer(x)
            return run
        graph = self.exported(Model(half(torch.bfloat16)), X)
        self.assertEqual(graph["ops"][-1]["outputs"], [{"shape": [4, 8], "dtype": "bf16"}])
        graph = self.exported(Model(half(torch.bfloat16, False)), X)
        self.assertEqual(graph["ops"][-1]["outputs"], [{"shape": [4, 8], "dtype": "f32"}])
        if VERSION < (2, 3):
            self.refused(["float16", "torch.bfloat16"], Model(half(torch.float16)), X)
        else:
            graph = self.exported(Model(half(torch.float16)), X)
            self.assertEqual(graph["ops"][-1]["outputs"], [{"shape": [4, 8], "dtype": "f16"}])


class Ctc(ExportTest):
    def forward_of(self, targets, lengths):
        class Step(nn.Module):
            def forward(self, logits):
                return nn.functional.ctc_loss(logits.log_softmax(2), targets, (6, 6), lengths)
        graph = self.exported(Step(), torch.zeros(6, 2, 8))
        return next(op for op in graph["ops"] if op["target"].startswith("aten._ctc_loss"))

    def test_the_longest_target_is_known(self):
        padded = torch.ones(2, 5, dtype=torch.int64)
        for targets, lengths, longest in ((padded, (3, 2), 3), (padded.flatten()[:5], [3, 2], 3),
                                          (padded, padded[0][:2], 1)):
            op = self.forward_of(targets, lengths)
            # 6 time steps; a blank before, between and after the labels
            self.assertEqual([out["shape"] for out in op["outputs"]],
                             [[2], [2, 6, 2 * longest + 1]])


if __name__ == "__main__":
    unittest.main()
