#include "learn/rl/trainer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "learn/policy/categorical.h"
#include "learn/policy/table.h"

namespace placewright {
namespace {

std::shared_ptr<Parameters> NoParameters() {
  return std::make_shared<Parameters>(Random(1), at::TensorOptions().dtype(at::kFloat));
}

TEST(Categorical, NoiseDrawsTheSoftmax) {
  // Logits log 1, log 2, log 5: shares 1/8, 2/8, 5/8; 8,000 draws, five standard deviations.
  Random random(5);
  const at::Tensor logits = at::tensor({1.0, 2.0, 5.0}, at::kDouble).log();
  const at::Tensor noise = GumbelNoise({8000, 3}, logits.options(), random);
  const at::Tensor counts = at::bincount((logits + noise).argmax(-1), {}, 3);
  EXPECT_NEAR(counts[0].item<int64_t>(), 1000, 150);
  EXPECT_NEAR(counts[1].item<int64_t>(), 2000, 195);
  EXPECT_NEAR(counts[2].item<int64_t>(), 5000, 220);
}

TEST(Categorical, ByHandAndWithoutWhatIsForbidden) {
  // Shares 1/4 and 3/4; the third is never chosen, which leaves the gradient finite.
  at::Tensor logits =
      at::tensor({std::log(1.0), std::log(3.0), -INFINITY}, at::kDouble).view({1, 3});
  logits.requires_grad_();
  const Policy::Evaluated e = EvaluateChoices(logits, at::tensor({1}, at::kLong));
  EXPECT_NEAR(e.log_probability.item<double>(), std::log(0.75), 1e-12);
  EXPECT_NEAR(e.entropy.item<double>(), -0.25 * std::log(0.25) - 0.75 * std::log(0.75), 1e-12);
  (e.entropy.sum() + e.log_probability.sum()).backward();
  EXPECT_TRUE(logits.grad().isfinite().all().item<bool>());
}

TEST(Categorical, MixedWithTheUniformByHand) {
  at::Tensor logits =
      at::tensor({std::log(1.0), std::log(3.0), -INFINITY}, at::kDouble).view({1, 3});
  logits.requires_grad_();
  const at::Tensor mixed = MixUniform(logits, 0.2).exp();
  EXPECT_NEAR(mixed[0][0].item<double>(), 0.8 * 0.25 + 0.1, 1e-12);
  EXPECT_NEAR(mixed[0][1].item<double>(), 0.8 * 0.75 + 0.1, 1e-12);
  EXPECT_EQ(mixed[0][2].item<double>(), 0);
  EvaluateChoices(MixUniform(logits, 0.2), at::tensor({1}, at::kLong))
      .log_probability.sum()
      .backward();
  EXPECT_TRUE(logits.grad().isfinite().all().item<bool>());
  EXPECT_EQ(UniformShare(2, 100), 0.02);
  EXPECT_EQ(UniformShare(2, 4), 0.2);
}

// What is drawn has the probability that the policy says it has.
TEST(TablePolicy, DrawsFromTheMixture) {
  const std::shared_ptr<Parameters> parameters = NoParameters();
  const TablePolicy policy(at::zeros({1, 3}), 0.3, parameters);
  {
    const at::NoGradGuard no_gradients;
    parameters->tensors().front().copy_(at::tensor({0.0F, 9.0F, 0.0F}).view({1, 3}));
  }
  Random random(2);
  constexpr int64_t kDraws = 20'000;
  const at::Tensor counts = policy.Sample(kDraws, random, {}).view({-1}).bincount({}, 3);
  for (int64_t device = 0; device < 3; ++device) {
    const double probability =
        policy.Evaluate(at::full({1, 1}, device, at::kLong)).log_probability.exp().item<double>();
    EXPECT_NEAR(counts[device].item<double>() / kDraws, probability, 0.01);
  }
}

TEST(TablePolicy, StartsUniformOverWhatIsAllowed) {
  at::Tensor forbidden = at::zeros({2, 3});
  forbidden[1][0] = -INFINITY;
  const TablePolicy policy(forbidden, 0, NoParameters());
  Random random(1);
  const at::Tensor decisions = policy.Sample(100, random, {});
  EXPECT_FALSE((decisions.select(1, 1) == 0).any().item<bool>());
  const Policy::Evaluated e = policy.Evaluate(decisions);
  EXPECT_TRUE(at::allclose(e.log_probability.select(1, 0), at::full({100}, -std::log(3.0))));
  EXPECT_TRUE(at::allclose(e.log_probability.select(1, 1), at::full({100}, -std::log(2.0))));
}

TEST(PolicyOptimizer, ClimbsAsAdamDoes) {
  // The gradient of 3 x + y is (3, 1), of norm sqrt 10 and bounded to 1. Every first step of Adam is
  // as long as the learning rate; the second, of the same gradient, too.
  const std::shared_ptr<Parameters> parameters = NoParameters();
  const at::Tensor x = parameters->Constant("x", {1}, 0), y = parameters->Constant("y", {1}, 5);
  PolicyOptimizer optimizer(parameters, 0.1, 1);
  for (int step = 1; step <= 2; ++step) {
    optimizer.Climb((3 * x + y).sum());
    EXPECT_NEAR(x.item<double>(), 0.1 * step, 1e-5);
    EXPECT_NEAR(y.item<double>(), 5 + 0.1 * step, 1e-5);
  }
  // Stored and restored it goes on in the same way.
  StoredPolicy stored;
  StateWriter writer(stored, "a.");
  optimizer.Store(writer);
  const double x_before = x.item<double>(), y_before = y.item<double>();
  optimizer.Climb((x * x * x - y).sum());
  const double x_after = x.item<double>();
  {
    const at::NoGradGuard no_gradients;
    x.fill_(x_before);
    y.fill_(y_before);
  }
  PolicyOptimizer again(parameters, 0.1, 1);
  ASSERT_TRUE(again.Restore(StateReader(stored, "a.")).ok());
  again.Climb((x * x * x - y).sum());
  EXPECT_EQ(x.item<double>(), x_after);
  EXPECT_EQ(again.Restore(StateReader(stored, "b.")).error().code, ErrorCode::kField);
}

// Each of 6 units has one right device of 3; the reward counts how many are wrong.
class Learning : public testing::TestWithParam<TrainerOptions::Algorithm> {};

TEST_P(Learning, FindsTheRightDevices) {
  const at::Tensor right = at::tensor({0, 1, 2, 2, 1, 0}, at::kLong);
  const std::shared_ptr<Parameters> parameters = NoParameters();
  TablePolicy policy(at::zeros({6, 3}), 0, parameters);
  TrainerOptions options;
  options.algorithm = GetParam();
  options.learning_rate = 0.05;
  Trainer trainer(
      policy,
      std::make_shared<PolicyOptimizer>(parameters, options.learning_rate, options.gradient_norm),
      options, Random(7));
  std::vector<double> wrong;  // mean of the last draws
  for (int i = 0; i < 100; ++i) {
    const at::Tensor decisions = trainer.Draw();
    ASSERT_EQ(decisions.size(0), options.draw);
    std::vector<double> rewards;
    for (int64_t k = 0; k < options.draw; ++k) {
      rewards.push_back(-(decisions[k] != right).sum().item<double>());
    }
    trainer.Observe(decisions, rewards);
    EXPECT_EQ(trainer.UpdateIsDue(), i % 2 == 1);
    trainer.Learn();
    EXPECT_FALSE(trainer.UpdateIsDue());
    wrong.push_back(-std::accumulate(rewards.begin(), rewards.end(), 0.0) / 10);
  }
  EXPECT_GT(wrong.front(), 3);  // 4 of 6 by chance
  EXPECT_LT(wrong.back(), 1);
}

// Steps of several trainers are up the mean of their objectives: two of the same learn as one does, and
// two that want the opposite learn nothing.
TEST(Trainer, LearnsTogether) {
  TrainerOptions options;
  options.update = 10;
  options.minibatches = 2;
  const at::Tensor drawn = at::zeros({10, 3}, at::kLong);
  std::vector<double> rewards;
  for (int64_t k = 0; k < 10; ++k) {
    drawn[k][0] = k % 2;
    drawn[k][1] = k % 3;
    rewards.push_back(-static_cast<double>((k % 2) + 2 * (k % 3)));
  }
  const std::vector<double> opposite = [&] {
    std::vector<double> negative;
    for (const double reward : rewards) negative.push_back(-reward);
    return negative;
  }();
  const auto learned = [&](size_t trainers, bool opposed) {
    const std::shared_ptr<Parameters> parameters = NoParameters();
    TablePolicy policy(at::zeros({3, 3}), 0, parameters);
    const auto optimizer = std::make_shared<PolicyOptimizer>(parameters, 0.05, 1.0, !opposed);
    std::vector<std::unique_ptr<Trainer>> all;
    std::vector<Trainer*> pointers;
    for (size_t i = 0; i < trainers; ++i) {
      all.push_back(std::make_unique<Trainer>(policy, optimizer, options, Random(1)));
      all.back()->Observe(drawn, opposed && i == 1 ? opposite : rewards);
      pointers.push_back(all.back().get());
    }
    Trainer::LearnTogether(pointers, {});
    for (Trainer* trainer : pointers) EXPECT_TRUE(trainer->AtUpdate());
    return parameters->tensors()[0].detach().clone();
  };
  const at::Tensor one = learned(1, false);
  EXPECT_GT(one.abs().max().item<double>(), 0.05);
  EXPECT_TRUE(at::allclose(learned(2, false), one, 1e-5, 1e-6));
  // Adam would make steps of any size from what is left of rounding: plain ones.
  EXPECT_LT(learned(2, true).abs().max().item<double>(), 1e-3);
}

// The best placement of an earlier update stands beside the new ones: where those are all alike and
// give no direction of their own, it alone is learned from.
TEST(Trainer, LearnsFromTheBestAgain) {
  const auto likelihood = [](int64_t replay) {
    const std::shared_ptr<Parameters> parameters = NoParameters();
    TablePolicy policy(at::zeros({1, 2}), 0, parameters);
    TrainerOptions options;
    options.update = 10;
    options.advantages = TrainerOptions::Advantages::kRanked;
    options.replay = replay;
    options.entropy = 0;
    Trainer trainer(policy, std::make_shared<PolicyOptimizer>(parameters, 0.05, 1.0), options,
                    Random(1));
    at::Tensor first = at::zeros({10, 1}, at::kLong);
    first[3][0] = 1;
    std::vector<double> rewards(10, -2);
    rewards[3] = -1;
    trainer.Observe(first, rewards);
    trainer.Learn();
    for (int i = 0; i < 5; ++i) {
      trainer.Observe(at::zeros({10, 1}, at::kLong), std::vector<double>(10, -2));
      trainer.Learn();
    }
    return policy.Evaluate(at::ones({1, 1}, at::kLong)).log_probability.item<double>();
  };
  EXPECT_GT(likelihood(1), likelihood(0) + 0.1);
}

INSTANTIATE_TEST_SUITE_P(All, Learning,
                         testing::Values(TrainerOptions::Algorithm::kReinforce,
                                         TrainerOptions::Algorithm::kPpo,
                                         TrainerOptions::Algorithm::kPpoCrossEntropy));

}  // namespace
}  // namespace placewright
