"""scaled_dot_product_attention recorded as a GPU's fused operator, or as products and a softmax."""

from support import ExportTest, names_of, ops_of  # first: skips without PyTorch

import unittest

import torch
from torch import nn
from torch.nn import functional as F

SAMPLES, WORDS, HEADS, HEAD = 2, 48, 4, 16
FLASH = "_scaled_dot_product_flash_attention"
EFFICIENT = "_scaled_dot_product_efficient_attention"
FOR_CPU = "_scaled_dot_product_flash_attention_for_cpu"


class Attends(nn.Module):
    """A projection, and attention as `call` makes it of [samples, heads, words, head]."""

    def __init__(self, call):
        super().__init__()
        self.project = nn.Linear(HEADS * HEAD, HEADS * HEAD)
        self.call = call

    def forward(self, x):
        heads = self.project(x).unflatten(-1, (HEADS, HEAD)).transpose(1, 2)
        return self.call(heads).float().sum()


def with_dropout(heads):
    return F.scaled_dot_product_attention(heads, heads, heads, dropout_p=0.1, is_causal=True)


@unittest.skipUnless(hasattr(F, "scaled_dot_product_attention"), "PyTorch 2.0 and newer")
class Attention(ExportTest):
    def step(self, call, dtype=torch.float32, **options):
        model = Attends(call).to(dtype)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.zeros(SAMPLES, WORDS, HEADS * HEAD, dtype=dtype)
        return self.exported(model, x, None, optimizer, batch=SAMPLES, **options)

    def fused(self, graph, name):
        """The op of this name and its backward op; nothing has S x S elements."""
        forward = [op for op in graph["ops"] if op["target"] == f"aten.{name}.default"]
        backward = [op for op in graph["ops"] if op["target"] == f"aten.{name}_backward.default"]
        self.assertEqual((len(forward), len(backward)), (1, 1), names_of(graph, "fwd"))
        self.assertEqual((forward[0]["phase"], backward[0]["phase"]), ("fwd", "bwd"))
        self.assertEqual(backward[0]["scope"], "")
        self.assertEqual(graph["attention"], {"fused": 1, "math": 0})
        shapes = [output["shape"] for op in graph["ops"] for output in op["outputs"] if output]
        self.assertNotIn([WORDS, WORDS], [shape[-2:] for shape in shapes])
        self.assertNotIn("obstacle", graph["batch_proof"])
        self.inspected()
        return forward[0], backward[0]

    def test_dropout_in_f32(self):
        forward, backward = self.fused(self.step(with_dropout), EFFICIENT)
        # no mask, with the logarithms that the backward pass wants, dropout, causal
        self.assertEqual(forward["args"][3:], [None, True, 0.1, True])
        # One for each of 48 words, of which the kernel fills up the last 32; seed and offset.
        logarithms = {"shape": [SAMPLES, HEADS, 64], "dtype": "f32", "slopes": [1, 0, 0]}
        self.assertEqual(forward["outputs"][1], logarithms)
        number = {"shape": [], "dtype": "i64"}
        self.assertEqual(forward["outputs"][2:], [number, number])
        self.assertEqual(len(backward["inputs"]), 8)  # the gradient, three, and four outputs

    def test_logarithms_have_the_type_that_the_kernel_gives(self):
        for dtype, said in ((torch.float64, "f64"), (torch.float32, "f32")):
            graph = self.step(lambda heads: F.scaled_dot_product_attention(heads, heads, heads),
                              dtype)
            forward = next(op for op in graph["ops"] if op["target"] == f"aten.{FOR_CPU}.default")
            self.assertEqual(forward["outputs"][1]["dtype"], said)
            q = torch.zeros(SAMPLES, HEADS, WORDS, HEAD, dtype=dtype)
            real = getattr(torch.ops.aten, FOR_CPU)(q, q, q)
            self.assertEqual(real[1].dtype, dtype)

    def test_dropout_in_bf16(self):
        forward, backward = self.fused(self.step(with_dropout, torch.bfloat16), FLASH)
        self.assertEqual(forward["args"][3:], [0.1, True])
        self.assertEqual(forward["outputs"][1]["shape"], [SAMPLES, HEADS, WORDS])
        self.assertEqual(forward["kwargs"], {"scale": HEAD ** -0.5})
        self.assertEqual(backward["args"][8:10], [WORDS, WORDS])  # the longest, by numbers

    def test_values_of_another_size_than_the_keys(self):
        self.fused(self.step(lambda heads: F.scaled_dot_product_attention(
            heads, heads, heads[..., :8])), EFFICIENT)

    def test_a_mask(self):
        mask = torch.ones(WORDS, WORDS, dtype=torch.bool)
        forward, _ = self.fused_with_mask(lambda heads: F.scaled_dot_product_attention(
            heads, heads, heads, attn_mask=mask, dropout_p=0.1))
        self.assertEqual(forward["args"][3], "%3")

    def fused_with_mask(self, call):
        graph = self.step(call, torch.bfloat16)
        self.assertEqual(graph["attention"], {"fused": 1, "math": 0})
        named = {op["target"].split(".")[1]: op for op in graph["ops"]}
        return named[EFFICIENT], named[EFFICIENT + "_backward"]

    def test_heads_are_filled_up(self):
        graph = self.step(lambda heads: F.scaled_dot_product_attention(
            heads[..., :11], heads[..., :11], heads[..., :11], dropout_p=0.1), torch.float16)
        forward, _ = self.fused(graph, FLASH)
        self.assertEqual(forward["outputs"][0]["shape"][-1], 16)
        self.assertEqual(forward["kwargs"], {"scale": 11 ** -0.5})  # that of the heads as they were

    def test_without_dropout(self):
        self.fused(self.step(lambda heads: F.scaled_dot_product_attention(
            heads, heads, heads)), FOR_CPU)

    def test_what_no_gpu_has(self):
        graph = self.step(with_dropout, torch.float64)
        self.assertEqual(graph["attention"], {"fused": 0, "math": 1})
        self.assertIn("bernoulli_", names_of(graph, "fwd"))

    def test_products_and_a_softmax(self):
        for call in (with_dropout, lambda heads: F.scaled_dot_product_attention(heads, heads, heads)):
            graph = self.step(call, attention="math")
            self.assertEqual(graph["attention"], {"fused": 0, "math": 1})
            self.assertEqual(names_of(graph, "fwd").count("bmm"), 2)
        self.refused(["attention is 'flash'", "fused, math"], nn.Linear(2, 2), torch.zeros(2, 2),
                     attention="flash")

    def test_calls_from_within_pytorch(self):
        layer = nn.TransformerEncoderLayer(HEADS * HEAD, HEADS, 32, batch_first=True)
        x = torch.zeros(SAMPLES, WORDS, HEADS * HEAD)
        graph = self.exported(layer, x, lambda y: y.sum(), torch.optim.SGD(layer.parameters(), 0.1))
        self.assertEqual(graph["attention"], {"fused": 1, "math": 0})
        self.assertIn(EFFICIENT, names_of(graph, "fwd"))

    def test_without_gradients(self):
        def call(heads):
            with torch.inference_mode():
                return F.scaled_dot_product_attention(heads, heads, heads)
        graph = self.exported(Attends(call), torch.zeros(SAMPLES, WORDS, HEADS * HEAD))
        self.assertIn(FOR_CPU, names_of(graph, "fwd"))

    def test_pytorch_is_as_it_was(self):
        self.step(with_dropout)
        heads = torch.rand(1, 1, 8, 4, dtype=torch.float64)
        expected = torch.softmax(heads @ heads.transpose(-1, -2) / 2, -1) @ heads
        torch.testing.assert_close(F.scaled_dot_product_attention(heads, heads, heads), expected)


class WithoutAttention(ExportTest):
    def test_nothing_is_stated(self):
        for choice in ("fused", "math"):
            graph = self.exported(nn.Linear(2, 2), torch.zeros(2, 2), attention=choice)
            self.assertNotIn("attention", graph)
            self.assertEqual(len(ops_of(graph, "fwd")), 2)


if __name__ == "__main__":
    unittest.main()
