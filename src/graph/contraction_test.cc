#include "graph/contraction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/test_graphs.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr GroupId kA(0), kB(1), kC(2);

IdVector<OpId, GroupId> Grouping(std::initializer_list<GroupId> groups) {
  IdVector<OpId, GroupId> grouping;
  for (GroupId group : groups) grouping.push_back(group);
  return grouping;
}

// a makes 16 B; b and c of group B read it whole, d of group C reads its second half (8 B) through
// a view and b's result (16 B).
TEST(Contraction, EveryUnitCountsOnceForEachGroup) {
  TinyGraph tiny;
  const TensorId x = tiny.Input("x", TensorKind::kInput, {4});
  const TensorId a = tiny.Fresh("a", {x});
  const TensorId half = tiny.View("half", "aten.slice.Tensor", a, {2}, {Int(0), Int(2), Int(4)});
  const TensorId b = tiny.Fresh("b", {a});
  tiny.Fresh("c", {a, a});
  tiny.Fresh("d", {half, b, x});
  const Graph graph = tiny.Build();
  const ContractedGraph contracted = Contract(graph, Grouping({kA, kA, kB, kB, kC}), 3);
  EXPECT_THAT(contracted.successors[kA],
              ElementsAre(GroupEdge{kB, Bytes(16)}, GroupEdge{kC, Bytes(8)}));
  EXPECT_THAT(contracted.successors[kB], ElementsAre(GroupEdge{kC, Bytes(16)}));
  EXPECT_THAT(contracted.successors[kC], IsEmpty());
  EXPECT_THAT(contracted.predecessors[kC],
              ElementsAre(GroupEdge{kA, Bytes(8)}, GroupEdge{kB, Bytes(16)}));
  EXPECT_THAT(contracted.members[kB], ElementsAre(OpId(2), OpId(3)));
}

// The parameter lives with its update (group B) and is read before it is written, and after: two
// versions of 16 B each go to group A.
TEST(Contraction, ParametersComeFromTheirHomeAndVersionsCountApart) {
  TinyGraph tiny;
  const TensorId w = tiny.Input("w", TensorKind::kParameter, {4});
  tiny.Fresh("before", {w});
  tiny.InPlace("update", {w});
  tiny.Fresh("behind", {w});
  const Graph graph = tiny.Build();
  const ContractedGraph contracted = Contract(graph, Grouping({kA, kB, kA}), 2);
  EXPECT_THAT(contracted.successors[kB], ElementsAre(GroupEdge{kA, Bytes(32)}));
  EXPECT_THAT(contracted.successors[kA], IsEmpty());
}

TEST(Contraction, AfterEdgesCarryNothing) {
  TinyGraph tiny;
  tiny.Fresh("a", {});
  tiny.After({"a"}).Fresh("b", {});
  const Graph graph = tiny.Build();
  const ContractedGraph contracted = Contract(graph, Grouping({kA, kB}), 2);
  EXPECT_THAT(contracted.successors[kA], ElementsAre(GroupEdge{kB, Bytes(0)}));
}

}  // namespace
}  // namespace placewright
