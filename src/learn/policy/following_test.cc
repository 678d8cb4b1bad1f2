#include "learn/policy/following.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "learn/encoder/graph_sage.h"
#include "learn/placer/independent.h"

namespace placewright {
namespace {

// Seven units on three devices; plan 0 has all on device 0, plan 1 on device 1, and plan 2 cuts them in
// the middle.
struct Followed {
  Followed() {
    parameters = std::make_shared<Parameters>(Random(3), at::TensorOptions().dtype(at::kFloat));
    UnitGraph graph{
        at::rand({7, 4}), SampleNeighbours(7, {}, 2, Random(1)), {}, at::zeros({7, 3}), {}};
    auto encoder = std::make_unique<GraphSageEncoder>(4, GraphSageEncoder::Options{1, 5}, "encoder",
                                                      *parameters);
    auto inner = std::make_unique<EncoderPlacerPolicy>(
        graph, std::move(encoder),
        [](int64_t width, Parameters& of) -> std::unique_ptr<PlacerNet> {
          return std::make_unique<MlpPlacer>(width, 3, 6, "placer", of);
        },
        0, parameters);
    at::Tensor plans = at::zeros({7, 3, 3});
    for (int64_t unit = 0; unit < 7; ++unit) {
      plans[unit][0][0] = 1;
      plans[unit][1][1] = 1;
      plans[unit][unit < 3 ? 0 : 2][2] = 1;
    }
    const at::Tensor said = at::tensor({0.1F, 0.3F, 0.5F, -0.2F, 0.0F, 0.4F}).view({3, 2});
    policy = std::make_unique<FollowingPolicy>(std::move(inner), plans, said, 0, parameters);
  }
  at::Tensor Value(const std::string& name) const {
    for (const auto& [other, tensor] : parameters->named()) {
      if (other == name) return tensor;
    }
    return {};
  }

