#include "capture/optimizer/optimizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace placewright {
namespace {

at::Tensor OneWithGradient(double gradient) {
  at::Tensor parameter = at::full({1}, 1.0, at::kDouble);
  parameter.mutable_grad() = at::full({1}, gradient, at::kDouble);
  return parameter;
}

// b = g, p = 1 - 0.1 * 2 = 0.8;  b = 0.9 * 2 + 2 = 3.8, p = 0.8 - 0.38 = 0.42.
TEST(Sgd, TwoStepsByHand) {
  const at::Tensor parameter = OneWithGradient(2);
  const auto sgd = MakeSgd({{"p", parameter}}, {.rate = 0.1, .momentum = 0.9});
  sgd->Step();
  EXPECT_NEAR(parameter.item<double>(), 0.8, 1e-15);
  sgd->Step();
  EXPECT_NEAR(parameter.item<double>(), 0.42, 1e-15);
  ASSERT_EQ(sgd->State().size(), 1u);
  EXPECT_EQ(sgd->State()[0].name, "p.momentum");
  EXPECT_NEAR(sgd->State()[0].tensor.item<double>(), 3.8, 1e-15);
}

// beta1 = 0.5, beta2 = 0.75, rate 0.1, epsilon 0.5. g = 2: m = 1, v = 1, m/c1 = 2, v/c2 = 4:
//   p = 1 - 0.1 * 2 / (2 + 0.5) = 0.92.
// g = -1: m = 0, v = 1, so nothing moves. Then g = 1: m = 0.5, v = 1, c1 = 7/8, c2 = 37/64:
//   p = 0.92 - 0.1 (4/7) / (8 / sqrt(37) + 0.5).
TEST(Adam, ThreeStepsByHand) {
  const at::Tensor parameter = OneWithGradient(2);
  const auto adam =
      MakeAdam({{"p", parameter}}, {.rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0.5});
  adam->Step();
  EXPECT_NEAR(parameter.item<double>(), 0.92, 1e-15);
  parameter.mutable_grad().fill_(-1);
  adam->Step();
  EXPECT_NEAR(parameter.item<double>(), 0.92, 1e-15);
  parameter.mutable_grad().fill_(1);
  adam->Step();
  EXPECT_NEAR(parameter.item<double>(), 0.92 - 0.1 * (4.0 / 7) / (8 / std::sqrt(37.0) + 0.5),
              1e-15);
}

}  // namespace
}  // namespace placewright
