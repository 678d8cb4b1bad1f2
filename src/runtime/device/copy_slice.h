// A slice of a storage in the memory of another device.
#ifndef PLACEWRIGHT_RUNTIME_DEVICE_COPY_SLICE_H_
#define PLACEWRIGHT_RUNTIME_DEVICE_COPY_SLICE_H_

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "runtime/device/device.h"

namespace placewright {

// Copies of tensors that look at one slice: they lie in one block of the device's memory, with the
// strides of the originals. Throws what LibTorch and RuntimeDevice::Allocate throw.
std::vector<at::Tensor> CopySlice(std::span<const at::Tensor> tensors, RuntimeDevice& to);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_DEVICE_COPY_SLICE_H_