  std::shared_ptr<Parameters> parameters;
  std::unique_ptr<FollowingPolicy> policy;
};

TEST(FollowingPolicy, PlacementsFollowOnePlan) {
  const Followed f;
  EXPECT_EQ(f.policy->parts(), (std::vector<int64_t>{1, 7}));
  Random random(7);
  const at::Tensor drawn = f.policy->Sample(2000, random, {});
  ASSERT_EQ(drawn.sizes(), (at::IntArrayRef{2000, 8}));
  std::vector<int64_t> modes(4, 0);
  double deviations = 0, followed = 0;
  for (int64_t k = 0; k < 2000; ++k) {
    const auto mode = drawn[k][0].item<int64_t>();
    ++modes[static_cast<size_t>(mode)];
    if (mode != 2) continue;
    ++followed;
    deviations += (drawn[k].narrow(0, 1, 7) != 1).sum().item<double>();
  }
  for (const int64_t count : modes) EXPECT_NEAR(count, 500, 100);  // alike at first
  EXPECT_GT(deviations / followed, 0.5);
  EXPECT_LT(deviations / followed, 4);  // about two units do otherwise
}

// By hand: with w = (0.1, 0.2) and b = (0.5, 0, 0, 1), logits 0.5, 50 (0.01 + 0.06), 50 (0.05 - 0.04), and
// 1 + 50 * 0.08, of which each probability gives up a tenth to all alike.
TEST(FollowingPolicy, ChoosesByWhatIsSaidOfPlans) {
  const Followed f;
  {
    const at::NoGradGuard no_gradients;
    f.Value("mode").copy_(at::tensor({0.1F, 0.2F}).view({1, 2}));
    f.Value("mode_bias").copy_(at::tensor({0.5F, 0.0F, 0.0F, 1.0F}));
  }
  const std::array<double, 4> logits = {0.5, 3.5, 0.5, 5.0};
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  for (int64_t mode = 0; mode < 4; ++mode) {
    at::Tensor row = at::zeros({1, 8}, at::kLong);
    row[0][0] = mode;
    const double probability = f.policy->Evaluate(row).log_probability[0][0].exp().item<double>();
    EXPECT_NEAR(probability, 0.9 * std::exp(logits[static_cast<size_t>(mode)]) / sum + 0.1 / 4,
                1e-5);
  }
}

// Whatever has been learned, no device is likelier for a unit than the one of the plan that it follows.
TEST(FollowingPolicy, LikeliestPlacementsArePlans) {
  const Followed f;
  {
    const at::NoGradGuard no_gradients;
    for (const auto& [name, tensor] : f.parameters->named()) tensor.mul_(1000);
    f.Value("bounded_trust_bias").fill_(-1000);
  }
  const std::vector<std::vector<int64_t>> plans = {
      {0, 0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 2, 2, 2, 2}};
  bool moves = false;
  for (int64_t plan = 0; plan < 3; ++plan) {
    const at::Tensor units = at::tensor(plans[static_cast<size_t>(plan)]);
    const auto row = [&](const at::Tensor& of_units) {
      return at::cat({at::full({1}, plan + 1, at::kLong), of_units}).view({1, 8});
    };
    const at::Tensor as_plan = f.policy->Evaluate(row(units)).log_probability;
    for (int64_t shift = 1; shift < 3; ++shift) {
      const at::Tensor other = f.policy->Evaluate(row((units + shift) % 3)).log_probability;
      EXPECT_TRUE((as_plan >= other).all().item<bool>()) << plan << '+' << shift;
      moves |= (other.narrow(1, 1, 7) > std::log(0.3)).any().item<bool>();
    }
  }
  EXPECT_TRUE(moves);  // others are drawn, too
}

// Probabilities are those with which it draws.
TEST(FollowingPolicy, ProbabilitiesAreThoseOfItsDraws) {
  const Followed f;
  {
    const at::NoGradGuard no_gradients;
    f.Value("mode_bias").copy_(at::tensor({0.5F, -0.5F, 1.0F, 0.0F}));
    f.Value("bounded_trust_bias").copy_(at::tensor({0.3F, -0.7F, 0.2F}));
  }
  Random random(7);
  const at::Tensor drawn = f.policy->Sample(20000, random, {});
  const Policy::Evaluated evaluated = f.policy->Evaluate(drawn);
  for (int64_t mode = 0; mode < 4; ++mode) {
    const at::Tensor of_mode = drawn.select(1, 0) == mode;
    const auto share = of_mode.to(at::kFloat).mean().item<double>();
    const at::Tensor rows = of_mode.nonzero().squeeze(1);
    EXPECT_NEAR(evaluated.log_probability[rows[0].item<int64_t>()][0].exp().item<double>(), share,
                0.015);
    // Of unit 4 given the mode.
    const at::Tensor units = drawn.index_select(0, rows).select(1, 5);
    for (int64_t k = 0; k < 5; ++k) {
      const double probability =
          evaluated.log_probability[rows[k].item<int64_t>()][5].exp().item<double>();
      const auto often = (units == units[k]).to(at::kFloat).mean().item<double>();
      EXPECT_NEAR(often, probability, 0.04);
    }
  }
}

TEST(FollowingPolicy, KnowsWhichPlanAPlacementFollows) {
  const Followed f;
  const auto on = [](const std::vector<int32_t>& devices) {
    std::vector<DeviceId> ids;
    for (const int32_t device : devices) ids.push_back(DeviceId(device));
    return ids;
  };
  const auto cut = on({0, 0, 0, 2, 2, 2, 2}), most_on_one = on({1, 1, 0, 1, 1, 2, 1});
  EXPECT_EQ(f.policy->DecisionsFor(cut)[0].item<int64_t>(), 3);
  const at::Tensor row = f.policy->DecisionsFor(most_on_one);
  EXPECT_EQ(row[0].item<int64_t>(), 2);
  EXPECT_EQ(f.policy->DevicesOf(row), most_on_one);
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    const at::Tensor varied = f.policy->Varied(row, random);
    EXPECT_EQ(varied[0].item<int64_t>(), 2);  // the plan stays
    EXPECT_EQ((varied != row).sum().item<int64_t>(), 1);
  }
}

TEST(FollowingPolicy, AllItsParametersLearn) {
  const Followed f;
  Random random(7);
  const at::Tensor drawn = f.policy->Sample(50, random, {});
  const Policy::Evaluated evaluated = f.policy->Evaluate(drawn);
  const at::Tensor weights = at::arange(50 * 8, at::kFloat).view({50, 8}).cos();
  (evaluated.log_probability * weights).sum().backward();
  for (const char* name :
       {"mode", "mode_bias", "bounded_trust", "bounded_trust_bias", "encoder.0.pool"}) {
    ASSERT_TRUE(f.Value(name).grad().defined()) << name;
    EXPECT_GT(f.Value(name).grad().abs().sum().item<double>(), 0) << name;
  }
}

}  // namespace
}  // namespace placewright
