// Steps that fetch parameters anew for the backward pass: they hold, and a copy of before an update is named where it is
// read behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "compile/drawn_layouts.h"
#include "compiled_step.h"
#include "step_by_hand.h"
#include "step_editor.h"

namespace placewright::tests {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kBatch = 8, kInputs = 6, kOutputs = 4;

// y = x a;  dx = y a';  a is updated by x' y, and read again: z = x a.
RecordedStep ReadBehindUpdate() {
  GraphByHand graph;
  const TensorId x = graph.Input("input:x", TensorKind::kInput, {kBatch, kInputs});
  const TensorId a = graph.Input("param:a", TensorKind::kParameter, {kInputs, kOutputs});
  const TensorId y = graph.Add("y", "aten.mm.default", {x, a}, {kBatch, kOutputs});
  graph.set_phase(Phase::kBackward);
  const TensorId at =
      graph.Add("at", "aten.t.default", {a}, {kOutputs, kInputs}, {}, AliasKind::kView);
  const TensorId dx = graph.Add("dx", "aten.mm.default", {y, at}, {kBatch, kInputs});
  const TensorId xt =
      graph.Add("xt", "aten.t.default", {x}, {kInputs, kBatch}, {}, AliasKind::kView);
  const TensorId da = graph.Add("da", "aten.mm.default", {xt, y}, {kInputs, kOutputs});
  graph.set_phase(Phase::kOptimizer);
  graph.Add("a1", "aten.sub_.Tensor", {a, da}, {kInputs, kOutputs}, {}, AliasKind::kInPlace);
  graph.set_phase(Phase::kForward);
  const TensorId z = graph.Add("z", "aten.mm.default", {x, a}, {kBatch, kOutputs});
  RecordedStep step{"read-behind-update", std::make_unique<Graph>(std::move(graph).Build({z, dx})),
                    nullptr};
  step.axes = std::make_unique<NamedAxes>(*step.graph);
  return step;
}

class Epochs : public ::testing::Test {
 protected:
  Epochs() : original_(ReadBehindUpdate()), cluster_(DevicesAlike(2)) {
    stated_ = SplitUpdates(original_, "input:x[0]", {4, 4});
    stated_.spec.switches.regather = {"*"};
    stated_.spec.switches.prefetch = 0;
    step_ = Compile(*original_.graph, *original_.axes, stated_.layouts, cluster_,
                    {.switches = stated_.spec.switches})
                .Take();
  }

  std::string Verdict(const DistributedStep& step, std::string* message = nullptr) const {
    return VerdictOn(original_, step, cluster_, stated_.spec, message);
  }
  // The first device's.
  OpId Instance(const std::string& origin) const {
    for (const OpId op : step_.graph.ops()) {
      const OpId of = step_.origin[op];
      if (of.valid() && original_.graph->op(of).name == origin) return op;
    }
    return OpId();
  }
  // What the instance reads of the parameter.
  TensorId ReadOfParameter(const std::string& origin) const {
    return step_.graph.op(Instance(origin)).inputs[1];
  }

  const RecordedStep original_;
  const Cluster cluster_;
  StatedLayouts stated_;
  DistributedStep step_;
};

TEST_F(Epochs, Hold) {
  std::string message;
  EXPECT_EQ(Verdict(step_, &message), "holds") << message;
  EXPECT_EQ(step_.graph.collective_count(), 4u);  // three gathers, and the sum of the gradient
  EXPECT_NE(ReadOfParameter("y"), ReadOfParameter("z"));
}

TEST_F(Epochs, NameACopyOfBeforeAnUpdate) {
  StepEditor editor(step_);
  editor.op(Instance("z")).spec.inputs[1] = ReadOfParameter("y");
  std::string message;
  EXPECT_EQ(Verdict(editor.Build().value(), &message), "stale-parameter");
  EXPECT_THAT(message, HasSubstr("at version 0 where version 1 is due"));
}

// The forward pass's copy has the same content.
TEST_F(Epochs, MayShareACopyThatIsUpToDate) {
  StepEditor editor(step_);
  const TensorId forward = ReadOfParameter("y");
  for (StepEditor::EditedOp& op : editor.ops) {
    const bool view = op.origin.valid() && original_.graph->op(op.origin).name == "at";
    if (!view || op.device != step_.placement[Instance("y")]) continue;
    if (step_.graph.tensor(op.spec.inputs[0]).shape == step_.graph.tensor(forward).shape) {
      op.spec.inputs[0] = forward;
    }
  }
  std::string message;
  EXPECT_EQ(Verdict(editor.Build().value(), &message), "holds") << message;
}

}  // namespace
}  // namespace placewright::tests
