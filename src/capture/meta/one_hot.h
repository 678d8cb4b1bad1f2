// one_hot, which in LibTorch looks at every number to check it.
#ifndef PLACEWRIGHT_CAPTURE_META_ONE_HOT_H_
#define PLACEWRIGHT_CAPTURE_META_ONE_HOT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace placewright {

// Takes the place of LibTorch's function (recorder/dispatch.cc). While a step is recorded the size
// is the one that was asked for, and the ops are those that LibTorch's function ends with, zeros
// and scatter_; otherwise it is LibTorch's. Throws TorchFailure: kDataDependent for -1 classes.
at::Tensor OneHot(const at::Tensor& self, int64_t classes);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_META_ONE_HOT_H_
