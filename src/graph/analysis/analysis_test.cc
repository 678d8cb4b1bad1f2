#include <gmock/gmock.h>

#include <algorithm>

#include "base/random.h"
#include "graph/analysis/statistics.h"
#include "graph/analysis/traversal.h"
#include "graph/test_graphs.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

// Named so that lexico differs from the order of ids (b is op 0):
//   b0 -> c1 -> e3 -> a4
//   b0 -> d2 -> e3        z5 alone
Graph Diamond() {
  TinyGraph tiny;
  const TensorId x = tiny.Input("x", TensorKind::kInput, {4});
  const TensorId b = tiny.Fresh("b", {x});
  const TensorId c = tiny.Fresh("c", {b});
  const TensorId d = tiny.Fresh("d", {b});
  const TensorId e = tiny.Fresh("e", {c, d});
  tiny.Fresh("a", {e});
  tiny.Fresh("z", {x});
  return tiny.Build();
}

std::vector<std::string> Names(const Graph& graph, TraversalOrder order) {
  std::vector<std::string> names;
  for (OpId op : Traverse(graph, order)) names.push_back(graph.op(op).name);
  return names;
}

TEST(Traversal, VisitsADiamondAsDefined) {
  const Graph graph = Diamond();
  // A stack of b and z: z, then b, which frees c and d; d, then c, which frees e; a.
  EXPECT_THAT(Names(graph, TraversalOrder::kTopo), ElementsAre("z", "b", "d", "c", "e", "a"));
  EXPECT_THAT(Names(graph, TraversalOrder::kReversedTopo),
              ElementsAre("a", "e", "c", "d", "b", "z"));
  // A queue: sources b and z first, then what they free.
  EXPECT_THAT(Generations(graph),
              ElementsAre(OpId(0), OpId(5), OpId(1), OpId(2), OpId(3), OpId(4)));
  // b down its first consumer to the end, then d, then the other source.
  EXPECT_THAT(Names(graph, TraversalOrder::kDfsPreorder),
              ElementsAre("b", "c", "e", "a", "d", "z"));
  EXPECT_THAT(Names(graph, TraversalOrder::kDfsPostorder),
              ElementsAre("a", "e", "c", "d", "b", "z"));
  // All that b leads to, level by level; then z, the second source by name.
  EXPECT_THAT(Names(graph, TraversalOrder::kBfs), ElementsAre("b", "c", "d", "e", "a", "z"));
  EXPECT_THAT(Names(graph, TraversalOrder::kLexico), ElementsAre("a", "b", "c", "d", "e", "z"));
}

TEST(Traversal, BreadthFirstDiffersFromTopologicalWhereALongPathJoins) {
  // p -> q -> r, p -> r: breadth first meets r beside q; topologically r waits for q.
  TinyGraph tiny;
  const TensorId x = tiny.Input("x", TensorKind::kInput, {4});
  const TensorId p = tiny.Fresh("p", {x});
  const TensorId r_first = tiny.Fresh("s", {p});
  const TensorId q = tiny.Fresh("q", {p});
  tiny.Fresh("r", {p, q, r_first});
  tiny.Fresh("t", {p});
  const Graph graph = tiny.Build();
  EXPECT_THAT(Names(graph, TraversalOrder::kBfs), ElementsAre("p", "s", "q", "r", "t"));
  // p frees s, q and t; from the stack come t, q and s, which frees r.
  EXPECT_THAT(Names(graph, TraversalOrder::kTopo), ElementsAre("p", "t", "q", "s", "r"));
}

// 2 -> 0 -> 1: NetworkX's walks begin at 0, which was inserted first, and not at the source.
TEST(Traversal, DepthFirstWalksStartInTheOrderOfInsertion) {
  const Csr<OpId, OpId> rows{{0, 1, 1, 2}, {OpId(1), OpId(0)}};
  EXPECT_THAT(TraverseRows(rows, TraversalOrder::kDfsPreorder), ElementsAre(0, 1, 2));
  EXPECT_THAT(TraverseRows(rows, TraversalOrder::kDfsPostorder), ElementsAre(1, 0, 2));
  EXPECT_THAT(TraverseRows(rows, TraversalOrder::kTopo), ElementsAre(2, 0, 1));
  EXPECT_THAT(TraverseRows(rows, TraversalOrder::kBfs), ElementsAre(2, 0, 1));
}

// Two algorithms, one order: an op is popped behind all that come below its younger siblings.
TEST(Traversal, BackwardsTopoIsPostorderWhereIdsAreTopological) {
  Random random(7);
  for (int graph = 0; graph < 100; ++graph) {
    Csr<OpId, OpId> rows;
    for (int32_t from = 0; from < 12; ++from) {
      for (int32_t to = from + 1; to < 12; ++to) {
        if (random.Below(4) == 0) rows.items.push_back(OpId(to));
      }
      rows.offsets.push_back(static_cast<int32_t>(rows.items.size()));
    }
    EXPECT_EQ(TraverseRows(rows, TraversalOrder::kReversedTopo),
              TraverseRows(rows, TraversalOrder::kDfsPostorder));
  }
}

