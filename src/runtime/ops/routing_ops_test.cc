#include "runtime/ops/routing_ops.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "runtime/ops/newer_ops.h"

namespace placewright {
namespace {

using Place = std::vector<int64_t>;

template <class Signature>
c10::TypedOperatorHandle<Signature> OperatorOf(const char* name) {
  RegisterRoutingOps();
  RegisterNewerOps();
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

std::tuple<at::Tensor, at::Tensor> SortPart(const at::Tensor& keys, const Place& place) {
  return OperatorOf<std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, at::IntArrayRef)>(
             "placewright::sort_part")
      .call(keys, place);
}

at::Tensor CountPart(const at::Tensor& keys, int64_t bins, const Place& place) {
  return OperatorOf<at::Tensor(const at::Tensor&, int64_t, const at::Scalar&, const at::Scalar&,
                               at::IntArrayRef)>("placewright::histc_part")
      .call(keys.to(at::kDouble), bins, 0, bins - 1, place);
}

at::Tensor ReturnPart(const at::Tensor& rows, const at::Tensor& places,
                      const std::vector<int64_t>& sizes, const Place& place) {
  const std::vector<at::Tensor> list = {places};
  return OperatorOf<at::Tensor(const at::Tensor&, at::TensorList, at::IntArrayRef,
                               at::IntArrayRef)>("placewright::unsort_part")
      .call(rows, list, sizes, place);
}

at::Tensor Product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& ends) {
  return OperatorOf<at::Tensor(const at::Tensor&, const at::Tensor&,
                               const c10::optional<at::Tensor>&, const c10::optional<at::Tensor>&,
                               c10::optional<at::ScalarType>)>("aten::_grouped_mm")
      .call(a, b, ends, c10::nullopt, c10::nullopt);
}

// Seven rows of experts 2 0 4 2 0 4 4, of five: of 1 and 3 there is none.
at::Tensor Keys() { return at::tensor({2, 0, 4, 2, 0, 4, 4}, at::kLong); }

// Experts 2 to 4: rows 0 and 3 are of 2, rows 2, 5 and 6 of 4.
TEST(RoutingOps, APartHasTheRowsOfItsKeys) {
  const Place place = {0, 1, 5, 2, 5};
  const auto [keys, places] = SortPart(Keys(), place);
  EXPECT_TRUE(keys.equal(at::tensor({2, 2, 4, 4, 4}, at::kLong)));
  EXPECT_TRUE(places.equal(at::tensor({0, 3, 2, 5, 6}, at::kLong)));
  EXPECT_TRUE(CountPart(keys, 5, place).equal(at::tensor({2., 0., 3.}, at::kDouble)));
}

TEST(RoutingOps, PartsOfTheExpertsAddUpToAll) {
  const at::Tensor x = at::rand({7, 3}, at::kDouble), w = at::rand({5, 3, 4}, at::kDouble);
  at::Tensor expected = at::zeros({7, 4}, at::kDouble);
  for (int64_t row = 0; row < 7; ++row) {
    expected[row].copy_(at::mm(x.narrow(0, row, 1), w[Keys()[row].item<int64_t>()])[0]);
  }
  at::Tensor sum = at::zeros({7, 4}, at::kDouble);
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 2), std::pair(2, 5)}) {
    const Place place = {0, 1, 5, from, to};
    const auto [keys, places] = SortPart(Keys(), place);
    const at::Tensor ends = CountPart(keys, 5, place).cumsum(0).to(at::kInt);
    const at::Tensor rows = Product(x.index_select(0, places), w.narrow(0, from, to - from), ends);
    sum.add_(ReturnPart(rows, places, {7, 4}, place));
  }
  EXPECT_TRUE(sum.allclose(expected, 1e-14));
}

// Of biases 10, 20, ..., 50 a part with experts 2 to 4 has three; the sum of its rows, 1 to 5, by expert.
TEST(RoutingOps, APartHasWhatItsKeysAdd) {
  const Place place = {0, 1, 5, 2, 5};
  const std::vector<at::Tensor> keys = {std::get<0>(SortPart(Keys(), place))};
  const at::Tensor biases = at::tensor({10., 20., 30., 40., 50.}, at::kDouble).unsqueeze(1);
  const at::Tensor rows =
      OperatorOf<at::Tensor(const at::Tensor&, at::TensorList, at::IntArrayRef)>(
          "placewright::rows_of_keys_part")
          .call(biases.narrow(0, 2, 3), keys, place);
  EXPECT_TRUE(rows.squeeze(1).equal(at::tensor({30., 30., 50., 50., 50.}, at::kDouble)));
  const at::Tensor gradients = at::tensor({1., 2., 3., 4., 5.}, at::kDouble).unsqueeze(1);
  const at::Tensor sums =
      OperatorOf<at::Tensor(const at::Tensor&, at::TensorList, const at::Tensor&, bool,
                            at::IntArrayRef)>("placewright::sum_by_keys_part")
          .call(at::zeros({3, 1}, at::kDouble), keys, gradients, true, place);
  EXPECT_TRUE(sums.squeeze(1).equal(at::tensor({3., 0., 12.}, at::kDouble)));
}

// The even columns of four, of two rows where four were expected.
TEST(RoutingOps, TheGradientOfASliceHasTheRowsThatThereAre) {
  const at::Tensor made =
      OperatorOf<at::Tensor(const at::Tensor&, at::IntArrayRef, int64_t, int64_t, int64_t, int64_t,
                            at::IntArrayRef)>("placewright::slice_backward_part")
          .call(at::ones({2, 2}, at::kDouble), {4, 4}, 1, 0, 4, 2, Place{0, 1, 5, 2, 5});
  ASSERT_EQ(made.sizes(), at::IntArrayRef({2, 4}));
  EXPECT_TRUE(made[1].equal(at::tensor({1., 0., 1., 0.}, at::kDouble)));
}

// [m t] [t n] -> [g m n]: of a group without rows zeros; [g m k] [k t] -> [m t].
TEST(GroupedProduct, TakesGroupsInAnyDimension) {
  const at::Tensor ends = at::tensor({2, 2, 5}, at::kInt);
  const at::Tensor a = at::rand({4, 5}, at::kDouble), b = at::rand({5, 3}, at::kDouble);
  const at::Tensor inner = Product(a, b, ends);
  ASSERT_EQ(inner.sizes(), at::IntArrayRef({3, 4, 3}));
  EXPECT_TRUE(inner[0].allclose(at::mm(a.narrow(1, 0, 2), b.narrow(0, 0, 2)), 1e-14));
  EXPECT_TRUE(inner[1].equal(at::zeros({4, 3}, at::kDouble)));
  EXPECT_TRUE(inner.sum(0).allclose(at::mm(a, b), 1e-14));
  const at::Tensor w = at::rand({3, 2, 4}, at::kDouble);
  const at::Tensor columns = Product(w, a, ends);
  EXPECT_TRUE(columns.narrow(1, 2, 3).allclose(at::mm(w[2], a.narrow(1, 2, 3)), 1e-14));
}

TEST(RoutingOps, RefuseKeysThatThereAreNot) {
  EXPECT_THROW(SortPart(Keys(), {0, 1, 4, 0, 2}), c10::Error);
  EXPECT_THROW(SortPart(Keys(), {0, 1, 5, 3, 6}), c10::Error);
  EXPECT_THROW(CountPart(Keys(), 5, {0, 1, 4, 0, 2}), c10::Error);
}

}  // namespace
}  // namespace placewright
