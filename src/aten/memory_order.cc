#include "aten/memory_order.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace placewright {

std::vector<int64_t> StridesInOrderOf(at::IntArrayRef shape, const at::Tensor& like) {
  const auto says_nothing = [&](size_t dim) {
    return like.sizes()[dim] == 1 || like.strides()[dim] == 0;
  };
  std::vector<size_t> order(shape.size());  // the outermost first
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = 1; i < order.size(); ++i) {
    size_t at = i;
    for (size_t before = i; before-- > 0;) {
      if (says_nothing(order[before]) || says_nothing(order[at])) continue;
      if (like.strides()[order[before]] >= like.strides()[order[at]]) break;
      std::swap(order[before], order[at]);
      at = before;
    }
  }
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= std::max<int64_t>(1, shape[order[i]]);
  }
  return strides;
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
