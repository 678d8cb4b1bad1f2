// Steps with rows that are sorted by expert (sharding/routing.h), compiled and checked.
#include <gtest/gtest.h>

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

RecordedStep MixtureStep() {
  RecordedStep step{"mixture", std::make_unique<Graph>(MixtureOfExperts().Build()), nullptr};
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

}  // namespace
}  // namespace placewright::tests
