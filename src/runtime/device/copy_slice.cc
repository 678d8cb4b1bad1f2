#include "runtime/device/copy_slice.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace placewright {
namespace {

// From the first to behind the last byte that a tensor looks at, in its storage.
struct Range {
  int64_t begin = 0, end = 0;
};

Range RangeOf(const at::Tensor& tensor) {
  const auto size = static_cast<int64_t>(tensor.element_size());
  const int64_t begin = tensor.storage_offset() * size;
  if (tensor.numel() == 0) return {begin, begin};
  int64_t last = 0;
  for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
  return {begin, begin + (last + 1) * size};
}

at::Tensor BytesOf(const at::Tensor& tensor, const Range& range) {
  return at::empty({0}, tensor.options().dtype(at::kByte))
      .set_(tensor.storage(), range.begin, {range.end - range.begin}, {1});
}

}  // namespace

SliceBytes BytesOfSlice(std::span<const at::Tensor> tensors) {
  Range all = RangeOf(tensors.front());
  for (const at::Tensor& tensor : tensors) {
    const Range range = RangeOf(tensor);
    all.begin = std::min(all.begin, range.begin);
    all.end = std::max(all.end, range.end);
  }
  SliceBytes slice{BytesOf(tensors.front(), all), {}};
  for (const at::Tensor& tensor : tensors) {
    slice.offsets.push_back(RangeOf(tensor).begin - all.begin);
  }
  return slice;
}

at::Tensor TensorInBytes(const at::Tensor& bytes, int64_t offset, c10::ScalarType type,
                         at::IntArrayRef sizes, at::IntArrayRef strides) {
  return at::empty({0}, bytes.options().dtype(type))
      .set_(bytes.storage(), offset / static_cast<int64_t>(c10::elementSize(type)), sizes, strides);
}

std::vector<at::Tensor> CopySlice(std::span<const at::Tensor> tensors, RuntimeDevice& to) {
  const SliceBytes slice = BytesOfSlice(tensors);
  at::Tensor copy;
  OnCopyStream(tensors.front().device(), to.torch_device(), [&] {
    copy = to.Allocate(slice.bytes.numel());
    copy.copy_(slice.bytes);
  });
  std::vector<at::Tensor> copies;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    copies.push_back(TensorInBytes(copy, slice.offsets[i], tensor.scalar_type(), tensor.sizes(),
                                   tensor.strides()));
  }
  return copies;
}

}  // namespace placewright
