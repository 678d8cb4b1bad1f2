#include "runtime/inputs/piece_values.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

namespace placewright {
namespace {

// By definition, one axis after the other: those indices of its dimension that lie in the interval.
at::Tensor Selected(at::Tensor whole, const TensorBox& box) {
  at::Tensor in = at::ones_like(whole, at::kBool);
  std::vector<int64_t> shape = whole.sizes().vec();
  for (const auto& [place, interval] : box) {
    const at::Tensor at = at::arange(whole.size(place.dimension))
                              .div(place.inner, "floor")
                              .remainder(place.size)
                              .to(at::kLong);
    std::vector<int64_t> along(shape.size(), 1);
    along[static_cast<size_t>(place.dimension)] = -1;
    in = in.logical_and(at.ge(interval.from).logical_and(at.lt(interval.to)).view(along));
  }
  return whole.masked_select(in).view(ShapeOf(shape, box));
}

// Rows, and columns as 2 * 3 * 4, in memory as they stand, transposed, and of one number for all columns.
TEST(PieceValues, AreThoseOfEveryAxis) {
  const AxisPart rows = {{0, 1, 5, 1}, {1, 4}}, half = {{1, 1, 2, 12}, {1, 2}};
  const AxisPart thirds = {{1, 2, 3, 4}, {0, 2}}, quarters = {{1, 6, 4, 1}, {1, 4}};
  const at::Tensor whole = at::arange(5 * 24).view({5, 24});
  for (const at::Tensor& tensor :
       {whole, at::arange(5 * 24).view({24, 5}).t(), at::arange(5).view({5, 1}).expand({5, 24})}) {
    for (const TensorBox& box :
         {TensorBox{rows}, TensorBox{thirds}, TensorBox{rows, half}, TensorBox{half, thirds},
          TensorBox{thirds, half}, TensorBox{half, rows, quarters, thirds}}) {
      const at::Tensor part = PartOf(tensor, box);
      ASSERT_TRUE(part.equal(Selected(tensor, box)));
      EXPECT_TRUE(part.is_non_overlapping_and_dense());
    }
  }
  EXPECT_TRUE(PartOf(whole, {}).is_same(whole));
}

}  // namespace
}  // namespace placewright
