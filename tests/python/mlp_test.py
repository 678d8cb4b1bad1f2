"""Every number of the smallest training step, by hand; what the file says of an inference."""

import copy
import gzip
import json
import unittest

from support import ExportTest, export, names_of, ops_of  # first: skips without PyTorch

import torch
from models import mlp
from torch import nn

X, LABELS = torch.zeros(8, 32), torch.zeros(8, dtype=torch.int64)


class Mlp(ExportTest):
    def step(self, **kwargs):
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        return self.exported(model, X, nn.CrossEntropyLoss(), optimizer, targets=LABELS, **kwargs)

    def test_ops(self):
        graph = self.step()
        self.assertEqual(names_of(graph, "fwd"), [
            "t", "addmm", "relu", "t", "addmm", "_log_softmax", "nll_loss_forward"])
        # The loss; layer 2 with the gradients of its input, weight and bias; the ReLU; layer 1, of
        # whose input no gradient is asked for: no second mm, and no t for it.
        self.assertEqual(names_of(graph, "bwd"), [
            "ones_like", "nll_loss_backward", "_log_softmax_backward_data",
            "t", "mm", "t", "mm", "t", "sum", "view", "t",
            "threshold_backward",
            "t", "mm", "t", "sum", "view", "t"])
        # momentum *= 0.9; momentum += gradient; weight -= 0.1 momentum; for four parameters.
        self.assertEqual(names_of(graph, "opt"), 4 * ["mul_", "add_", "add_"])
        self.assertEqual(graph["ops"][-1]["kwargs"], {"alpha": -0.1})
        self.assertEqual(graph["phases"], {"fwd": 7, "bwd": 18, "opt": 12})

    def test_names(self):
        graph = self.step()
        self.assertEqual([i["name"] for i in graph["inputs"]], [
            "param:0.weight", "param:0.bias", "param:2.weight", "param:2.bias",
            "input:input", "input:target",
            "opt_state:0.weight.momentum_buffer", "opt_state:0.bias.momentum_buffer",
            "opt_state:2.weight.momentum_buffer", "opt_state:2.bias.momentum_buffer",
            "hyper:0.momentum", "hyper:0.lr"])
        self.assertEqual(graph["parameters"], [
            "param:0.weight", "param:0.bias", "param:2.weight", "param:2.bias"])
        self.assertEqual([op.get("scope") for op in ops_of(graph, "fwd")],
                         ["0", "0", "1", "2", "2", "loss", "loss"])
        self.assertTrue(any("scope" in op for op in ops_of(graph, "bwd")))
        self.assertFalse(any("scope" in op for op in ops_of(graph, "opt")))
        # The loss, then the last op that wrote each parameter, then each momentum.
        self.assertEqual(graph["outputs"], [
            "nll_loss_forward:0", "add__1", "add__3", "add__5", "add__7",
            "add_", "add__2", "add__4", "add__6"])

    def test_what_the_program_reads(self):
        self.step()
        seen = self.inspected()
        self.assertEqual(seen["ops"], 7 + 18 + 12)
        # Forward: t and the layer before each addmm (3: the first layer reads an input), relu 1,
        # softmax 1, loss 1. Backward: ones_like 1; nll_loss_backward 2 ops (ones_like, softmax) and
        # the loss; softmax backward 2; layer 2: t 1, mm 2, t 1, mm 2, t 1, sum 1, view 1, t 1; relu
        # 2; layer 1: t 1, mm 1, t 1, sum 1, view 1, t 1. Update: 3 for each parameter.
        self.assertEqual(seen["edges"], (3 + 1 + 1 + 1) + (1 + 3 + 2 + 10 + 2 + 6) + 3 * 4)
        self.assertEqual(seen["phases"], {"forward": 7, "backward": 18, "optimizer": 12})
        # 64 x 32 + 64 + 10 x 64 + 10
        self.assertEqual(seen["parameters"], 2762)
        self.assertEqual(seen["parameter_tensors"], 4)
        self.assertEqual(seen["memory"]["optimizer_state"], 2762 * 4)
        # 8 x 64 x 32 and 8 x 10 x 64; backward both of layer 2 and the weight's of layer 1.
        self.assertEqual(seen["macs"]["forward"], 16384 + 5120)
        self.assertEqual(seen["macs"]["backward"], 2 * 5120 + 16384)
        self.assertEqual(seen["unknown_types"], [])

    def test_inference(self):
        graph = self.exported(mlp(), X)
        self.assertEqual(names_of(graph, "fwd"), ["t", "addmm", "relu", "t", "addmm"])
        self.assertEqual(graph["phases"], {"fwd": 5, "bwd": 0, "opt": 0})
        self.assertEqual(graph["outputs"], ["addmm_1"])
        self.assertNotIn("optimizer", graph)
        self.assertEqual(self.inspected()["macs"]["total"], 16384 + 5120)

    def test_gradients_without_an_optimizer(self):
        graph = self.exported(mlp(), X, nn.CrossEntropyLoss(), targets=LABELS)
        self.assertEqual(graph["phases"], {"fwd": 7, "bwd": 18, "opt": 0})
        self.assertEqual(len(graph["outputs"]), 1 + 4)

    def test_a_frozen_parameter_is_not_updated(self):
        model = mlp()
        model[0].requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        graph = self.exported(model, X, nn.CrossEntropyLoss(), optimizer, targets=LABELS)
        # Layer 2's weight and bias alone; no way back through the ReLU; no mm for its gradient.
        self.assertEqual(names_of(graph, "opt"), ["add_", "add_"])
        self.assertEqual(graph["phases"]["bwd"], 3 + 6)
        self.assertEqual(len(graph["parameters"]), 4)

    def test_the_same_bytes_every_time(self):
        model = mlp()
        optimizer = torch.optim.Adam(model.parameters())
        paths = [self.folder / "a" / "net.json.gz", self.folder / "b" / "net.json.gz"]
        for seed, path in enumerate(paths):
            path.parent.mkdir()
            torch.manual_seed(seed)
            export(model, X, nn.CrossEntropyLoss(), optimizer, path, targets=LABELS)
        first, second = (path.read_bytes() for path in paths)
        self.assertEqual(first, second)
        self.assertEqual(first[4:8], b"\0\0\0\0")  # no time in the gzip header

    def test_plain_file_name_and_batch(self):
        path = self.folder / "net.json"
        said = export(mlp(), X, None, None, path, batch=8)
        graph = json.loads(path.read_text())
        self.assertEqual((graph["name"], graph["batch"]), ("net", 8))
        # t -> addmm -> relu -> addmm <- t
        self.assertEqual(said, {"path": str(path), "name": "net", "ops": 5, "edges": 4,
                                "phases": {"fwd": 5, "bwd": 0, "opt": 0}, "parameters": 2762, "notes": [],
                                "batch_proof": {"sizes": [8, 9, 19], "smaller": 1}})
        path = self.folder / "other.json.gz"
        export(mlp(), X, path=path, name="mine")
        graph = json.loads(gzip.decompress(path.read_bytes()))
        self.assertEqual(graph["name"], "mine")
        self.assertNotIn("batch", graph)

    def test_model_and_optimizer_are_left_as_they_were(self):
        model = mlp()
        optimizer = torch.optim.Adam(model.parameters())
        model(X).sum().backward()
        optimizer.step()
        weights = [p.clone() for p in model.parameters()]
        gradients = [p.grad for p in model.parameters()]
        state = copy.deepcopy(optimizer.state_dict())
        self.exported(model, X, nn.CrossEntropyLoss(), optimizer, targets=LABELS)
        for parameter, weight, gradient in zip(model.parameters(), weights, gradients):
            self.assertIs(type(parameter), nn.Parameter)
            self.assertTrue(torch.equal(parameter, weight))
            self.assertIs(parameter.grad, gradient)
        self.assertEqual(str(optimizer.state_dict()), str(state))
        self.assertFalse(any(m._forward_hooks or m._forward_pre_hooks for m in model.modules()))
        model(X).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    unittest.main()
