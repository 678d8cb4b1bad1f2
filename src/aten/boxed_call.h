// One recorded op as a call of LibTorch's dispatcher: the operator found by its name, the op's
// arguments in the order of the operator's schema.
#ifndef PLACEWRIGHT_ATEN_BOXED_CALL_H_
#define PLACEWRIGHT_ATEN_BOXED_CALL_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

class BoxedCall {
 public:
  // `op` must outlive the call. Errors: kUnknownName (this LibTorch has no such operator), kField
  // (arguments that do not fit its schema).
  static Result<BoxedCall> Create(const Op& op);

  // Calls the operator on the thread's dispatch state; `tensors` holds op.inputs. The tensors that
  // it returns, those of lists in their order. Throws what LibTorch throws (aten/failure.h).
  std::vector<at::Tensor> Run(const IdVector<TensorId, at::Tensor>& tensors) const;

 private:
  BoxedCall(const Op& op, c10::OperatorHandle handle, std::vector<const Value*> arguments)
      : op_(&op), handle_(std::move(handle)), arguments_(std::move(arguments)) {}

  const Op* op_;
  c10::OperatorHandle handle_;
  std::vector<const Value*> arguments_;  // by the schema; nullptr: the default
};

}  // namespace placewright

#endif  // PLACEWRIGHT_ATEN_BOXED_CALL_H_
