// One recorded op as a call of LibTorch's dispatcher: the operator found by its name, the op's
// arguments in the order of the operator's schema, made once; a call puts the tensors in their places.
#ifndef PLACEWRIGHT_ATEN_BOXED_CALL_H_
#define PLACEWRIGHT_ATEN_BOXED_CALL_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// True for operators that draw from a random generator: those of one chain, in the order of the
// graph, draw the same numbers again.
bool DrawsRandomNumbers(const c10::OperatorHandle& op);

class BoxedCall {
 public:
  // Errors: kUnknownName (this LibTorch has no such operator), kField (arguments that do not fit its
  // schema).
  static Result<BoxedCall> Create(const Op& op);

  // Calls the operator on the thread's dispatch state. The op's input i is `tensors[place[i]]`.
  // `results` becomes what it returns, tensors of lists in their order. Throws what LibTorch throws
  // (aten/failure.h). Several threads may call at once.
  void Run(std::span<const at::Tensor> tensors, std::span<const int32_t> place,
           std::vector<at::Tensor>& results) const;

  // From now on the operator makes what it makes from nothing on that device, whatever the op states.
  void SetDevice(c10::Device device);

  bool draws_random() const { return DrawsRandomNumbers(handle_); }

 private:
  struct Argument {
    enum class Kind { kConstant, kTensor, kTensors, kOptionalTensors };
    static constexpr int32_t kUndefined = -1;

    Kind kind = Kind::kConstant;
    c10::IValue constant;
    std::vector<int32_t> inputs;  // of the op; kUndefined in lists: no tensor
  };
  class Maker;

  BoxedCall(c10::OperatorHandle handle, std::vector<Argument> arguments);

  c10::OperatorHandle handle_;
  std::vector<Argument> arguments_;  // by the schema
  // Its kernels take tensors in the order of their dimensions alone, which the function that users call sees to;
  // parts of a step may lie otherwise.
  bool takes_contiguous_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_ATEN_BOXED_CALL_H_
