// Automatic mixed precision, as torch.autocast("cuda") does it: above autograd, so that casts have
// gradients of their own. LibTorch's own casts look at the device of a tensor and leave those without
// memory alone; this one casts wherever the step is recorded or run.
//
//   products and convolutions       their inputs become `type`
//   softmax, norms, losses, exp, pow, sums, ...   their inputs become f32; where an operator takes the
//                                   type of its result (softmax, sum, ...), it is asked for f32 instead
//   operators that take several tensors of one type (addcmul, index_put, scatter_add, ...)   the widest
//   all others                      what they are given
//
// A parameter that is cast several times in a scope is cast once. Source: PyTorch documentation,
// "Automatic Mixed Precision package", op-specific behaviour (2.1); deviation: softmax of bf16 in f32 is
// a cast and a softmax, as there; of f16 one op, as CUDA has it. Dropout is one op, `native_dropout`, as on
// CUDA devices, too.
#ifndef PLACEWRIGHT_CAPTURE_AUTOCAST_AUTOCAST_H_
#define PLACEWRIGHT_CAPTURE_AUTOCAST_AUTOCAST_H_

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <memory>
#include <optional>

namespace placewright {

// Nothing happens without a type; kHalf or kBFloat16 else. One scope at a time in a thread.
class AutocastScope {
 public:
  explicit AutocastScope(std::optional<at::ScalarType> type);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

// While it lives, nothing is cast: what LibTorch calls below autograd, and the recorder.
class WithoutAutocast {
 public:
  WithoutAutocast();

 private:
  c10::impl::ExcludeDispatchKeyGuard excluded_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_AUTOCAST_AUTOCAST_H_
