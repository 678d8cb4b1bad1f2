#include "runtime/ops/vocabulary_ops.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace placewright {
namespace {

constexpr int64_t kNone = 0, kSum = 2;  // as ATen's losses reduce
constexpr int64_t kIgnore = -7;

at::Tensor LookUpPart(const at::Tensor& weight, const at::Tensor& indices,
                      const std::vector<int64_t>& place) {
  RegisterVocabularyOps();
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("placewright::embedding_part", "")
          .typed<at::Tensor(const at::Tensor&, const at::Tensor&, at::IntArrayRef)>();
  return op.call(weight, indices, place);
}

at::Tensor GradientOfPart(const at::Tensor& grad, const at::Tensor& indices, int64_t num_weights,
                          int64_t padding_idx, const std::vector<int64_t>& place) {
  RegisterVocabularyOps();
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("placewright::embedding_dense_backward_part", "")
                             .typed<at::Tensor(const at::Tensor&, const at::Tensor&, int64_t,
                                               int64_t, at::IntArrayRef)>();
  return op.call(grad, indices, num_weights, padding_idx, place);
}

// Rows 0 to 6 of [10 r, 10 r + 1].
at::Tensor Vocabulary() {
  return at::arange(7, at::kDouble).mul(10).unsqueeze(1).add(at::arange(2, at::kDouble));
}
at::Tensor Words() { return at::tensor({6, 0, 3, 2, 3, 6}, at::kLong).view({2, 3}); }

// Part [2, 5) has rows 2, 3, 4: of the words 6, 0, 3 | 2, 3, 6 it knows 3, 2, 3.
TEST(EmbeddingPart, GivesZerosForWordsOfOthers) {
  const at::Tensor part = LookUpPart(Vocabulary().narrow(0, 2, 3), Words(), {0, 1, 7, 2, 5});
  const std::vector<double> expected = {0, 0, 0, 0, 30, 31, 20, 21, 30, 31, 0, 0};
  EXPECT_TRUE(part.equal(at::tensor(expected, at::kDouble).view({2, 3, 2})));
}

// Rows that no index asks for may hold anything.
TEST(EmbeddingPart, PartsAddUpToTheEmbedding) {
  at::Tensor weight = Vocabulary();
  weight[1].fill_(std::numeric_limits<double>::quiet_NaN());
  at::Tensor sum = at::zeros({2, 3, 2}, at::kDouble);
  for (const auto& [from, to] : {std::pair(0, 2), std::pair(2, 5), std::pair(5, 7)}) {
    sum.add_(LookUpPart(weight.narrow(0, from, to - from), Words(), {0, 1, 7, from, to}));
  }
  EXPECT_TRUE(sum.equal(at::embedding(weight, Words())));
}

// Rows are 2 x 3 x 2; of the middle factor the part has [1, 3): rows 2 to 5 and 8 to 11.
TEST(EmbeddingPart, HasPartsOfAnyFactor) {
  const at::Tensor weight = at::rand({12, 4}, at::kDouble), words = at::arange(12, at::kInt);
  const at::Tensor own = weight.view({2, 3, 2, 4}).narrow(1, 1, 2).reshape({8, 4});
  at::Tensor expected = weight.clone().view({2, 3, 2, 4});
  expected.narrow(1, 0, 1).zero_();
  EXPECT_TRUE(LookUpPart(own, words, {0, 2, 3, 1, 3}).equal(expected.view({12, 4})));
  const at::Tensor gradient = GradientOfPart(weight, words, 8, -1, {0, 2, 3, 1, 3});
  EXPECT_TRUE(gradient.equal(own));
}

TEST(EmbeddingBackwardPart, GivesTheRowsOfTheGradient) {
  const at::Tensor grad = at::rand({2, 3, 2}, at::kDouble);
  for (const int64_t padding : {-1, 0, 3}) {
    const at::Tensor whole = at::embedding_dense_backward(grad, Words(), 7, padding, false);
    for (const auto& [from, to] : {std::pair(0, 2), std::pair(2, 5), std::pair(5, 7)}) {
      const at::Tensor part =
          GradientOfPart(grad, Words(), to - from, padding, {0, 1, 7, from, to});
      EXPECT_TRUE(part.equal(whole.narrow(0, from, to - from))) << padding << " " << from;
    }
  }
}

TEST(EmbeddingPart, RejectsWordsThatThereAreNot) {
  const at::Tensor weight = Vocabulary().narrow(0, 2, 3);
  EXPECT_ANY_THROW(LookUpPart(weight, at::tensor({7}, at::kLong), {0, 1, 7, 2, 5}));
  EXPECT_ANY_THROW(LookUpPart(weight, at::tensor({-1}, at::kLong), {0, 1, 7, 2, 5}));
  EXPECT_ANY_THROW(LookUpPart(weight, Words(), {0, 1, 7, 5, 5}));
  EXPECT_ANY_THROW(LookUpPart(weight, Words(), {0, 1, 7, 2}));
}

std::tuple<at::Tensor, at::Tensor> LossOfPart(const at::Tensor& scores, const at::Tensor& target,
                                              const c10::optional<at::Tensor>& weight,
                                              int64_t reduction,
                                              const std::vector<int64_t>& place) {
  RegisterVocabularyOps();
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("placewright::nll_loss_part", "")
          .typed<std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&,
                                                    const c10::optional<at::Tensor>&, int64_t,
                                                    int64_t, at::IntArrayRef)>();
  return op.call(scores, target, weight, reduction, kIgnore, place);
}

