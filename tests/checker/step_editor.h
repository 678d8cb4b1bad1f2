// A distributed step that can be changed: for tests that break one.
#ifndef TESTS_CHECKER_STEP_EDITOR_H_
#define TESTS_CHECKER_STEP_EDITOR_H_

#include <optional>
#include <string>
#include <vector>

#include "graph/graph_builder.h"
#include "plan/distributed_step.h"

namespace placewright::tests {

// What a builder makes the op of again; its inputs are those of `graph`. Ops that it waits for without reading are left out.
OpSpec SpecOf(const Graph& graph, const Op& op);

class StepEditor {
 public:
  // `step` outlives it. What inputs, ops and collectives are called by are the ids of `step`.
  explicit StepEditor(const DistributedStep& step);

  struct EditedOp {
    OpSpec spec;                    // its inputs are tensors of `step`
    std::vector<TensorId> outputs;  // of `step`
    DeviceId device;
    OpId origin;
    bool removed = false;
  };
  std::vector<EditedOp> ops;
  std::vector<DistributedStep::InputPiece> inputs;
  std::vector<std::vector<OpId>> collectives;  // of ops of `step`; without members: there is none

  EditedOp& op(OpId id) { return ops[id.index()]; }
  // Whatever reads `from` reads `to`; outputs of the step, too.
  void Replace(TensorId from, TensorId to);
  bool IsRead(TensorId id) const;

  // Nothing where what was changed is no graph: a circle, other sizes of an input in place.
  std::optional<DistributedStep> Build() const;

 private:
  const DistributedStep& step_;
  std::vector<TensorId> outputs_;
};

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_STEP_EDITOR_H_
