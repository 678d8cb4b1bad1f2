#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "learn/nn/gradient_check.h"
#include "learn/rl/objective.h"
#include "learn/rl/reward.h"

namespace placewright {
namespace {

TEST(Reward, IsMinusTheRootOfTheTime) {
  Evaluation evaluation;
  evaluation.step_time = Nanos(250'000'000);
  evaluation.feasible = true;
  EXPECT_DOUBLE_EQ(RewardOf(evaluation, {}), -0.5);
  EXPECT_DOUBLE_EQ(RewardOf(evaluation, {Nanos(1'000'000'000), Nanos(4'000'000'000)}), -0.5);
  EXPECT_DOUBLE_EQ(RewardOf(evaluation, {Nanos(250'000'000), Nanos(4'000'000'000)}), -1);
  evaluation.feasible = false;
  EXPECT_DOUBLE_EQ(RewardOf(evaluation, {Nanos(1'000'000'000), Nanos(4'000'000'000)}), -2);
  EXPECT_DOUBLE_EQ(RewardOf(evaluation, {}), -10);
  evaluation.devices = {{Bytes(150), Bytes(50)}, {Bytes(10), Bytes(0)}};
  EXPECT_DOUBLE_EQ(RewardOf(evaluation, {}), -10);
  EXPECT_DOUBLE_EQ(RewardOf(evaluation, {Nanos(1'000'000'000), Nanos(4'000'000'000), Bytes(100)}),
                   -3);
}

TEST(RankedAdvantages, ByHand) {
  using testing::DoubleNear, testing::ElementsAre;
  // Ranks -2, 0, 2 of variance 8 / 3; equal ones share a rank.
  const double step = std::sqrt(1.5);
  EXPECT_THAT(RankedAdvantages(std::vector<double>{-1, -100, -0.5}),
              ElementsAre(DoubleNear(0, 1e-12), DoubleNear(-step, 1e-12), DoubleNear(step, 1e-12)));
  EXPECT_THAT(RankedAdvantages(std::vector<double>{-3, -3, -1, -1}), ElementsAre(-1, -1, 1, 1));
  EXPECT_THAT(RankedAdvantages(std::vector<double>{-3, -3}), ElementsAre(0, 0));
  EXPECT_TRUE(RankedAdvantages({}).empty());
}

TEST(Reward, BaselineByHand) {
  RewardBaseline baseline(0.75);
  EXPECT_DOUBLE_EQ(baseline.Advantage(-2), 0);  // B_1 = R_1
  // B_2 = 0.25 * -1 + 0.75 * -2 = -1.75; B_3 = 0.25 * -3 + 0.75 * -1.75 = -2.0625.
  EXPECT_DOUBLE_EQ(baseline.Advantage(-1), 0.75);
  EXPECT_DOUBLE_EQ(baseline.Advantage(-3), -0.9375);
}

TEST(Reward, BaselineOfAllRewardsByHand) {
  RewardBaseline baseline(1);
  EXPECT_DOUBLE_EQ(baseline.Advantage(-2), 0);
  EXPECT_DOUBLE_EQ(baseline.Advantage(-1), 1);     // over -2
  EXPECT_DOUBLE_EQ(baseline.Advantage(-3), -1.5);  // over -1.5
  RewardBaseline restored(1);
  restored.Restore(baseline.value(), 3);
  EXPECT_DOUBLE_EQ(restored.Advantage(-1), baseline.Advantage(-1));  // over -2
}

at::Tensor Matrix(std::vector<double> values, int64_t rows) {
  return at::tensor(values, at::kDouble).view({rows, -1});
}

TEST(Objective, ReinforceByHand) {
  // (-1 - 2) * 0.5 + (-3 - 4) * -1 = 5.5, over 4 decisions.
  const at::Tensor value =
      ReinforceObjective(Matrix({-1, -2, -3, -4}, 2), at::tensor({0.5, -1.0}, at::kDouble));
  EXPECT_DOUBLE_EQ(value.item<double>(), 1.375);
}

// Ratios 2, 1.1 and 0.5, 0.9 with a clip of 0.2.
const std::vector<double> kLogRatios = {std::log(2), std::log(1.1), std::log(0.5), std::log(0.9)};

TEST(Objective, ClippedByHand) {
  // A = 1: min(2, 1.2) + min(1.1, 1.1); A = -1: min(-0.5, -0.8) + min(-0.9, -0.9).
  const at::Tensor value = ClippedObjective(Matrix(kLogRatios, 2), at::zeros({2, 2}, at::kDouble),
                                            at::tensor({1.0, -1.0}, at::kDouble));
  EXPECT_NEAR(value.item<double>(), (1.2 + 1.1 - 0.8 - 0.9) / 4, 1e-12);
}

TEST(Objective, ClippedWithJointRatios) {
  // Ratios 2.2 and 0.45: min(2.2, 1.2) and min(-0.45, -0.8).
  const at::Tensor value = ClippedObjective(Matrix(kLogRatios, 2), at::zeros({2, 2}, at::kDouble),
                                            at::tensor({1.0, -1.0}, at::kDouble), {0.2, true});
  EXPECT_NEAR(value.item<double>(), (1.2 - 0.8) / 2, 1e-12);
  // Far away it stays finite.
  const at::Tensor far = ClippedObjective(Matrix({900, 900}, 1), at::zeros({1, 2}, at::kDouble),
                                          at::tensor({-1.0}, at::kDouble), {0.2, true});
  EXPECT_NEAR(far.item<double>(), -std::exp(20.0), 1);
}

TEST(Objective, NothingIsClimbedBeyondTheClip) {
  // A decision whose ratio is already above 1.2 with A > 0 has no gradient, the other one has.
  at::Tensor log_probability = Matrix({std::log(2), std::log(1.1)}, 1).requires_grad_();
  ClippedObjective(log_probability, at::zeros({1, 2}, at::kDouble), at::tensor({1.0}, at::kDouble))
      .backward();
  EXPECT_EQ(log_probability.grad()[0][0].item<double>(), 0);
  EXPECT_NEAR(log_probability.grad()[0][1].item<double>(), 1.1 / 2, 1e-12);
}

}  // namespace
}  // namespace placewright
