// Gives every tensor of a loaded script module memory of its own, or none.
#ifndef PLACEWRIGHT_CAPTURE_SCRIPT_UNSHARED_STORAGES_H_
#define PLACEWRIGHT_CAPTURE_SCRIPT_UNSHARED_STORAGES_H_

#include <torch/csrc/jit/api/module.h>

namespace placewright {

// Parameters, buffers, other attributes and constants of the code. A file stores tensors as places
// in storages: those of one place, sizes and strides become one tensor (tied weights), others that
// do not overlap become independent (an LSTM's weights are often slices of one storage). Throws
// TorchFailure: kNotRecordable for two that overlap.
void UnsharedStorages(torch::jit::Module& module, bool on_meta);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_SCRIPT_UNSHARED_STORAGES_H_
