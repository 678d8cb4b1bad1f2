#include "runtime/ops/attention_ops.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <vector>

namespace placewright {
namespace {

constexpr double kScale = 0.3;

torch::jit::Stack CallPart(const char* name, torch::jit::Stack stack) {
  RegisterAttentionOps();
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
  return stack;
}

std::vector<int64_t> PlaceOf(int64_t from, int64_t to) { return {2, 1, 7, from, to}; }

// Places [0, 3), [3, 4) and [4, 7) of 7, with six heads of queries for two of keys.
TEST(AttentionOps, PartsOfCausalAttentionAreTheWhole) {
  at::manual_seed(5);
  const auto input = [](int64_t heads) { return at::randn({2, heads, 7, 4}, at::kDouble); };
  const at::Tensor q = input(6), k = input(2), v = input(2), grad = input(6);
  const AttentionMask whole = {true, 0, {}, kScale};
  const auto [out, sums] = AttentionByProducts(q, k, v, whole);
  const auto [of_q, of_k, of_v] = AttentionBackwardByProducts(grad, q, k, v, out, sums, whole);
  std::vector<at::Tensor> outs, all_sums, of_queries;
  at::Tensor of_keys = at::zeros_like(k), of_values = at::zeros_like(v);
  const std::vector<int64_t> bounds = {0, 3, 4, 7};
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    const int64_t from = bounds[i], to = bounds[i + 1];
    const at::Tensor own = q.slice(2, from, to);
    const auto made = CallPart("placewright::causal_attention_part",
                               {own, k, v, 0.0, true, PlaceOf(from, to), c10::IValue(), kScale});
    const at::Tensor out_part = made[0].toTensor(), sums_part = made[1].toTensor();
    const auto back = CallPart("placewright::causal_attention_backward_part",
                               {grad.slice(2, from, to), own, k, v, out_part, sums_part, 0.0, true,
                                PlaceOf(from, to), c10::IValue(), kScale});
    outs.push_back(out_part);
    all_sums.push_back(sums_part);
    of_queries.push_back(back[0].toTensor());
    of_keys += back[1].toTensor();
    of_values += back[2].toTensor();
  }
  EXPECT_TRUE(at::allclose(at::cat(outs, 2), out, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(at::cat(all_sums, 2), sums, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(at::cat(of_queries, 2), of_q, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(of_keys, of_k, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(of_values, of_v, 1e-12, 1e-12));
}

// The last of three runs of four places is the places from the ninth on.
TEST(AttentionOps, PlacesAreCountedInRuns) {
  at::manual_seed(6);
  const at::Tensor q = at::randn({1, 2, 12, 4}, at::kDouble),
                   k = at::randn({1, 2, 12, 4}, at::kDouble);
  const std::vector<int64_t> place = {2, 1, 3, 2, 3};
  const auto made = CallPart("placewright::causal_attention_part",
                             {q.slice(2, 8, 12), k, k, 0.0, true, place, c10::IValue(), kScale});
  const auto whole = AttentionByProducts(q, k, k, {true, 0, {}, kScale});
  EXPECT_TRUE(at::allclose(made[0].toTensor(), std::get<0>(whole).slice(2, 8, 12), 1e-12, 1e-12));
}

TEST(AttentionOps, APlaceThatDoesNotFitIsRefused) {
  const at::Tensor q = at::zeros({1, 1, 3, 4}), k = at::zeros({1, 1, 7, 4});
  const auto part = [&](std::vector<int64_t> place) {
    return CallPart("placewright::causal_attention_part",
                    {q, k, k, 0.0, true, place, c10::IValue(), c10::IValue()});
  };
  EXPECT_NO_THROW((void)part(PlaceOf(4, 7)));
  for (const auto& place :
       {PlaceOf(4, 8), PlaceOf(3, 7), std::vector<int64_t>{2, 1, 6, 3, 6},
        std::vector<int64_t>{2, 7, 1, 0, 1}, std::vector<int64_t>{2, 1, 0, 0, 0},
        std::vector<int64_t>{1, 1, 7, 4, 7}, std::vector<int64_t>{}}) {
    EXPECT_THROW((void)part(place), c10::Error);
  }
}

}  // namespace
}  // namespace placewright
