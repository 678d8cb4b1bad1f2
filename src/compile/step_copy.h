// Copying a compiled step op by op into another, for rewrites of it (internal to the module).
#ifndef PLACEWRIGHT_COMPILE_STEP_COPY_H_
#define PLACEWRIGHT_COMPILE_STEP_COPY_H_

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "graph/graph_builder.h"
#include "plan/distributed_step.h"

namespace placewright {

class StepCopy {
 public:
  explicit StepCopy(DistributedStep step);

  const DistributedStep& step() const { return step_; }
  const Graph& graph() const { return step_.graph; }
  // What a tensor of the step is in the copy. Rewrites set what they make in its place.
  IdVector<TensorId, TensorId>& made() { return made_; }

  // Before any op.
  Status CopyInputs();
  Status CopyOp(OpId op);
  // As CopyOp would add it, to be changed: waits for what those that it waits for became.
  OpSpec SpecOf(OpId op) const;
  // Another op, on the device of `like`; ops that wait for `replaced`, if there is one, wait for it.
  Result<std::vector<TensorId>> Add(OpSpec spec, OpId like, OpId origin, OpId replaced = OpId());
  // The op that was added last.
  OpId last() const { return OpId(placement_.size() - 1); }
  Status AddCollective(std::string name, std::vector<OpId> members) {
    return builder_.AddCollective(std::move(name), std::move(members));
  }

  // With the collectives whose members were copied, and the outputs. Errors: those of GraphBuilder.
  Result<DistributedStep> Finish() &&;

 private:
  Status CopyCollectives();

  DistributedStep step_;
  GraphBuilder builder_;
  IdVector<TensorId, TensorId> made_;
  IdVector<OpId, OpId> copy_;                       // none: not copied
  IdVector<OpId, std::vector<std::string>> names_;  // of what an op became
  Placement placement_;
  IdVector<OpId, OpId> origin_;
  std::vector<char> in_kernel_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_STEP_COPY_H_
