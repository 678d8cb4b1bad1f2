// The arithmetic of a collective whose members are all at hand.
#ifndef PLACEWRIGHT_RUNTIME_TRANSPORT_COMBINE_H_
#define PLACEWRIGHT_RUNTIME_TRANSPORT_COMBINE_H_

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/transport/collective_spec.h"

namespace placewright {

// By member: what it gets, without gaps and in the order in memory of what it is made of (aten/memory_order.h),
// allocated on its device. `inputs` [member]: what it gives.
// What all get alike the first member makes of all inputs, and the others are copies of that. Where devices have
// torch devices of their own, inputs cross to the first one; those copies are not counted. A device that is nullptr
// is another process's: what all get alike it is given uncopied, and what it alone gets lies on the first device,
// which is of this process (of a broadcast, the root's is). Throws
// TorchFailure (kDeviceMemory; kExecution where inputs do not fit `spec` or one another) and what
// LibTorch throws.
std::vector<at::Tensor> Combine(const CollectiveSpec& spec, std::span<const at::Tensor> inputs,
                                std::span<RuntimeDevice* const> devices);

// The same of all tensors that the collective is of: what each member gives, by member, and what it gets.
std::vector<std::vector<at::Tensor>> CombineAll(const CollectiveSpec& spec,
                                                std::span<std::vector<at::Tensor>> inputs,
                                                std::span<RuntimeDevice* const> devices);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_TRANSPORT_COMBINE_H_