TEST(Traversal, NamesRoundTrip) {
  for (TraversalOrder order : AllTraversalOrders()) {
    EXPECT_EQ(ParseTraversalOrder(ToString(order)), order);
  }
  EXPECT_EQ(ParseTraversalOrder("depth"), std::nullopt);
}

TEST(Traversal, RowsWithACycleAreStillVisitedOnce) {
  // 0 -> 1 -> 2 -> 1
  const Csr<OpId, OpId> rows{{0, 1, 2, 3}, {OpId(1), OpId(2), OpId(1)}};
  for (TraversalOrder order : {TraversalOrder::kTopo, TraversalOrder::kDfsPreorder,
                               TraversalOrder::kDfsPostorder, TraversalOrder::kBfs}) {
    std::vector<int32_t> nodes = TraverseRows(rows, order);
    std::sort(nodes.begin(), nodes.end());
    EXPECT_THAT(nodes, ElementsAre(0, 1, 2)) << ToString(order);
  }
}

TEST(Statistics, OfTheDiamond) {
  const GraphStatistics statistics = ComputeStatistics(Diamond());
  EXPECT_EQ(statistics.ops, 6);
  EXPECT_EQ(statistics.edges, 5);
  EXPECT_EQ(statistics.depth, 4);  // b c e a
  EXPECT_EQ(statistics.width, 2);  // b and z, c and d
  EXPECT_DOUBLE_EQ(statistics.degree, 5.0 / 6);
  EXPECT_EQ(statistics.sources, 2);
  EXPECT_EQ(statistics.sinks, 2);
  EXPECT_EQ(statistics.components, 2);
  EXPECT_EQ(statistics.diameter, 3);  // b to a
  EXPECT_EQ(statistics.directed_diameter, 3);
  EXPECT_TRUE(statistics.directed_diameter_exact);
  EXPECT_TRUE(statistics.diameter_exact);
}

// The diameter by searching from every op, against the bounding one.
int64_t SlowDiameter(const Graph& graph, bool directed = false) {
  int64_t diameter = 0;
  for (OpId start : graph.ops()) {
    std::vector<int64_t> distance(graph.op_count(), -1);
    std::vector<OpId> queue{start};
    distance[start.index()] = 0;
    for (size_t next = 0; next < queue.size(); ++next) {
      const OpId op = queue[next];
      const auto meet = [&](OpId other) {
        if (distance[other.index()] >= 0) return;
        distance[other.index()] = distance[op.index()] + 1;
        diameter = std::max(diameter, distance[other.index()]);
        queue.push_back(other);
      };
      for (OpId other : graph.producers(op)) {
        if (!directed) meet(other);
      }
      for (OpId other : graph.consumers(op)) meet(other);
    }
  }
  return diameter;
}

TEST(Statistics, DiameterEqualsThatOfAllSearches) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    TinyGraph tiny;
    std::vector<TensorId> tensors{tiny.Input("x", TensorKind::kInput, {4})};
    const int ops = 1 + static_cast<int>(random.Below(40));
    for (int i = 0; i < ops; ++i) {
      std::vector<TensorId> inputs;
      for (uint64_t k = 1 + random.Below(2); k-- > 0;) {
        // Mostly near ones, so that graphs are long.
        const size_t back = 1 + random.Below(std::min<size_t>(tensors.size(), 4));
        inputs.push_back(tensors[tensors.size() - back]);
      }
      tensors.push_back(tiny.Fresh("op" + std::to_string(i), inputs));
    }
    const Graph graph = tiny.Build();
    const GraphStatistics statistics = ComputeStatistics(graph);
    EXPECT_TRUE(statistics.diameter_exact);
    EXPECT_EQ(statistics.diameter, SlowDiameter(graph)) << "round " << round;
    EXPECT_EQ(statistics.directed_diameter, SlowDiameter(graph, true)) << "round " << round;
  }
}

TEST(Statistics, ASearchCutShortGivesALowerBoundAndSaysSo) {
  // A ring of 12 ops: two paths of 5 from one op to another. Every eccentricity is 6; one search
  // gives 6 for its own op, but up to 12 for others.
  TinyGraph tiny;
  const TensorId x = tiny.Input("x", TensorKind::kInput, {4});
  const TensorId start = tiny.Fresh("start", {x});
  TensorId left = start, right = start;
  for (int i = 0; i < 5; ++i) {
    left = tiny.Fresh("left" + std::to_string(i), {left});
    right = tiny.Fresh("right" + std::to_string(i), {right});
  }
  tiny.Fresh("end", {left, right});
  const Graph graph = tiny.Build();
  const GraphStatistics cut = ComputeStatistics(graph, 1);
  EXPECT_EQ(cut.diameter, 6);
  EXPECT_FALSE(cut.diameter_exact);
  EXPECT_TRUE(ComputeStatistics(graph).diameter_exact);
}

}  // namespace
}  // namespace placewright
