#include "runtime/ops/part_ops.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

namespace placewright {
namespace {

at::Tensor Call(const char* name, const torch::jit::Stack& arguments) {
  RegisterPartOps();
  torch::jit::Stack stack = arguments;
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
  return stack.front().toTensor();
}

at::Tensor Numbers(at::IntArrayRef shape) { return at::arange(24, at::kDouble).view(shape); }

// A transposed tensor, cut and put together again, is a transposed tensor: what its step takes for a view of it is one.
TEST(PartOps, KeepTheOrderInMemory) {
  const at::Tensor whole = Numbers({2, 4, 3}).transpose(0, 1);  // [4, 2, 3], strides [3, 12, 1]
  ASSERT_NO_THROW((void)whole.transpose(0, 1).view({8, 3}));
  const auto part = [&](int64_t from, int64_t to) {
    return Call("placewright::split", {whole, 0, 1, 4, from, to});
  };
  // Three of four rows: a row of the first dimension lies 3 elements behind the one before, one of the second 9.
  EXPECT_TRUE(part(0, 3).equal(whole.narrow(0, 0, 3)));
  EXPECT_EQ(part(0, 3).strides(), at::IntArrayRef({3, 9, 1}));
  EXPECT_NO_THROW((void)part(0, 3).transpose(0, 1).view({6, 3}));
  const at::Tensor joined =
      Call("placewright::concat", {c10::List<at::Tensor>({part(0, 1), part(1, 4)}), 0, 1});
  EXPECT_TRUE(joined.equal(whole));
  EXPECT_EQ(joined.strides(), whole.strides());
  const at::Tensor sum =
      Call("placewright::add_n", {c10::List<at::Tensor>({whole, whole.contiguous()})});
  EXPECT_TRUE(sum.equal(2 * whole));
  EXPECT_EQ(sum.strides(), whole.strides());
}

// The middle factor of a dimension that is 2 * 3 * 2.
TEST(PartOps, CutFactorsOfADimension) {
  const at::Tensor whole = Numbers({12, 2}), factors = whole.view({2, 3, 2, 2});
  const at::Tensor first = Call("placewright::split", {whole, 0, 2, 3, 0, 1});
  const at::Tensor rest = Call("placewright::split", {whole, 0, 2, 3, 1, 3});
  EXPECT_TRUE(first.equal(factors.narrow(1, 0, 1).reshape({4, 2})));
  EXPECT_TRUE(rest.equal(factors.narrow(1, 1, 2).reshape({8, 2})));
  EXPECT_TRUE(first.is_contiguous() && rest.is_contiguous());
  EXPECT_TRUE(
      Call("placewright::concat", {c10::List<at::Tensor>({first, rest}), 0, 2}).equal(whole));
}

}  // namespace
}  // namespace placewright
