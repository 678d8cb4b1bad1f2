#include "graph/module_globs.h"

#include <gtest/gtest.h>

#include "graph/test_graphs.h"

namespace placewright {
namespace {

// Ops of m.a, m.a.b, m.ab and of the root module; a view in m.c of what m.a made, and one in m.d of an input.
Graph SomeModules() {
  TinyGraph tiny;
  const TensorId x = tiny.Input("input:x", TensorKind::kInput, {2, 4});
  tiny.In(Phase::kForward, "m.a");
  const TensorId a = tiny.Fresh("one", {x}, {2, 4});
  tiny.In(Phase::kForward, "m.a.b");
  const TensorId b = tiny.Fresh("two", {a}, {2, 4});
  tiny.In(Phase::kForward, "m.ab");
  const TensorId ab = tiny.Fresh("three", {b}, {2, 4});
  tiny.In(Phase::kForward, "m.c");
  tiny.View("view", "aten.t.default", a, {4, 2});
  tiny.In(Phase::kForward, "m.d");
  tiny.View("of_input", "aten.t.default", x, {4, 2});
  tiny.In(Phase::kForward, "");
  tiny.Fresh("four", {ab}, {2, 4});
  return tiny.Build();
}

std::vector<GroupId> GroupsOf(const Graph& graph, const std::vector<std::string>& ops) {
  std::vector<GroupId> groups;
  for (const std::string& op : ops) groups.push_back(graph.group(graph.FindOp(op)));
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

TEST(NamedGroups, AreThoseOfTheModuleAndOfWhatIsWithinIt) {
  const Graph graph = SomeModules();
  const NamedGroups named(graph);
  EXPECT_EQ(named.By("m.a"), GroupsOf(graph, {"one", "two"}));  // not m.ab
  EXPECT_EQ(named.By("m.a.b"), GroupsOf(graph, {"two"}));
  EXPECT_EQ(named.By("m.a*"), GroupsOf(graph, {"one", "two", "three"}));
  EXPECT_EQ(named.By("m.?b"), GroupsOf(graph, {"three"}));
  EXPECT_EQ(named.By("m.[ab]"), GroupsOf(graph, {"one", "two"}));
  EXPECT_EQ(named.By("four"), GroupsOf(graph, {"four"}));  // of the root module, by its name
  EXPECT_TRUE(named.By("m.none").empty());
  EXPECT_TRUE(named.By("a").empty());
}

TEST(NamedGroups, ViewsFollowWhatMadeThem) {
  const Graph graph = SomeModules();
  const NamedGroups named(graph);
  EXPECT_TRUE(named.By("m.c").empty());                       // the group has an op of m.a
  EXPECT_EQ(named.By("m.d"), GroupsOf(graph, {"of_input"}));  // the group has no other op
}

}  // namespace
}  // namespace placewright
