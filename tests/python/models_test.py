"""A ResNet, a transformer and an LSTM: numbers by hand, tied weights, scopes, memory."""

from support import PROGRAM, SOURCE, VERSION, ExportTest, inputs_of, names_of, ops_of  # first

import collections
import json
import subprocess
import sys
import unittest

import models
import torch
from torch import nn

from placewright_torch.operators import DTYPES


def labels(count):
    return torch.zeros(count, dtype=torch.int64)


class ResNet(ExportTest):
    def step(self):
        model = models.resnet()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
        return self.exported(model, torch.zeros(4, 3, 16, 16), nn.CrossEntropyLoss(), optimizer,
                             targets=labels(4))

    def test_ops(self):
        graph = self.step()
        forward = collections.Counter(names_of(graph, "fwd"))
        # Convolutions: 1 + 2 + (2 and the shortcut's); batch norm as often, with its counter.
        self.assertEqual(forward, {
            "convolution": 6, "native_batch_norm": 6, "add_": 6 + 2, "relu_": 5, "mean": 1,
            "_reshape_alias" if VERSION < (2, 0) else "view": 1, "t": 1, "addmm": 1, "_log_softmax": 1, "nll_loss_forward": 1})
        backward = collections.Counter(names_of(graph, "bwd"))
        # Two tensors are read twice: the inputs of the two blocks. Their gradients are added.
        for name, count in {"convolution_backward": 6, "native_batch_norm_backward": 6,
                            "threshold_backward": 5, "add": 2}.items():
            self.assertEqual(backward[name], count, name)
        # weight decay, momentum *=, momentum +=, weight -=: 6 convolutions, 6 x 2 of batch norm, 2.
        self.assertEqual(names_of(graph, "opt"), 20 * ["add", "mul_", "add_", "add_"])
        self.assertEqual(len(inputs_of(graph, "buffer")), 6 * 3)

    def test_no_gradient_of_the_image(self):
        graph = self.step()
        first = [op for op in ops_of(graph, "bwd")
                 if op["target"] == "aten.convolution_backward.default"][-1]
        self.assertEqual(first["args"][-1], [False, True, False])
        self.assertEqual(first["outputs"], [None, {"shape": [8, 3, 3, 3], "dtype": "f32"}, None])

    def test_what_the_program_reads(self):
        self.step()
        seen = self.inspected()
        # 4 x 8 x 16 x 16 outputs of 3 x 3 x 3 and twice of 8 x 9; 4 x 16 x 8 x 8 of 8 x 9, 16 x 9
        # and 8; 4 x 10 of 16.
        first, last = 8192 * 27, 40 * 16
        forward = first + 2 * 8192 * 72 + 4096 * (72 + 144 + 8) + last
        self.assertEqual(seen["macs"]["forward"], forward)
        self.assertEqual(seen["macs"]["backward"], 2 * forward - first)
        # 216 + 16; 2 (576 + 16); 1152 + 2304 + 128 + 3 x 32; 170
        self.assertEqual(seen["parameters"], 232 + 1184 + 3680 + 170)
        self.assertEqual(seen["unknown_types"], [])

    def test_scopes_are_module_paths(self):
        graph = self.step()
        scopes = {op["name"]: op.get("scope") for op in ops_of(graph, "fwd")}
        self.assertEqual(scopes["convolution"], "0")
        self.assertEqual(scopes["convolution_1"], "3.conv1")
        # The sum of a block is the block's own: 2 + 1 counters before it in block 3.
        self.assertEqual(scopes["add__3"], "3")
        self.assertIn("4.shortcut.0", scopes.values())


