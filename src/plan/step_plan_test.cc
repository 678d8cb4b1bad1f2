#include "plan/step_plan.h"

#include <gtest/gtest.h>

#include "graph/test_graphs.h"
#include "plan/layout_book.h"

namespace placewright {
namespace {

// Three ops, each a group of its own.
Graph ThreeOps() {
  TinyGraph graph;
  TensorId last = graph.Input("input:x", TensorKind::kInput, {4});
  for (const char* name : {"a", "b", "c"}) last = graph.Fresh(name, {last});
  return graph.Build();
}

TEST(StepPlans, OfPlacementsAreTheseAgain) {
  const Graph graph = ThreeOps();
  Placement placement(graph.op_count());
  for (const OpId op : graph.ops()) placement[op] = DeviceId(op.value() == 1 ? 0 : 4);
  const StepPlan plan = PlanOf(graph, placement);
  EXPECT_TRUE(plan.IsPlaced());
  EXPECT_EQ(PlacementOf(graph, plan), placement);
  EXPECT_EQ(DevicesOf(plan), (std::vector<DeviceId>{DeviceId(0), DeviceId(4)}));
}

// However layouts are numbered, and whatever others there are.
TEST(StepPlans, AreEqualWhereGroupsLieTheSame) {
  const std::vector<DeviceId> devices = {DeviceId(0), DeviceId(1)};
  const Layout on0 = PlacedOn(DeviceId(0));
  const Layout both = SplitOver(AxisId(1), devices, {3, 5});
  StepPlan one, other;
  one.layouts.layouts = {on0, both};
  one.layouts.of_group.raw() = {LayoutId(0), LayoutId(1), LayoutId(1)};
  other.layouts.layouts = {both, both, on0};
  other.layouts.of_group.raw() = {LayoutId(2), LayoutId(0), LayoutId(1)};
  EXPECT_TRUE(one == other);
  EXPECT_FALSE(one.IsPlaced());
  other.switches.broadcasts = false;
  EXPECT_FALSE(one == other);
  other.switches = {};
  other.layouts.layouts[1] = SplitOver(AxisId(1), devices, {4, 4});
  EXPECT_FALSE(one == other);
}

TEST(LayoutBooks, GiveEqualLayoutsOneNumber) {
  const Layout on0 = PlacedOn(DeviceId(0)), on1 = PlacedOn(DeviceId(1));
  LayoutBook book;
  EXPECT_EQ(book.Add(on1), LayoutId(0));
  Layouts layouts;
  layouts.layouts = {on0, on1, on0};
  layouts.of_group.raw() = {LayoutId(0), LayoutId(2), LayoutId(1)};
  // Groups behind the last have what the first one has.
  const IdVector<GroupId, LayoutId> numbers = book.Add(layouts, 5);
  EXPECT_EQ(numbers.raw(), (std::vector<LayoutId>{LayoutId(1), LayoutId(1), LayoutId(0),
                                                  LayoutId(1), LayoutId(1)}));
  EXPECT_EQ(book.all().size(), 2u);
  const Layouts again = book.Of(numbers);
  EXPECT_EQ(again.layouts.size(), 2u);
  EXPECT_TRUE(again.Of(GroupId(2)) == on1);
}

}  // namespace
}  // namespace placewright
