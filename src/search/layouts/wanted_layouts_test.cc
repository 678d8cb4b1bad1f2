#include "search/layouts/wanted_layouts.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "compile/layout_specs.h"
#include "graph/test_graphs.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

// One op, so one group, in each of the modules a, a.x, a.y, b.
Graph FourModules() {
  TinyGraph graph;
  TensorId last = graph.Input("input:x", TensorKind::kInput, {4});
  for (const char* module : {"a", "a.x", "a.y", "b"}) {
    graph.In(Phase::kForward, module);
    last = graph.Fresh(std::string("op.") + module, {last});
  }
  return graph.Build();
}

LayoutSpec SpecOn(const std::string& device) {
  LayoutSpec spec;
  spec.devices = {{device, std::nullopt, std::nullopt}};
  return spec;
}

WantedLayouts Wanted(const Graph& graph, const std::vector<int32_t>& of_group) {
  WantedLayouts wanted(graph, SpecOn("d0"));
  wanted.others = {SpecOn("d1"), SpecOn("d2")};
  for (size_t i = 0; i < of_group.size(); ++i) wanted.of_group[GroupId(i)] = of_group[i];
  return wanted;
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

TEST(WantedLayoutsAsSpecs, NameModulesWhoseGroupsWantTheSame) {
  const Graph graph = FourModules();
  EXPECT_THAT(Lines(SpecsOf(graph, Wanted(graph, {0, 0, 0, -1}))), ElementsAre("*=d0", "a=d1"));
  EXPECT_THAT(Lines(SpecsOf(graph, Wanted(graph, {-1, 0, 1, 1}))),
              ElementsAre("*=d0", "a.x=d1", "a.y=d2", "b=d2"));
  // "a" would name its sub-modules, too.
  EXPECT_THAT(Lines(SpecsOf(graph, Wanted(graph, {1, -1, 0, -1}))),
              ElementsAre("*=d0", "a.y=d1", "#0=d2"));
}

TEST(WantedLayoutsAsSpecs, NameModulesWhoseOtherGroupsLieTheSameAnyway) {
  const Graph graph = FourModules();
  WantedLayouts wanted = Wanted(graph, {-1, 0, 0, -1});
  wanted.alike[GroupId(0)] = true;
  EXPECT_THAT(Lines(SpecsOf(graph, wanted)), ElementsAre("*=d0", "a=d1"));
  // By samples they would not.
  wanted.split_samples = {true, false};
  EXPECT_THAT(Lines(SpecsOf(graph, wanted)), ElementsAre("*=d0", "a.x=d1", "a.y=d1"));
}

// By names, layer.10 is before layer.9.
TEST(ModulesThatSpecsName, AreInTheOrderOfTheGraph) {
  TinyGraph tiny;
  TensorId last = tiny.Input("input:x", TensorKind::kInput, {4});
  for (const char* module : {"layer.8", "layer.9", "layer.10"}) {
    tiny.In(Phase::kForward, module);
    last = tiny.Fresh(std::string("op.") + module, {last});
  }
  tiny.In(Phase::kForward, "");
  tiny.Fresh("end", {last});
  const Graph graph = tiny.Build();
  EXPECT_THAT(ModulesNamed(graph, SpecsOf(graph, Wanted(graph, {0, 1, 0, 1}))),
              ElementsAre("layer.8", "layer.9", "layer.10"));
}

// The last line that names a group is that of its layout.
TEST(WantedLayoutsAsSpecs, SayWhatIsWanted) {
  const Graph graph = FourModules();
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    std::vector<int32_t> of_group;
    for (size_t g = 0; g < graph.group_count(); ++g) {
      of_group.push_back(static_cast<int32_t>(random.Below(3)) - 1);
    }
    const WantedLayouts wanted = Wanted(graph, of_group);
    std::vector<std::string> device(graph.group_count());
    for (const LayoutSpec& spec : SpecsOf(graph, wanted)) {
      const std::vector<GroupId> named =
          spec.group.valid() ? std::vector{spec.group} : GroupsNamed(graph, spec.groups);
      for (const GroupId group : named) device[group.index()] = spec.devices[0].name;
    }
    for (size_t g = 0; g < of_group.size(); ++g) {
      EXPECT_EQ(device[g], "d" + std::to_string(of_group[g] + 1));
    }
  }
}

}  // namespace
}  // namespace placewright
