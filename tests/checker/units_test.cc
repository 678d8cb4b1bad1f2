// Collectives of several tensors: they hold, and what is wrong with one of the tensors is named.
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

constexpr int64_t kUnitSamples = 8, kUnitWidth = 6;
constexpr std::string_view kUnitGather = "placewright.all_gather.coalesced",
                           kUnitScatter = "placewright.reduce_scatter.coalesced";

// y = x a;  z = y b;  dy = z b';  a and b are updated by x' dy and y' z, and read again: v = x a.
RecordedStep TwoProductsInShards() {
  GraphByHand graph;
  const std::vector<int64_t> square = {kUnitWidth, kUnitWidth}, rows = {kUnitSamples, kUnitWidth};
  const TensorId x = graph.Input("input:x", TensorKind::kInput, rows);
  const TensorId a = graph.Input("param:a", TensorKind::kParameter, square);
  const TensorId b = graph.Input("param:b", TensorKind::kParameter, square);
  const TensorId y = graph.Add("y", "aten.mm.default", {x, a}, rows);
  const TensorId z = graph.Add("z", "aten.mm.default", {y, b}, rows);
  graph.set_phase(Phase::kBackward);
  const auto transposed = [&](const char* name, TensorId of, std::vector<int64_t> shape) {
    return graph.Add(name, "aten.t.default", {of}, std::move(shape), {}, AliasKind::kView);
  };
  const TensorId bt = transposed("bt", b, square);
  const TensorId dy = graph.Add("dy", "aten.mm.default", {z, bt}, rows);
  const TensorId yt = transposed("yt", y, {kUnitWidth, kUnitSamples});
  const TensorId db = graph.Add("db", "aten.mm.default", {yt, z}, square);
  const TensorId xt = transposed("xt", x, {kUnitWidth, kUnitSamples});
  const TensorId da = graph.Add("da", "aten.mm.default", {xt, dy}, square);
  const TensorId at = transposed("at", a, square);
  const TensorId dx = graph.Add("dx", "aten.mm.default", {dy, at}, rows);
  graph.set_phase(Phase::kOptimizer);
  graph.Add("a1", "aten.sub_.Tensor", {a, da}, square, {}, AliasKind::kInPlace);
  graph.Add("b1", "aten.sub_.Tensor", {b, db}, square, {}, AliasKind::kInPlace);
  graph.set_phase(Phase::kForward);
  const TensorId v = graph.Add("v", "aten.mm.default", {x, a}, rows);
  RecordedStep step{"two-products", std::make_unique<Graph>(std::move(graph).Build({v, z, dx})),
                    nullptr};
  step.axes = std::make_unique<NamedAxes>(*step.graph);
  return step;
}

class Units : public ::testing::Test {
 protected:
  Units() : original_(TwoProductsInShards()), cluster_(DevicesAlike(2)) {
    stated_ = SplitUpdates(original_, "input:x[0]", {4, 4});
    stated_.spec.switches.regather = {"*"};
    stated_.spec.switches.prefetch = 1;
    stated_.spec.switches.unit_collectives = true;
    step_ = Compile(*original_.graph, *original_.axes, stated_.layouts, cluster_,
                    {.switches = stated_.spec.switches})
                .Take();
  }

  std::string Verdict(const DistributedStep& step, std::string* message = nullptr) const {
    return VerdictOn(original_, step, cluster_, stated_.spec, message);
  }
  std::string Verdict(const StepEditor& editor, std::string* message = nullptr) const {
    return Verdict(editor.Build().value(), message);
  }
  // The members of the first collective of the type.
  std::vector<OpId> MembersOf(std::string_view type) const {
    for (const CollectiveId id : step_.graph.collectives()) {
      const auto& members = step_.graph.collective(id).members;
      if (step_.graph.op(members.front()).type == type) return {members.begin(), members.end()};
    }
    return {};
  }
  // The first device's.
  OpId Instance(const std::string& origin) const {
    for (const OpId op : step_.graph.ops()) {
      const OpId of = step_.origin[op];
      if (of.valid() && original_.graph->op(of).name == origin) return op;
    }
    return OpId();
  }

  const RecordedStep original_;
  const Cluster cluster_;
  StatedLayouts stated_;
  DistributedStep step_;
};

