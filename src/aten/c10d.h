// c10d's store and its process group over Gloo, and what of them differs between LibTorch 1.13 and 2.x.
// Gloo's own headers are not LibTorch's (libgloo-dev).
#ifndef PLACEWRIGHT_ATEN_C10D_H_
#define PLACEWRIGHT_ATEN_C10D_H_

// The header of the group is empty without it.
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <c10/util/Flags.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "aten/torch_version.h"

C10_DECLARE_int(caffe2_log_level);

namespace placewright {

// It derives from c10d::ProcessGroup in 1.13, from c10d::Backend in 2.x, and has the same calls.
using GlooGroup = c10d::ProcessGroupGloo;
// Debian's LibTorch has no libuv, which stores of 2.x want by themselves; 1.13 does not know it.
template <class Options>
void WithoutLibUv(Options& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}
// A store of 2.x logs the frames of every attempt that fails; its errors say the same. TORCH_CPP_LOG_LEVEL, where it is
// set, stays.
inline void QuietLogOfStores() {
  constexpr int kFatal = 3;
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = kFatal;
}
// What a send or a receive returns; of 1.13 to 2.x alike.
using GlooWork = c10::intrusive_ptr<c10d::Work>;

}  // namespace placewright

#endif  // PLACEWRIGHT_ATEN_C10D_H_
