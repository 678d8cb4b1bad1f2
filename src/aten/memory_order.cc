#include "aten/memory_order.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

namespace placewright {

std::vector<int64_t> StridesInOrderOf(at::IntArrayRef shape, const at::Tensor& like) {
  return at::infer_dense_strides(shape, like.strides());
}

at::Tensor EmptyInOrderOf(at::IntArrayRef shape, const at::Tensor& like) {
  return at::empty_strided(shape, StridesInOrderOf(shape, like), like.options());
}

at::Tensor WithFactorsOf(const at::Tensor& tensor, int64_t at, int64_t outer, int64_t length) {
  std::vector<int64_t> shape = tensor.sizes().vec(), strides = tensor.strides().vec();
  const auto place = static_cast<size_t>(at);
  const int64_t inner = shape[place] / (outer * length), stride = strides[place];
  const auto set = [&](std::vector<int64_t>& of, std::initializer_list<int64_t> factors) {
    of.insert(of.erase(of.begin() + at), factors);
  };
  set(shape, {outer, length, inner});
  set(strides, {length * inner * stride, inner * stride, stride});
  return tensor.as_strided(shape, strides, tensor.storage_offset());
}

at::Tensor PartInOrder(const at::Tensor& whole, int64_t dimension, int64_t outer, int64_t size,
                       int64_t from, int64_t to) {
  std::vector<int64_t> shape = whole.sizes().vec();
  int64_t& length = shape[static_cast<size_t>(dimension)];
  length = length / size * (to - from);
  at::Tensor part = EmptyInOrderOf(shape, whole);
  WithFactorsOf(part, dimension, outer, to - from)
      .copy_(WithFactorsOf(whole, dimension, outer, size).narrow(dimension + 1, from, to - from));
  return part;
}

}  // namespace placewright