class Transformer(ExportTest):
    def step(self, tied):
        model = models.transformer(tied)
        return self.exported(model, torch.zeros(2, 5, dtype=torch.int64), nn.CrossEntropyLoss(),
                             torch.optim.Adam(model.parameters()), targets=labels(10))

    def test_arithmetic_and_parameters(self):
        # 10 tokens of width 16: qkv 16 x 48; scores and weighted sum each 2 x 2 heads of 5 x 5 x 8;
        # out 16 x 16; two of 16 x 32; head 16 x 11.
        forward = 10 * 768 + 2 * 800 + 10 * 256 + 2 * 10 * 512 + 10 * 176
        for tied in (False, True):
            self.step(tied)
            seen = self.inspected()
            self.assertEqual(seen["macs"]["forward"], forward)
            self.assertEqual(seen["macs"]["backward"], 2 * forward)
            # embedding 176; qkv 816; out 272; 544 + 528; two norms of 32; head 176 unless tied.
            self.assertEqual(seen["parameters"], 176 + 816 + 272 + 1072 + 64 + (0 if tied else 176))

    def test_adam_is_the_same_ops_for_each_tensor(self):
        # The first moment is moved by lerp_ since 2.1, and an op less is needed.
        first = ["mul_", "add_"] if VERSION < (2, 1) else ["lerp_"]
        one = [*first, "mul_", "addcmul_", "sqrt", "div", "add_", "addcdiv_"]
        # embedding, head, and weight and bias of qkv, out, inner, outer and two norms
        self.assertEqual(names_of(self.step(False), "opt"), 14 * one)
        self.assertEqual(names_of(self.step(True), "opt"), 13 * one)

    def test_dropout_and_norm_are_the_operators_of_the_cpu(self):
        forward = names_of(self.step(False), "fwd")
        at = forward.index("bernoulli_")
        self.assertEqual(forward[at - 1:at + 3], ["empty_like", "bernoulli_", "div_", "mul"])
        self.assertEqual(forward.count("native_layer_norm"), 2)
        self.assertEqual(forward.count("gelu"), 1)

    def test_a_tied_weight_is_one_input(self):
        graph = self.step(True)
        self.assertIn("param:embedding.weight", graph["parameters"])
        self.assertNotIn("param:head.weight", graph["parameters"])
        readers = {op.get("scope") for op in ops_of(graph, "fwd")
                   if "param:embedding.weight" in op["inputs"]}
        self.assertEqual(readers, {"embedding", "head"})
        # One gradient: the sum of the embedding's and the head's.
        adds = [op for op in ops_of(graph, "bwd") if op["outputs"] == [
            {"shape": [11, 16], "dtype": "f32"}] and op["target"].startswith("aten.add")]
        self.assertEqual(len(adds), 1)

    def test_the_fused_encoder_of_inference_is_not_taken(self):
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
        graph = self.exported(encoder.eval(), torch.zeros(2, 5, 16))
        names = names_of(graph, "fwd")
        self.assertEqual(names.count("native_layer_norm"), 4)
        self.assertNotIn("_transformer_encoder_layer_fwd", names)
        self.assertTrue(all(p.requires_grad for p in encoder.parameters()))

    def test_recomputed_activations_belong_to_the_backward_pass(self):
        from torch.utils.checkpoint import checkpoint

        class Cheap(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 4)

            def forward(self, x):
                return checkpoint(lambda y: self.layer(y).relu(), x).sum()

        model = Cheap()
        x = torch.zeros(2, 4, requires_grad=True)
        graph = self.exported(model, x, None, torch.optim.SGD(model.parameters(), lr=0.1))
        self.assertEqual(names_of(graph, "fwd"), ["t", "addmm", "relu", "sum"])
        self.assertEqual(names_of(graph, "bwd").count("relu"), 1)


