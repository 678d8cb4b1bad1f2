#include "runtime/ops/random_ops.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/ops/philox.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

// The known answers that come with the authors' Random123, philox4x32 of 10 rounds.
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_THAT(Philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  constexpr uint32_t kAll = 0xffffffff;
  EXPECT_THAT(Philox({kAll, kAll, kAll, kAll}, {kAll, kAll}),
              ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  EXPECT_THAT(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
}

at::Tensor Draw(at::Tensor self, int64_t step, int64_t draw, double p,
                const std::vector<int64_t>& place, int64_t seed = 7) {
  RegisterRandomOps();
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("placewright::counter_bernoulli_", "")
                             .typed<at::Tensor&(at::Tensor&, const at::Tensor&, int64_t, int64_t,
                                                double, at::IntArrayRef)>();
  return op.call(self, at::full({}, step, at::kLong), seed, draw, p, place);
}

at::Tensor DrawWhole(int64_t step, int64_t draw, double p = 0.7, int64_t seed = 7) {
  return Draw(at::empty({6, 10, 8}, at::kDouble), step, draw, p, {}, seed);
}

// Of a share p of 480 numbers, within 5 deviations of sqrt(480 p (1 - p)).
TEST(CounterDraws, FollowSeedStepAndDraw) {
  const at::Tensor one = DrawWhole(0, 0);
  EXPECT_TRUE(one.equal(DrawWhole(0, 0)));
  EXPECT_NEAR(one.sum().item<double>(), 336, 50);
  for (const at::Tensor& other : {DrawWhole(1, 0), DrawWhole(0, 1), DrawWhole(0, 0, 0.7, 8)}) {
    // Two draws of 0.7 agree in 0.58 of all places: 278.
    EXPECT_NEAR(one.eq(other).sum().item<double>(), 278, 54);
  }
  EXPECT_EQ(DrawWhole(0, 0, 0).sum().item<double>(), 0);
  EXPECT_EQ(DrawWhole(0, 0, 1).sum().item<double>(), 480);
}

// Dimension 1 is 5 x 2: parts of both factors, and of the other dimensions.
TEST(CounterDraws, APartDrawsThePartOfTheWhole) {
  const at::Tensor whole = DrawWhole(3, 2);
  const auto part = [&](std::vector<int64_t> shape, const std::vector<int64_t>& place) {
    return Draw(at::empty(shape, at::kFloat), 3, 2, 0.7, place).to(at::kDouble);
  };
  EXPECT_TRUE(part({2, 10, 8}, {0, 1, 6, 3, 5}).equal(whole.narrow(0, 3, 2)));
  EXPECT_TRUE(part({6, 6, 8}, {1, 1, 5, 1, 4}).equal(whole.narrow(1, 2, 6)));
  const at::Tensor inner = whole.view({6, 5, 2, 8}).narrow(2, 1, 1).reshape({6, 5, 8});
  EXPECT_TRUE(part({6, 5, 8}, {1, 5, 2, 1, 2}).equal(inner));
  EXPECT_TRUE(part({6, 10, 3}, {2, 1, 8, 5, 8}).equal(whole.narrow(2, 5, 3)));
  // In the tensor's own strides.
  const at::Tensor turned = at::empty({8, 10, 6}, at::kDouble).transpose(0, 2);
  EXPECT_TRUE(Draw(turned, 3, 2, 0.7, {}).equal(whole));
  EXPECT_ANY_THROW(part({2, 10, 8}, {0, 1, 6, 5, 8}));
}

at::Tensor DrawNew(const char* distribution, double a, double b, std::vector<int64_t> size,
                   std::vector<int64_t> place, at::ScalarType type = at::kDouble) {
  RegisterRandomOps();
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("placewright::counter_draw_new", "");
  std::vector<c10::IValue> stack = {c10::List<int64_t>(at::IntArrayRef(size)),
                                    at::full({}, 3, at::kLong),
                                    int64_t{7},
                                    int64_t{2},
                                    std::string(distribution),
                                    a,
                                    b,
                                    c10::List<int64_t>(at::IntArrayRef(place)),
                                    static_cast<int64_t>(type),
                                    {},
                                    {},
                                    {}};
  op.callBoxed(&stack);
  return stack[0].toTensor();
}

// 60,000 numbers: the median within 5 of its deviations, about 1 / (2 sqrt(n) density): 0.002 over the density.
TEST(CounterDraws, NumbersFollowTheirDistribution) {
  struct DistributionCase {
    const char* name;
    double a, b, median, density;
  };
  const DistributionCase cases[] = {{"uniform", -1, 3, 1, 0.25},
                                    {"normal", 1, 2, 1, 0.2},
                                    {"exponential", 2, 0, 0.3466, 1},
                                    {"log_normal", 0, 0.5, 1, 0.8},
                                    {"cauchy", 0, 1, 0, 0.318}};
  for (const DistributionCase& c : cases) {
    const at::Tensor whole = DrawNew(c.name, c.a, c.b, {60, 1000}, {});
    EXPECT_NEAR(whole.median().item<double>(), c.median, 0.01 / c.density) << c.name;
    EXPECT_TRUE(
        DrawNew(c.name, c.a, c.b, {7, 1000}, {0, 1, 60, 11, 18}).equal(whole.narrow(0, 11, 7)));
    EXPECT_TRUE(DrawNew(c.name, c.a, c.b, {60, 333}, {1, 1, 1000, 334, 667})
                    .equal(whole.narrow(1, 334, 333)));
  }
  // Means 0 and 1 / 0.4; deviations 2 and 1.94 of one number.
  EXPECT_NEAR(DrawNew("integers", -3, 4, {60, 1000}, {}).mean().item<double>(), 0, 0.05);
  EXPECT_NEAR(DrawNew("geometric", 0.4, 0, {60, 1000}, {}).mean().item<double>(), 2.5, 0.05);
  // None is rounded up to 1.
  EXPECT_LT(DrawNew("uniform", 0, 1, {60, 1000}, {}, at::kBFloat16).max().item<double>(), 1);
  EXPECT_EQ(DrawNew("integers", 0, 1, {3}, {}, at::kLong).scalar_type(), at::kLong);
  EXPECT_ANY_THROW(DrawNew("unheard", 0, 1, {3}, {}));
}

TEST(CounterDraws, DropoutScalesWhatItKeeps) {
  RegisterRandomOps();
  const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("placewright::counter_dropout", "")
          .typed<std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, int64_t,
                                                    int64_t, double, at::IntArrayRef)>();
  const at::Tensor x = at::full({6, 10, 8}, 3.0), step = at::zeros({}, at::kLong);
  const auto [y, mask] = op.call(x, step, 7, 0, 0.25, {});
  EXPECT_EQ(mask.scalar_type(), at::kBool);
  EXPECT_TRUE(y.equal(mask.to(at::kFloat) * 4));
  EXPECT_NEAR(mask.sum().item<double>(), 360, 48);
}

}  // namespace
}  // namespace placewright
