// Steps with rows that are sorted by expert (sharding/routing.h), compiled and checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "compile/compiler.h"
#include "compiled_step.h"
#include "sharding/mixture.h"
#include "step_editor.h"

namespace placewright::tests {
namespace {

RecordedStep MixtureStep(bool biased = true) {
  RecordedStep step{"mixture", std::make_unique<Graph>(MixtureOfExperts(biased).Build()), nullptr};
  step.axes = std::make_unique<NamedAxes>(*step.graph);
  return step;
}

OpId InstanceOn(const RecordedStep& original, const DistributedStep& step, const std::string& name,
                DeviceId device) {
  for (const OpId op : step.graph.ops()) {
    const OpId origin = step.origin[op];
    const bool is = origin.valid() && original.graph->op(origin).name == name;
    if (is && step.placement[op] == device) return op;
  }
  return OpId();
}

TEST(RoutedStep, ReadsNoCountsOfOtherRows) {
  const RecordedStep mixture = MixtureStep();
  const Cluster cluster = DevicesAlike(2);
  const StatedLayouts stated = ForAll(mixture, "batch", {3, 5});
  const DistributedStep step =
      Compile(*mixture.graph, *mixture.axes, stated.layouts, cluster).Take();
  EXPECT_EQ(VerdictOn(mixture, step, cluster, stated.spec), "holds");
  const auto ends = [&](size_t device) {
    return step.graph.op(InstanceOn(mixture, step, "ends", DeviceId(device))).outputs[0];
  };
  const OpId product = InstanceOn(mixture, step, "y", DeviceId(1));
  ASSERT_TRUE(product.valid());
  StepEditor editor(step);
  editor.op(product).spec.inputs[2] = ends(0);
  EXPECT_EQ(VerdictOn(mixture, *editor.Build(), cluster, stated.spec), "wrong-part");
}

// What one device has sorted whole goes to others whole.
TEST(RoutedStep, SortedRowsAreBroadcastWhole) {
  const RecordedStep mixture = MixtureStep();
  const Cluster cluster = DevicesAlike(3);
  Layouts layouts = ForAll(mixture, "", {1, 1, 1}).layouts;
  layouts.layouts.push_back(PlacedOn(DeviceId(0)));
  for (const std::string name : {"sort", "token", "rows", "other", "cast", "counts", "ends"}) {
    const OpId op = mixture.graph->FindOp(name);
    ASSERT_TRUE(op.valid()) << name;
    layouts.of_group[mixture.graph->group(op)] = LayoutId(1);
  }
  const StatedLayouts stated = State(mixture, std::move(layouts), 3);
  const DistributedStep step =
      Compile(*mixture.graph, *mixture.axes, stated.layouts, cluster).Take();
  std::set<std::string> types;
  for (const OpId op : step.graph.ops()) types.insert(std::string(step.graph.op(op).type));
  EXPECT_TRUE(types.contains("placewright.broadcast.default"));
  std::string message;
  EXPECT_EQ(VerdictOn(mixture, step, cluster, stated.spec, &message), "holds") << message;
}

// Two groups of samples, each with one of two experts on either of its devices.
class ExpertsApart : public testing::Test {
 protected:
  ExpertsApart() {
    const AxisId batch = mixture_.axes->batch(), experts = mixture_.axes->Find("param:w[0]");
    Layout layout;
    for (size_t device = 0; device < 4; ++device) {
      const bool second = device >= 2, odd = device % 2 == 1;
      const Interval samples = second ? Interval{3, 8} : Interval{0, 3};
      const Interval own = odd ? Interval{1, 2} : Interval{0, 1};
      layout.shares.push_back({DeviceId(device), {{batch, samples}, {experts, own}}});
    }
    Layouts layouts = ForAll(mixture_, "", {1, 1, 1, 1}).layouts;
    layouts.layouts.push_back(std::move(layout));
    for (LayoutId& of : layouts.of_group) of = LayoutId(layouts.layouts.size() - 1);
    stated_ = State(mixture_, std::move(layouts), 4);
    step_ = Compile(*mixture_.graph, *mixture_.axes, stated_.layouts, cluster_).Take();
  }

  OpId InstanceOf(const std::string& name, size_t device) const {
    return InstanceOn(mixture_, step_, name, DeviceId(device));
  }
  std::string Verdict(const StepEditor& editor) const {
    return VerdictOn(mixture_, *editor.Build(), cluster_, stated_.spec);
  }

  RecordedStep mixture_ = MixtureStep(/*biased=*/false);
  Cluster cluster_ = DevicesAlike(4);
  StatedLayouts stated_;
  DistributedStep step_;
};

TEST_F(ExpertsApart, Hold) {
  std::string message;
  EXPECT_EQ(VerdictOn(mixture_, step_, cluster_, stated_.spec, &message), "holds") << message;
  for (const char* const op : {"sort", "counts", "back", "home"}) {
    EXPECT_TRUE(step_.graph.op(InstanceOf(op, 3)).type.starts_with("placewright.")) << op;
  }
}

// One device sorts the rows of the other's expert, so that those of its own are nowhere; or both do, which count those of
// their own.
TEST_F(ExpertsApart, HaveTheRowsOfTheirOwn) {
  StepEditor editor(step_);
  const auto sort = [&](size_t device, int64_t expert) {
    Value::List& place = *editor.op(InstanceOf("sort", device)).spec.args.back().AsList();
    place[3] = Value(expert);
    place[4] = Value(expert + 1);
  };
  sort(0, 1);
  EXPECT_EQ(Verdict(editor), "missing-sample");
  sort(1, 0);
  EXPECT_EQ(Verdict(editor), "wrong-argument");
}

TEST_F(ExpertsApart, AreMultipliedWithTheCountsOfTheirOwn) {
  StepEditor editor(step_);
  editor.op(InstanceOf("y", 0)).spec.inputs[2] = step_.graph.op(InstanceOf("ends", 1)).outputs[0];
  EXPECT_EQ(Verdict(editor), "wrong-part");
}

// What leaves the step has the rows of one expert, and zeros for the other's.
TEST_F(ExpertsApart, AreAddedUp) {
  StepEditor editor(step_);
  const TensorId part = step_.graph.op(InstanceOf("home", 0)).outputs[0];
  bool replaced = false;
  for (const OpId op : step_.graph.ops()) {
    const Op& one = step_.graph.op(op);
    const bool sums = one.type == "placewright.add_n.default" &&
                      std::find(one.inputs.begin(), one.inputs.end(), part) != one.inputs.end();
    if (!sums) continue;
    editor.Replace(one.outputs[0], part);
    replaced = true;
  }
  ASSERT_TRUE(replaced);
  EXPECT_EQ(Verdict(editor), "lost-sum");
}

}  // namespace
}  // namespace placewright::tests