// a and b for the forward pass, b and a for the backward pass, one scatter of both gradients; a is gathered once more by
// itself.
TEST_F(Units, Hold) {
  std::string message;
  EXPECT_EQ(Verdict(step_, &message), "holds") << message;
  EXPECT_EQ(step_.graph.collective_count(), 4u);
  EXPECT_EQ(step_.graph.op(MembersOf(kUnitGather).front()).inputs.size(), 2u);
  EXPECT_EQ(step_.graph.op(MembersOf(kUnitScatter).front()).inputs.size(), 2u);
}

TEST_F(Units, AreWhatThePlanSays) {
  stated_.spec.switches.unit_collectives = false;
  std::string message;
  EXPECT_EQ(Verdict(step_, &message), "wrong-argument");
  EXPECT_THAT(message, HasSubstr("is of several tensors"));
}

// The two parameters have equal sizes: y gets b in the place of a.
TEST_F(Units, NameAReaderOfAnotherPiece) {
  const OpId y = Instance("y"), z = Instance("z");
  StepEditor editor(step_);
  std::swap(editor.op(y).spec.inputs[1], editor.op(z).spec.inputs[1]);
  std::string message;
  EXPECT_EQ(Verdict(editor, &message), "wrong-input") << message;
}

// One device hands its pieces in in another order than the others.
TEST_F(Units, NameAMemberInAnotherOrder) {
  for (const std::string_view type : {kUnitGather, kUnitScatter}) {
    StepEditor editor(step_);
    std::vector<TensorId>& inputs = editor.op(MembersOf(type).back()).spec.inputs;
    std::swap(inputs[0], inputs[1]);
    std::string message;
    EXPECT_EQ(Verdict(editor, &message), "reordered-collective") << type << ": " << message;
  }
}

TEST_F(Units, NameAMemberThatLacksATensor) {
  StepEditor editor(step_);
  StepEditor::EditedOp& member = editor.op(MembersOf(kUnitScatter).back());
  editor.Replace(member.outputs[1], member.outputs[0]);
  member.spec.inputs.pop_back();
  member.spec.args = {member.spec.args[0], member.spec.args[1]};
  member.spec.args[0] = Value(Value::List{Value(InputRef{0})});
  member.spec.outputs.pop_back();
  member.outputs.pop_back();
  std::string message;
  EXPECT_EQ(Verdict(editor, &message), "reordered-collective") << message;
}

// A part of another length, a part of another axis, no part.
TEST_F(Units, NameWhatAMemberStatesOfATensor) {
  for (const std::string_view type : {kUnitGather, kUnitScatter}) {
    const OpId member = MembersOf(type).front();
    const Value::List stated = *step_.graph.op(member).args[2].AsList();
    Value::List longer = stated, elsewhere = stated, less(stated.begin(), stated.end() - 1);
    longer[3] = Value(*stated[3].AsInt() + 1);
    elsewhere[0] = Value(int64_t{1} - *stated[0].AsInt());
    for (const Value::List& wrong : {longer, elsewhere, less}) {
      StepEditor editor(step_);
      editor.op(member).spec.args[2] = Value(wrong);
      std::string message;
      const std::string verdict = Verdict(editor, &message);
      EXPECT_TRUE(verdict == "wrong-argument" || verdict == "wrong-part" ||
                  verdict == "missing-collective")
          << type << ": " << verdict << " " << message;
    }
  }
}

// What was gathered before the update is read behind it.
TEST_F(Units, NameAStalePiece) {
  StepEditor editor(step_);
  editor.op(Instance("v")).spec.inputs[1] = step_.graph.op(Instance("y")).inputs[1];
  std::string message;
  EXPECT_EQ(Verdict(editor, &message), "stale-parameter") << message;
  EXPECT_THAT(message, HasSubstr("at version 0 where version 1 is due"));
}

// One device adds its share of a gradient twice, for which another gradient lacks it.
TEST_F(Units, NameASumThatIsNone) {
  StepEditor editor(step_);
  std::vector<TensorId>& inputs = editor.op(MembersOf(kUnitScatter).back()).spec.inputs;
  inputs[1] = inputs[0];
  std::string message;
  EXPECT_EQ(Verdict(editor, &message), "reordered-collective") << message;
}

}  // namespace
}  // namespace placewright::tests
