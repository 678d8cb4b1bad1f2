#include "runtime/ops/newer_ops.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

namespace placewright {
namespace {

torch::jit::Stack Call(const char* name, torch::jit::Stack stack) {
  RegisterNewerOps();
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
  return stack;
}

TEST(NewerOps, SafeSoftmaxGivesZerosWhereThereIsNothing) {
  const double none = -std::numeric_limits<double>::infinity();
  const at::Tensor x = at::tensor({0.0, 0.0, none, none}, at::kDouble).view({2, 2});
  const at::Tensor y = Call("aten::_safe_softmax", {x, int64_t{-1}, c10::IValue()})[0].toTensor();
  EXPECT_TRUE(y.equal(at::tensor({0.5, 0.5, 0.0, 0.0}, at::kDouble).view({2, 2})));
}

// softmax(q k' / 2 + mask) v by hand, and its gradients by LibTorch's own.
TEST(NewerOps, AttentionOfTheCpuIsItsDefinition) {
  for (const bool causal : {false, true}) {
    at::manual_seed(3);
    // As models have them: seen as [batch places heads width].
    const auto input = [](int64_t places) {
      return at::randn({2, places, 3, 4}, at::kDouble).transpose(1, 2).set_requires_grad(true);
    };
    const at::Tensor q = input(5), k = input(causal ? 5 : 6), v = input(causal ? 5 : 6);
    const at::Tensor mask = causal ? at::Tensor() : at::randn({5, 6}, at::kDouble);
    at::Tensor scores = at::matmul(q, k.transpose(2, 3)) / 2;
    if (causal) {
      scores =
          scores + at::full({5, 5}, -std::numeric_limits<double>::infinity(), at::kDouble).triu(1);
    } else {
      scores = scores + mask;
    }
    const at::Tensor expected = at::matmul(at::softmax(scores, -1), v);
    const at::Tensor grad = at::randn(expected.sizes(), at::kDouble);
    const auto gradients = torch::autograd::grad({expected}, {q, k, v}, {grad});
    const at::NoGradGuard no_grad;
    const c10::IValue given = causal ? c10::IValue() : c10::IValue(mask);
    const auto made = Call("aten::_scaled_dot_product_flash_attention_for_cpu",
                           {q.detach(), k.detach(), v.detach(), 0.0, causal, given, c10::IValue()});
    const at::Tensor out = made[0].toTensor(), sums = made[1].toTensor();
    EXPECT_TRUE(at::allclose(out, expected, 1e-12, 1e-12));
    EXPECT_TRUE(at::allclose(sums, at::logsumexp(scores, {-1}), 1e-12, 1e-12));
    EXPECT_NO_THROW((void)out.transpose(1, 2).view({2, 5, 12}));
    const auto plain =
        Call("aten::_scaled_dot_product_flash_attention_for_cpu",
             {q.detach().contiguous(), k.detach(), v.detach(), 0.0, causal, given, c10::IValue()});
    EXPECT_TRUE(plain[0].toTensor().is_contiguous());
    EXPECT_TRUE(at::allclose(plain[0].toTensor(), out, 1e-12, 1e-12));
    const auto back = Call(
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
        {grad, q.detach(), k.detach(), v.detach(), out, sums, 0.0, causal, given, c10::IValue()});
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(at::allclose(back[i].toTensor(), gradients[i], 1e-10, 1e-10)) << i;
      EXPECT_NO_THROW((void)back[i].toTensor().transpose(1, 2).view({2, -1, 12}));
    }
  }
}

// Six heads of queries, two of keys and values: head h of queries reads head h / 3, and its gradient is the sum of three.
TEST(NewerOps, AttentionRepeatsHeadsOfKeys) {
  at::manual_seed(4);
  const auto input = [](int64_t heads) {
    return at::randn({2, heads, 5, 4}, at::kDouble).set_requires_grad(true);
  };
  const at::Tensor q = input(6), k = input(2), v = input(2);
  const at::Tensor keys = k.repeat_interleave(3, 1), values = v.repeat_interleave(3, 1);
  const at::Tensor expected =
      at::matmul(at::softmax(at::matmul(q, keys.transpose(2, 3)) / 2, -1), values);
  const at::Tensor grad = at::randn(expected.sizes(), at::kDouble);
  const auto gradients = torch::autograd::grad({expected}, {q, k, v}, {grad});
  const at::NoGradGuard no_grad;
  const auto made =
      Call("aten::_scaled_dot_product_flash_attention_for_cpu",
           {q.detach(), k.detach(), v.detach(), 0.0, false, c10::IValue(), c10::IValue()});
  const at::Tensor out = made[0].toTensor();
  EXPECT_TRUE(at::allclose(out, expected, 1e-12, 1e-12));
  const auto back = Call("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                         {grad, q.detach(), k.detach(), v.detach(), out, made[1].toTensor(), 0.0,
                          false, c10::IValue(), c10::IValue()});
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(back[i].toTensor().sizes(), gradients[i].sizes()) << i;
    EXPECT_TRUE(at::allclose(back[i].toTensor(), gradients[i], 1e-10, 1e-10)) << i;
  }
}

}  // namespace
}  // namespace placewright