class Lstm(ExportTest):
    def step(self, tied):
        model = models.lstm(tied)
        return self.exported(model, torch.zeros(3, 2, dtype=torch.int64), nn.CrossEntropyLoss(),
                             torch.optim.SGD(model.parameters(), lr=0.1), targets=labels(6))

    def test_it_is_unrolled(self):
        forward = collections.Counter(names_of(self.step(False), "fwd"))
        # Each of 3 time steps has 3 sigmoids of its gates, a tanh of the cell's input and one of
        # the cell; addmm: all inputs at once, 3 hidden states; mm: the head, which has no bias.
        self.assertEqual([forward[name] for name in ("sigmoid_", "tanh_", "tanh", "unsafe_split")],
                         [9, 3, 3, 3])
        self.assertEqual((forward["addmm"], forward["mm"]), (1 + 3, 1))

    def test_arithmetic(self):
        # 6 inputs of 64 x 256; 3 times 2 hidden states of 64 x 256; 6 tokens of 64 x 1000.
        inputs, hidden, head = 6 * 64 * 256, 3 * 2 * 64 * 256, 6 * 64 * 1000
        for tied in (False, True):
            self.step(tied)
            seen = self.inspected()
            self.assertEqual(seen["macs"]["forward"], inputs + hidden + head)
            # The gradient of the first hidden state is not asked for.
            self.assertEqual(seen["macs"]["backward"],
                             2 * (inputs + head) + hidden + hidden * 2 // 3)
            # two weights of 256 x 64, two biases of 256, the embedding, and the head unless tied
            self.assertEqual(seen["parameters"], 33280 + 64000 + (0 if tied else 64000))

    def test_tied_weights_are_placed_together(self):
        self.step(True)
        subprocess.run([PROGRAM, "plan", "step.json.gz", "-c", "2xV100", "--iterations", "20",
                        "-o", "p.json"], cwd=self.folder, check=True, capture_output=True)
        plan = json.loads((self.folder / "p.json").read_text())
        import gzip
        graph = json.loads(gzip.decompress((self.folder / "step.json.gz").read_bytes()))
        place = plan["placement"]
        self.assertEqual(len(place), len(graph["ops"]))
        readers = [op["name"] for op in graph["ops"] if "param:embedding.weight" in op["inputs"]]
        self.assertEqual(len(readers), 3)  # the embedding, the view of the head, the update
        self.assertEqual(len({place[name] for name in readers}), 1)


class Rare(ExportTest):
    def test_mixed_precision(self):
        class Half(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8, bias=False)

            def forward(self, x):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    return self.layer(x)

        graph = self.exported(Half(), torch.zeros(4, 8))
        self.assertEqual(names_of(graph, "fwd"), ["_to_copy", "_to_copy", "t", "mm"])
        self.assertEqual(graph["ops"][-1]["outputs"], [{"shape": [4, 8], "dtype": "bf16"}])

    def test_statistics_of_norms_have_the_types_that_kernels_give_them(self):
        wide, half = torch.zeros(4), torch.zeros(2, 4, 3, dtype=torch.bfloat16)
        aten, found = torch.ops.aten, []

        class Norms(nn.Module):
            def forward(self, x):
                x = x.bfloat16()
                found[:] = [aten.native_batch_norm(x, wide, wide, wide, wide, True, 0.1, 1e-5)]
                if VERSION >= (2, 0):
                    found.append(aten.native_layer_norm(x, [3], None, None, 1e-5))
                    found.append(aten.native_group_norm(x, wide, wide, 2, 4, 3, 2, 1e-5))
                    weight = wide.expand(3, 4).t().contiguous()
                    found.append(aten.native_layer_norm(x, [4, 3], weight, None, 1e-5))
                return sum(result.float().sum() for results in found for result in results)

        Norms()(half)
        due = [[result.dtype for result in results] for results in found]
        self.assertEqual(due[0], [torch.bfloat16, torch.float32, torch.float32])
        graph = self.exported(Norms(), half.float())
        norms = [op["outputs"] for op in graph["ops"] if "_norm." in op["target"]]
        self.assertEqual([[output["dtype"] for output in outputs] for outputs in norms],
                         [[DTYPES[dtype] for dtype in dtypes] for dtypes in due])

    def test_operators_without_a_rule_for_shapes(self):
        # PyTorch 1.13 has a broken rule for Huber's gradient and for distances, none for padding's.
        def loss(y):
            y = nn.functional.pad(y, (1, 1, 1, 1), mode="reflect").flatten(1)
            return nn.functional.huber_loss(torch.cdist(y, y), torch.zeros(2, 2))

        model = nn.Conv2d(1, 2, 3)
        graph = self.exported(model, torch.zeros(2, 1, 6, 6), loss,
                              torch.optim.SGD(model.parameters(), lr=0.1))
        shapes = {op["target"].split(".")[1]: op["outputs"][0]["shape"]
                  for op in graph["ops"] if op["outputs"][0]}
        # 2 channels of 4 x 4, with a border of 1: 2 x 6 x 6 = 72 numbers of each of two images.
        self.assertEqual(shapes["_cdist_backward"], [2, 72])
        self.assertEqual(shapes["huber_loss_backward"], [2, 2])
        self.assertEqual(shapes["reflection_pad2d_backward"], [2, 2, 4, 4])
        self.inspected()


class WithoutWeights(ExportTest):
    def test_six_gigabytes_of_parameters(self):
        # 24 x 4 x 4096 x 4096 weights of 4 bytes are 6.4 GB, with Adam's state and gradients 26 GB.
        program = """
import resource, sys
from support import export
import torch
from torch import nn

from placewright_torch.operators import DTYPES
import models
layers = [nn.Linear(4096, 4096, bias=False, device="meta") for _ in range(96)]
model = nn.Sequential(*layers)
said = export(model, torch.zeros(8, 4096, device="meta"), lambda y: y.sum(),
              torch.optim.Adam(model.parameters()), sys.argv[1])
assert said["parameters"] == 96 * 4096 * 4096, said
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
        run = subprocess.run([sys.executable, "-c", program, str(self.folder / "step.json.gz")],
                             cwd=SOURCE / "tests" / "python", capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertLess(int(run.stdout) / 2**20, 1.0)  # GiB; PyTorch itself takes 0.2
        seen = self.inspected()
        self.assertEqual(seen["parameter_bytes"], 96 * 4096 * 4096 * 4)
        self.assertEqual(seen["memory"]["optimizer_state"], 2 * 96 * 4096 * 4096 * 4)

    def test_a_model_that_is_fake_already(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            model = models.lstm(True)
            optimizer = torch.optim.Adagrad(model.parameters())
            ids = torch.zeros(3, 2, dtype=torch.int64)
        graph = self.exported(model, ids, lambda y: y.mean(), optimizer)
        self.assertEqual(inputs_of(graph, "opt_state")[0], "opt_state:embedding.weight.sum")


if __name__ == "__main__":
    unittest.main()
