#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "cluster/cluster_builder.h"
#include "formats/plan/layout_words.h"
#include "graph/test_graphs.h"
#include "plan/layout_book.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

// One op, so one group, in each of the modules.
Graph OpsIn(const std::vector<std::string>& modules) {
  TinyGraph graph;
  TensorId last = graph.Input("input:x", TensorKind::kInput, {4});
  for (const std::string& module : modules) {
    graph.In(Phase::kForward, module);
    last = graph.Fresh("op." + module, {last});
  }
  return graph.Build();
}
Graph FourModules() { return OpsIn({"a", "a.x", "a.y", "b"}); }

Cluster ThreeDevices() {
  ClusterBuilder builder("three");
  const int32_t kind = builder.AddKind({.name = "K"}).Take();
  for (const char* name : {"d0", "d1", "d2"}) {
    EXPECT_TRUE(builder.AddDevice({.name = name, .kind = kind}).ok());
  }
  return std::move(builder).Build().Take();
}

// Groups, by number, on the device of that number.
Layouts PlacedOn(const std::vector<int>& device) {
  LayoutBook book;
  IdVector<GroupId, LayoutId> of_group;
  for (const int number : device) {
    of_group.push_back(book.Add(PlacedOn(DeviceId(number))));
  }
  return book.Of(of_group);
}

LayoutSpecs SpecsOf(const Graph& graph, const Layouts& layouts) {
  return StateLayouts(graph, NamedAxes(graph), ThreeDevices(), layouts);
}

// "*=d0", "a.x=d1", "#2=d2"
std::vector<std::string> Lines(const LayoutSpecs& specs) {
  std::vector<std::string> lines;
  for (const LayoutSpec& spec : specs) {
    const std::string name =
        spec.group.valid() ? "#" + std::to_string(spec.group.value()) : spec.groups;
    lines.push_back(name + "=" + spec.devices[0].name);
  }
  return lines;
}

// The base is what most groups have, of equals what comes first.
TEST(StatedLayouts, NameModulesWhoseGroupsLieTheSame) {
  const Graph graph = FourModules();
  EXPECT_THAT(Lines(SpecsOf(graph, PlacedOn({1, 1, 1, 0}))), ElementsAre("*=d1", "b=d0"));
  EXPECT_THAT(Lines(SpecsOf(graph, PlacedOn({0, 1, 2, 0}))),
              ElementsAre("*=d0", "a.x=d1", "a.y=d2"));
  // "a" would name its sub-modules, too.
  EXPECT_THAT(Lines(SpecsOf(graph, PlacedOn({2, 0, 1, 0}))),
              ElementsAre("*=d0", "a.y=d1", "#0=d2"));
}

// Resolved, every group lies as it did.
TEST(StatedLayouts, AreWhatIsWanted) {
  const Graph graph = FourModules();
  const Cluster cluster = ThreeDevices();
  const NamedAxes axes(graph);
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    std::vector<int> device;
    for (size_t g = 0; g < graph.group_count(); ++g) {
      device.push_back(static_cast<int>(random.Below(3)));
    }
    const Layouts wanted = PlacedOn(device);
    const Layouts resolved =
        ResolveLayouts(graph, axes, cluster, SpecsOf(graph, wanted)).Take().layouts;
    for (const GroupId group : IdRange<GroupId>(graph.group_count())) {
      EXPECT_TRUE(resolved.Of(group) == wanted.Of(group)) << i;
    }
  }
}

}  // namespace
}  // namespace placewright
