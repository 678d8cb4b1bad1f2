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

std::vector<at::Tensor> CopySlice(std::span<const at::Tensor> tensors, RuntimeDevice& to) {
  Range all = RangeOf(tensors.front());
  for (const at::Tensor& tensor : tensors) {
    const Range range = RangeOf(tensor);
    // Tensors of one slice begin alike as recorded; kernels may lay them out otherwise.
    all.begin = std::min(all.begin, range.begin);
    all.end = std::max(all.end, range.end);
  }
  at::Tensor copy;
  OnCopyStream(tensors.front().device(), to.torch_device(), [&] {
    copy = to.Allocate(all.end - all.begin);
    copy.copy_(BytesOf(tensors.front(), all));
  });
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) {
    const int64_t offset = RangeOf(tensor).begin - all.begin;
    copies.push_back(at::empty({0}, tensor.options().device(copy.device()))
                         .set_(copy.storage(), offset / static_cast<int64_t>(tensor.element_size()),
                               tensor.sizes(), tensor.strides()));
  }
  return copies;
}

}  // namespace placewright
