"""What stands for an operator that a device has not: it gives what the CPU's operator gives."""

from support import SKIPPED, VERSION  # first

import itertools
import sys
import unittest

import torch

if VERSION < (2, 6):
    print(f"SKIPPED: PyTorch {torch.__version__} is older than 2.6, which apply needs")
    sys.exit(SKIPPED)

from placewright.applied import device_ops
from placewright.applied.errors import ApplyError

ATEN = torch.ops.aten


def call(dtype, causal=False, masked=False, heads=4, groups=4, rows=12, columns=12, size=16):
    """(query, key, value, mask, is_causal, scale) and a gradient of the output."""
    torch.manual_seed(3)
    query = torch.randn(2, heads, rows, size, dtype=dtype)
    key, value = (torch.randn(2, groups, columns, size, dtype=dtype) for _ in range(2))
    mask = None
    if masked:
        mask = torch.zeros(2, 1, rows, columns, dtype=dtype)
        mask[:, :, :, columns // 2:] = -1e4
        mask[0, 0, :, 0] = float("-inf")
    return (query, key, value, mask, causal, 0.3), torch.randn_like(query)


def apart(found, wanted):
    """The largest distance of two lists of tensors."""
    return max((a.double() - b.double()).abs().max().item()
               for a, b in zip(found, wanted, strict=True))


class DeviceOpsTest(unittest.TestCase):
    def test_products_are_the_operator(self):
        for dtype, causal, masked in itertools.product((torch.float64, torch.float32),
                                                       (False, True), (False, True)):
            with self.subTest(dtype=dtype, causal=causal, masked=masked):
                given, grad = call(dtype, causal, masked)
                query, key, value, mask, is_causal, scale = given
                wanted = ATEN._scaled_dot_product_flash_attention_for_cpu.default(
                    query, key, value, 0.0, is_causal, attn_mask=mask, scale=scale)
                limit = 1e-12 if dtype == torch.float64 else 1e-5
                self.assertLess(apart(device_ops.products(*given), wanted), limit)
                gradients = ATEN._scaled_dot_product_flash_attention_for_cpu_backward.default(
                    grad, query, key, value, *wanted, 0.0, is_causal, attn_mask=mask, scale=scale)
                found = device_ops.products_backward(grad, query, key, value, *wanted, mask,
                                                     is_causal, scale)
                self.assertLess(apart(found, gradients), limit)

    def test_fewer_heads_of_keys(self):
        """Their gradients are the sums over the queries that share them."""
        given, grad = call(torch.float64, causal=True, groups=2)
        query, key, value, mask, is_causal, scale = given
        output, logarithms = device_ops.products(*given)
        found = device_ops.products_backward(grad, query, key, value, output, logarithms, mask,
                                             is_causal, scale)
        leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
        repeated = [leaves[0], *(leaf.repeat_interleave(2, 1) for leaf in leaves[1:])]
        torch.nn.functional.scaled_dot_product_attention(
            *repeated, is_causal=True, scale=scale).backward(grad)
        self.assertLess(apart(found, [leaf.grad for leaf in leaves]), 1e-12)
        self.assertEqual(found[1].shape, key.shape)

    def test_parts_of_places_under_a_causal_mask(self):
        """Outputs are rows of the whole's; gradients of keys and values add up to the whole's."""
        for groups in (1, 2):
            given, grad = call(torch.float64, causal=True, groups=groups)
            query, key, value, _, _, scale = given
            wanted = device_ops.products(*given)
            gradients = device_ops.products_backward(grad, query, key, value, *wanted, None, True,
                                                     scale)
            outputs, of_queries, of_keys, of_values = [], [], 0, 0
            for begin, end in ((0, 5), (5, 6), (6, 12)):
                rows = [one[:, :, begin:end] for one in (grad, query)]
                made = device_ops.causal_part(rows[1], key, value, begin, scale)
                of_query, of_key, of_value = device_ops.causal_part_backward(
                    *rows, key, value, *made, begin, scale)
                outputs.append(made)
                of_queries.append(of_query)
                of_keys, of_values = of_keys + of_key, of_values + of_value
            found = [torch.cat(one, 2) for one in zip(*outputs)]
            self.assertLess(apart(found, wanted), 1e-12)
            found = [torch.cat(of_queries, 2), of_keys, of_values]
            self.assertLess(apart(found, gradients), 1e-12)

    def test_operators_of_gpus_on_the_cpu(self):
        """With logarithms padded as a GPU has them, and without dropout alone."""
        given, grad = call(torch.float32, masked=True)
        query, key, value, mask, is_causal, scale = given
        efficient = device_ops.operator_on(
            "aten._scaled_dot_product_efficient_attention.default", "cpu")
        backward = device_ops.operator_on(
            "aten._scaled_dot_product_efficient_attention_backward.default", "cpu")
        output, logarithms, seed, offset = efficient(query, key, value, mask, True, scale=scale)
        self.assertEqual(list(logarithms.shape), [2, 4, 32])
        wanted = device_ops.products(*given)
        self.assertLess(apart([output, logarithms[..., :12]], wanted), 1e-12)
        found = backward(grad, query, key, value, mask, output, logarithms, seed, offset, 0.0,
                         [True, True, True, False], scale=scale)
        self.assertLess(apart(found[:3], device_ops.products_backward(
            grad, query, key, value, *wanted, mask, is_causal, scale)), 1e-12)
        with self.assertRaisesRegex(ApplyError, "dropout"):
            efficient(query, key, value, mask, True, 0.5, scale=scale)

    def test_norms_with_weights_of_another_type(self):
        """A GPU computes them in the weights' type; the CPU's own results are as near as their
        type allows."""
        torch.manual_seed(3)
        x, grad = (torch.randn(2, 6, 8).bfloat16() for _ in range(2))
        weight, bias = torch.randn(8), torch.randn(8)
        channels = torch.randn(6), torch.randn(6)
        for name, given, of in (
                ("layer", (x, [8], weight, bias, 1e-5), lambda mean, scale: (
                    grad, x, [8], mean, scale, weight, bias, [True, True, True])),
                ("group", (x, *channels, 2, 6, 8, 3, 1e-5), lambda mean, scale: (
                    grad, x, mean, scale, channels[0], 2, 6, 8, 3, [True, True, True]))):
            with self.subTest(norm=name):
                own = f"aten.native_{name}_norm"
                for target, arguments in ((f"{own}.default", lambda _: given),
                                          (f"{own}_backward.default", lambda made: of(*made[1:]))):
                    plain = device_ops.op_schemas.operator_of(target)
                    if not target.endswith("backward.default"):
                        made = plain(*given)
                    wanted = plain(*arguments(made))
                    found = device_ops.operator_on(target, "cuda")(*arguments(made))
                    self.assertEqual([one.dtype for one in found], [one.dtype for one in wanted])
                    self.assertLess(apart(found, wanted), 0.05)

    def test_no_kernel_for_the_device(self):
        """It is refused by its name; CPUs have what they recorded."""
        with self.assertRaisesRegex(ApplyError, "_cslt_compress.*cpu"):
            device_ops.operator_on("aten._cslt_compress.default", "cpu")
        for target in ("aten.convolution.default", "aten.native_batch_norm.default",
                       "aten.addmm.default", "aten.zeros.default", "aten.t.default"):
            self.assertIs(device_ops.operator_on(target, "cpu"),
                          device_ops.op_schemas.operator_of(target))


if __name__ == "__main__":
    unittest.main()
