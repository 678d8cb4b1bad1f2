// What forward and backward of a batch norm know of their parts (internal to rewrites/).
#ifndef PLACEWRIGHT_COMPILE_REWRITES_NORM_IN_PARTS_H_
#define PLACEWRIGHT_COMPILE_REWRITES_NORM_IN_PARTS_H_

#include <cstdint>
#include <vector>

#include "compile/rewrites/batch_norm.h"
#include "compile/rewrites/part_writer.h"

namespace placewright {

class NormInParts {
 public:
  NormInParts(Emitter& emitter, const OpInParts& op, const BatchNormCall& call);

 protected:
  using Outputs = std::vector<TensorId>;  // of a part, parallel to the op's; invalid: not made

  TensorId InputOf(int32_t input, size_t part) const {
    return op_.read[part][static_cast<size_t>(input)];
  }
  DType DTypeOf(int32_t input) const { return emitter_.dtype(InputOf(input, 0)); }

  // The arguments at the front of `plain`: tensors, or none where they are invalid.
  static void AddTensors(const std::vector<TensorId>& tensors, PlainOp& plain);
  Outputs NoOutputs() const { return Outputs(op_.graph.op(op_.op).outputs.size()); }
  // Sets the output that is the operator's result `result`, if the step has it.
  void Set(Outputs& outputs, int32_t result, TensorId tensor) const;
  // Whether anything of the step reads that result.
  bool Wants(int32_t result) const;

  Emitter& emitter_;
  const OpInParts& op_;
  const BatchNormCall& call_;
  const size_t rank_;  // of x
  const int64_t channels_;
  std::vector<PartWriter> parts_;
  std::vector<int64_t> counts_;  // elements of a channel, by part
  int64_t count_ = 0;            // in all
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_NORM_IN_PARTS_H_