at::Tensor LossGradientOfPart(const at::Tensor& grad, const at::Tensor& scores,
                              const at::Tensor& target, const c10::optional<at::Tensor>& weight,
                              int64_t reduction, const at::Tensor& total,
                              const std::vector<int64_t>& place) {
  RegisterVocabularyOps();
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("placewright::nll_loss_backward_part", "")
          .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                            const c10::optional<at::Tensor>&, int64_t, int64_t, const at::Tensor&,
                            at::IntArrayRef)>();
  return op.call(grad, scores, target, weight, reduction, kIgnore, total, place);
}

// Of the targets 6, 0, 3, 2, one that is ignored, 6, with and without weights of classes; scores of samples, and of the
// pixels of images.
TEST(LossPart, PartsAddUpToTheLossAndItsGradientIsTheirs) {
  for (const bool images : {false, true}) {
    const std::vector<int64_t> shape =
        images ? std::vector<int64_t>{2, 7, 3, 1} : std::vector<int64_t>{6, 7};
    const at::Tensor scores = at::rand(shape, at::kDouble);
    at::Tensor target = at::tensor({6, 0, 3, 2, int(kIgnore), 6}, at::kLong);
    if (images) target = target.view({2, 3, 1});
    for (const bool weighted : {false, true}) {
      const at::Tensor classes = at::arange(1, 8, at::kDouble);
      for (const int64_t reduction : {kNone, kSum}) {
        c10::optional<at::Tensor> weight;
        if (weighted) weight = classes;
        const auto [loss, total] =
            images ? at::nll_loss2d_forward(scores, target, weight, reduction, kIgnore)
                   : at::nll_loss_forward(scores, target, weight, reduction, kIgnore);
        const at::Tensor grad = at::rand_like(loss);
        const at::Tensor gradient =
            images
                ? at::nll_loss2d_backward(grad, scores, target, weight, reduction, kIgnore, total)
                : at::nll_loss_backward(grad, scores, target, weight, reduction, kIgnore, total);
        at::Tensor sum = at::zeros_like(loss), weights = at::zeros_like(total);
        for (const auto& [from, to] : {std::pair(0, 2), std::pair(2, 5), std::pair(5, 7)}) {
          const std::vector<int64_t> place = {1, 1, 7, from, to};
          const at::Tensor own = scores.narrow(1, from, to - from).contiguous();
          if (weighted) weight = classes.narrow(0, from, to - from);
          const auto [part, part_weight] = LossOfPart(own, target, weight, reduction, place);
          sum.add_(part);
          weights.add_(part_weight);
          const at::Tensor columns =
              LossGradientOfPart(grad, own, target, weight, reduction, total, place);
          EXPECT_TRUE(columns.equal(gradient.narrow(1, from, to - from))) << from;
        }
        EXPECT_TRUE(sum.allclose(loss, 1e-14)) << images << weighted << reduction;
        if (reduction == kSum) {
          EXPECT_TRUE(weights.equal(total));
        }
      }
    }
  }
}

TEST(LossPart, RefusesATargetOutsideOfAllClasses) {
  const at::Tensor scores = at::rand({1, 2}, at::kDouble);
  EXPECT_THROW(LossOfPart(scores, at::tensor({7}, at::kLong), {}, kSum, {1, 1, 7, 2, 4}),
               c10::Error);
}

}  // namespace
}  // namespace placewright
