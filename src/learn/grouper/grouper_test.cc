#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "learn/grouper/bridge.h"
#include "learn/grouper/feed_forward.h"
#include "learn/grouper/group_embedding.h"
#include "learn/nn/gradient_check.h"
#include "learn/placer/seq2seq.h"
#include "learn/policy/categorical.h"
#include "learn/policy/grouper_placer.h"

namespace placewright {
namespace {

at::Tensor Longs(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }

// Four units in a chain, with totals 1, 2, 3, 4.
UnitTotals Chain() {
  return {at::tensor({1.0, 2.0, 3.0, 4.0}, at::kDouble).view({4, 1}), Longs({0, 1, 2}),
          Longs({1, 2, 3})};
}

TEST(GroupEmbedding, ByHand) {
  // Units 3 and 1 in group 0, 0 in group 2, 2 in group 3; group 1 is empty. Mean places: 2, -, 0, 2.
  const EmbeddedGroups groups =
      EmbedGroups(Chain(), Longs({2, 0, 3, 0, 1, 1, 1, 1}).view({2, 4}), 4);
  EXPECT_TRUE(at::equal(groups.order[0], Longs({2, 0, 3, 1})));
  EXPECT_TRUE(at::equal(groups.filled[0], at::tensor({1, 1, 1, 0}).to(at::kBool)));
  EXPECT_TRUE(at::allclose(groups.totals[0].squeeze(1),
                           at::tensor({2.0, 7.0, 4.0, 1.0}, at::kDouble).log()));
  const at::Tensor adjacency = at::tensor({0.0, 1.0, 0.0, 0.0,  //
                                           1.0, 0.0, 1.0, 0.0,  //
                                           0.0, 1.0, 0.0, 0.0,  //
                                           0.0, 0.0, 0.0, 0.0},
                                          at::kDouble);
  EXPECT_TRUE(at::equal(groups.adjacency[0], adjacency.view({4, 4})));
  // The second grouping: all in group 1.
  EXPECT_EQ(groups.order[1][0].item<int64_t>(), 1);
  EXPECT_NEAR(groups.totals[1][0].item<double>(), std::log(11), 1e-12);
  EXPECT_EQ(groups.adjacency[1].sum().item<double>(), 0);
}

TEST(FeedForwardGrouper, GradientsAreThoseOfItsFormula) {
  Parameters parameters(Random(1), kDoubles);
  const FeedForwardGrouper grouper(3, 4, 5, "grouper", parameters);
  const at::Tensor x = at::rand({6, 3}, kDoubles);
  ExpectGradients(parameters.tensors(), [&](const std::vector<at::Tensor>&) {
    return std::vector<at::Tensor>{grouper.Logits(x).log_softmax(1)};
  });
  EXPECT_EQ(grouper.OutputWeights().sizes(), at::IntArrayRef({5, 5}));
}

TEST(DrawChoices, FollowTheSoftmax) {
  Random random(3);
  const at::Tensor logits =
      at::tensor({1.0, 2.0, 5.0, 8.0, 0.0, 0.0}, at::kDouble).log().view({2, 3});
  const at::Tensor drawn = DrawChoices(logits, 8000, random);
  ASSERT_EQ(drawn.sizes(), at::IntArrayRef({8000, 2}));
  const at::Tensor first = at::bincount(drawn.select(1, 0), {}, 3);
  EXPECT_NEAR(first[0].item<int64_t>(), 1000, 150);
  EXPECT_NEAR(first[1].item<int64_t>(), 2000, 195);
  EXPECT_NEAR(first[2].item<int64_t>(), 5000, 220);
  EXPECT_FALSE((drawn.select(1, 1) != 0).any().item<bool>());
}

// What a policy says of decisions must be what it drew them by: over many draws the mean of each
// decision's log-probability is minus its entropy.
class GrouperPlacer : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<GrouperPlacerPolicy> MakePolicy() {
    GrouperPlacerOptions options;
    options.groups = 3;
    options.hidden = 4;
    options.bridge = 4;
    if (GetParam()) options.fixed = Longs({0, 0, 2, 2});
    GrouperPlacerInputs inputs{at::rand({4, 3}, kDoubles), Chain(), at::zeros({2}, kDoubles)};
    Seq2SeqOptions placer;
    placer.segment = 0;
    placer.width = 4;
    placer.attention_width = 3;
    return std::make_unique<GrouperPlacerPolicy>(
        std::move(inputs), options,
        [&](int64_t width, Parameters& parameters) {
          return std::make_unique<Seq2SeqPlacer>(width, 2, placer, "placer", parameters);
        },
        std::make_shared<Parameters>(Random(9), kDoubles));
  }
};

TEST_P(GrouperPlacer, EvaluatesWhatItDraws) {
  const auto policy = MakePolicy();
  Random random(4);
  const at::Tensor decisions = policy->Sample(20'000, random, {});
  const int64_t all = GetParam() ? 3 : 7;
  ASSERT_EQ(decisions.size(1), all);
  const at::NoGradGuard no_gradients;
  const Policy::Evaluated e = policy->Evaluate(decisions);
  const at::Tensor mean = e.log_probability.mean(0), entropy = e.entropy.mean(0);
  EXPECT_TRUE(at::allclose(mean, -entropy, 0.02, 0.02)) << mean << entropy;
  if (GetParam()) {  // group 1 has no units: its device counts for nothing
    EXPECT_EQ(e.log_probability.select(1, 1).abs().max().item<double>(), 0);
    EXPECT_LT(e.log_probability.select(1, 0).max().item<double>(), 0);
  }
}

TEST_P(GrouperPlacer, UnitsLieWhereTheirGroupsDo) {
  const auto policy = MakePolicy();
  const at::Tensor row = GetParam() ? Longs({1, 0, 0}) : Longs({2, 0, 1, 0, 1, 0, 1});
  const std::vector<int32_t> wanted =
      GetParam() ? std::vector<int32_t>{1, 1, 0, 0} : std::vector<int32_t>{1, 1, 0, 1};
  std::vector<int32_t> devices;
  for (DeviceId device : policy->DevicesOf(row)) devices.push_back(device.value());
  EXPECT_EQ(devices, wanted);
  EXPECT_EQ(policy->parts(), GetParam() ? std::vector<int64_t>({3}) : std::vector<int64_t>({4, 3}));
}

// The bridge links both halves: what is decided on devices alone moves the grouper's weights.
TEST_P(GrouperPlacer, GradientsReachEveryParameter) {
  const auto policy = MakePolicy();
  Random random(4);
  const at::Tensor decisions = policy->Sample(8, random, {});
  const int64_t placed = policy->parts().back();
  const auto of_devices = [&] {
    const at::Tensor p = policy->Evaluate(decisions).log_probability;
    return p.narrow(1, p.size(1) - placed, placed);
  };
  ExpectGradients(policy->parameters().tensors(), [&](const std::vector<at::Tensor>&) {
    return std::vector<at::Tensor>{of_devices()};
  });
  for (const auto& [name, tensor] : policy->parameters().named()) {
    EXPECT_GT(tensor.grad().abs().sum().item<double>(), 0) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Groupings, GrouperPlacer, testing::Bool());

}  // namespace
}  // namespace placewright
