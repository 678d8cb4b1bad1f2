// A slice of a storage in the memory of another device.
#ifndef PLACEWRIGHT_RUNTIME_DEVICE_COPY_SLICE_H_
#define PLACEWRIGHT_RUNTIME_DEVICE_COPY_SLICE_H_

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "runtime/device/device.h"

namespace placewright {

// The bytes that tensors of one slice look at, of their storage: not copied. Tensors of one slice begin
// alike as recorded; kernels may lay them out otherwise.
struct SliceBytes {
  at::Tensor bytes;              // [bytes], uint8
  std::vector<int64_t> offsets;  // by tensor, in bytes
};
SliceBytes BytesOfSlice(std::span<const at::Tensor> tensors);  // at least one
// A tensor that looks at `bytes` from that offset on. Throws what LibTorch throws.
at::Tensor TensorInBytes(const at::Tensor& bytes, int64_t offset, c10::ScalarType type,
                         at::IntArrayRef sizes, at::IntArrayRef strides);

// Copies of tensors that look at one slice: they lie in one block of the device's memory, with the
// strides of the originals. Throws what LibTorch and RuntimeDevice::Allocate throw.
std::vector<at::Tensor> CopySlice(std::span<const at::Tensor> tensors, RuntimeDevice& to);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_DEVICE_COPY_SLICE_H_
