#include "graph/partition/partition.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>
#include <thread>

#include "base/random.h"
#include "base/units.h"
#include "graph/partition/components.h"
#include "graph/partition/library_graph.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

struct Edge {
  int32_t from, to;
  int64_t weight;
};

WeightedGraph Directed(int32_t nodes, std::vector<Edge> edges, std::vector<int64_t> weights = {}) {
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.from < b.from; });
  WeightedGraph graph;
  if (weights.empty()) weights.assign(nodes, 1);
  graph.weights = {std::move(weights)};
  size_t next = 0;
  for (int32_t i = 0; i < nodes; ++i) {
    for (; next < edges.size() && edges[next].from == i; ++next) {
      graph.edges.push_back({edges[next].to, edges[next].weight});
    }
    graph.offsets.push_back(static_cast<int32_t>(graph.edges.size()));
  }
  return graph;
}

// Two chains of 10 with heavy edges, joined by one light edge.
WeightedGraph TwoChains() {
  std::vector<Edge> edges{{9, 10, 1}};
  for (int32_t i = 0; i < 19; ++i) {
    if (i != 9) edges.push_back({i, i + 1, 100});
  }
  return Directed(20, edges);
}

PartitionOptions Parts(int parts) {
  PartitionOptions options;
  options.parts = parts;
  return options;
}

using Partitioner = Result<std::vector<int32_t>> (*)(const WeightedGraph&, const PartitionOptions&);
class Library : public ::testing::TestWithParam<Partitioner> {};

TEST_P(Library, CutsTheLightEdge) {
  const auto parts = GetParam()(MakeUndirected(TwoChains()), Parts(2));
  ASSERT_TRUE(parts.ok());
  // The edge of weight 1, counted in both rows.
  EXPECT_EQ(CutWeight(MakeUndirected(TwoChains()), parts.value()), 2);
}

TEST_P(Library, FollowsShares) {
  // 400 nodes without edges, shares 3 : 1.
  PartitionOptions options = Parts(2);
  options.shares = {{3.0}, {1.0}};
  const auto parts = GetParam()(Directed(400, {}), options);
  ASSERT_TRUE(parts.ok());
  const auto first = std::count(parts.value().begin(), parts.value().end(), 0);
  EXPECT_NEAR(static_cast<double>(first), 300, 20);
}

TEST_P(Library, RepeatsItselfFromAnyThread) {
  Random random(3);
  std::vector<Edge> edges;
  for (int i = 0; i < 3000; ++i) {
    edges.push_back({static_cast<int32_t>(random.Below(800)),
                     static_cast<int32_t>(random.Below(800)),
                     static_cast<int64_t>(random.Below(1000))});
  }
  const WeightedGraph graph = MakeUndirected(Directed(800, edges));
  const std::vector<int32_t> alone = GetParam()(graph, Parts(7)).Take();
  std::vector<std::vector<int32_t>> together(4);
  std::vector<std::thread> threads;
  for (auto& result : together) {
    threads.emplace_back([&] { result = GetParam()(graph, Parts(7)).Take(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : together) EXPECT_EQ(result, alone);
}

TEST_P(Library, TakesDegenerateGraphs) {
  EXPECT_TRUE(GetParam()(Directed(0, {}), Parts(4)).Take().empty());
  EXPECT_THAT(GetParam()(Directed(3, {{0, 1, 5}}), Parts(1)).Take(), ElementsAre(0, 0, 0));
  // Fewer nodes than parts, weights 0, weights whose sum exceeds 64 bits.
  for (int64_t weight : {int64_t{0}, kMaxQuantity}) {
    const WeightedGraph graph =
        MakeUndirected(Directed(3, {{0, 1, weight}, {1, 2, weight}}, {weight, weight, weight}));
    const auto parts = GetParam()(graph, Parts(5));
    ASSERT_TRUE(parts.ok());
    for (int32_t part : parts.value()) {
      EXPECT_GE(part, 0);
      EXPECT_LT(part, 5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Library, ::testing::Values(&PartitionMetis, &PartitionScotch));

void Ignore(int) {}

TEST(Metis, LeavesSignalHandlersAsTheyWere) {
  struct sigaction mine = {}, before, after;
  mine.sa_handler = &Ignore;
  mine.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &mine, &before);
  ASSERT_TRUE(PartitionMetis(MakeUndirected(TwoChains()), Parts(2)).ok());
  sigaction(SIGTERM, &before, &after);
  EXPECT_EQ(after.sa_handler, &Ignore);
  EXPECT_EQ(after.sa_flags & (SA_RESETHAND | SA_RESTART), SA_RESTART);
}

TEST(Metis, PrintsNothingWhereFewNodesHoldMostOfTheWeight) {
  testing::internal::CaptureStdout();
  for (int parts = 2; parts <= 16; ++parts) {
    const std::vector<int32_t> part_of =
        PartitionMetis(Directed(6, {}, {1000000, 1, 1, 1000000, 1, 1}), Parts(parts)).Take();
    EXPECT_NE(part_of[0], part_of[3]) << parts;
  }
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(Metis, BalancesTwoConstraints) {
  // 100 nodes of time 10 and memory 0, 100 of time 0 and memory 10: both sorts are halved.
  WeightedGraph graph = Directed(200, {});
  std::vector<int64_t> time(200, 0), memory(200, 10);
  std::fill(time.begin(), time.begin() + 100, 10);
  std::fill(memory.begin(), memory.begin() + 100, 0);
  graph.weights = {time, memory};
  const std::vector<int32_t> parts = PartitionMetis(graph, Parts(2)).Take();
  EXPECT_NEAR(static_cast<double>(std::count(parts.begin(), parts.begin() + 100, 0)), 50, 8);
  EXPECT_NEAR(static_cast<double>(std::count(parts.begin() + 100, parts.end(), 0)), 50, 8);
}

TEST(WeightedGraph, UndirectedAddsBothDirectionsAndDropsLoops) {
  // 0 -> 1 (3), 1 -> 0 (4), 0 -> 1 (5), 1 -> 1
  const WeightedGraph graph =
      MakeUndirected(Directed(2, {{0, 1, 3}, {1, 0, 4}, {0, 1, 5}, {1, 1, 9}}));
  ASSERT_EQ(graph.edges.size(), 2u);
  EXPECT_EQ(graph.edges[0].to, 1);
  EXPECT_EQ(graph.edges[0].weight, 12);
  EXPECT_EQ(graph.edges[1].to, 0);
  EXPECT_EQ(graph.edges[1].weight, 12);
}

TEST(WeightedGraph, ScaledWeightsStayBelowTheLimitAndAboveZero) {
  const std::vector<int64_t> scaled = ScaleWeights({kMaxQuantity, kMaxQuantity, 0, 7}, 1);
  EXPECT_LT(std::accumulate(scaled.begin(), scaled.end(), int64_t{0}), (int64_t{1} << 30) + 8);
  EXPECT_EQ(scaled[0], scaled[1]);
  EXPECT_EQ(scaled[2], 1);
  // Small weights stay as they are.
  EXPECT_THAT(ScaleWeights({5, 0, 7}, 1), ElementsAre(5, 1, 7));
}

TEST(Components, OfTwoCyclesAndATail) {
  // 0 <-> 1 -> 2 <-> 3 -> 4
  const WeightedGraph graph =
      Directed(5, {{0, 1, 1}, {1, 0, 1}, {1, 2, 6}, {2, 3, 1}, {3, 2, 1}, {3, 4, 2}});
  const std::vector<int32_t> components = StronglyConnectedComponents(graph);
  EXPECT_THAT(components, ElementsAre(0, 0, 1, 1, 2));
  const WeightedGraph contracted = ContractComponents(graph, components);
  EXPECT_THAT(contracted.weights[0], ElementsAre(2, 2, 1));
  ASSERT_EQ(contracted.edges.size(), 2u);
  EXPECT_EQ(contracted.edges[0].weight, 6);
  EXPECT_EQ(contracted.edges[1].weight, 2);
}

TEST(Acyclic, CutsTheLightEdge) {
  const std::vector<int32_t> parts = PartitionAcyclic(TwoChains(), Parts(2));
  EXPECT_EQ(CutWeight(TwoChains(), parts), 1);
  EXPECT_EQ(parts.front(), 0);
  EXPECT_EQ(parts.back(), 1);
}

// The smallest cut of all acyclic bipartitions of at most 12 nodes within the limit, by trying all.
int64_t BruteForceCut(const WeightedGraph& graph, int64_t limit) {
  int64_t best = kMaxQuantity;
  for (uint32_t set = 0; set < (1u << graph.nodes()); ++set) {  // nodes of part 1
    std::vector<int32_t> part_of;
    int64_t load[2] = {0, 0};
    for (int32_t i = 0; i < graph.nodes(); ++i) {
      part_of.push_back(set >> i & 1);
      load[part_of[i]] += graph.weights[0][i];
    }
    bool legal = load[0] <= limit && load[1] <= limit;
    for (int32_t i = 0; i < graph.nodes() && legal; ++i) {
      for (int32_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
        legal &= part_of[i] <= part_of[graph.edges[k].to];
      }
    }
    if (legal) best = std::min(best, CutWeight(graph, part_of));
  }
  return best;
}

TEST(Acyclic, IsAcyclicAndBalancedAndNearTheOptimumOnSmallGraphs) {
  Random random(11);
  int optimal = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const auto nodes = static_cast<int32_t>(4 + random.Below(8));
    std::vector<Edge> edges;
    for (int32_t i = 0; i < nodes; ++i) {
      for (int32_t j = i + 1; j < nodes; ++j) {
        if (random.Below(3) == 0)
          edges.push_back({i, j, 1 + static_cast<int64_t>(random.Below(9))});
      }
    }
    const WeightedGraph graph = Directed(nodes, edges);
    PartitionOptions options = Parts(2);
    options.imbalance = 0.34;
    const std::vector<int32_t> parts = PartitionAcyclic(graph, options);
    for (const Edge& edge : edges) EXPECT_LE(parts[edge.from], parts[edge.to]);
    const auto limit = static_cast<int64_t>(0.5 * 1.34 * nodes);
    const auto second = std::count(parts.begin(), parts.end(), 1);
    EXPECT_LE(std::max<int64_t>(second, nodes - second), limit);
    const int64_t best = BruteForceCut(graph, limit);
    EXPECT_GE(CutWeight(graph, parts), best);
    optimal += CutWeight(graph, parts) == best ? 1 : 0;
  }
  // It is a heuristic; if the dynamic program or the refinement broke, this would fall.
  EXPECT_GE(optimal, kRounds * 6 / 10);
}

TEST(Acyclic, KeepsCyclesTogetherAndRelaxesBalanceForThem) {
  // A cycle of 6 nodes cannot be halved; node 6 follows.
  std::vector<Edge> edges{{5, 6, 1}};
  for (int32_t i = 0; i < 6; ++i) edges.push_back({i, (i + 1) % 6, 10});
  const std::vector<int32_t> parts = PartitionAcyclic(Directed(7, edges), Parts(2));
  EXPECT_EQ(std::set<int32_t>(parts.begin(), parts.begin() + 6).size(), 1u);
  EXPECT_LE(parts[5], parts[6]);
}

TEST(Acyclic, LeavesPartsWithoutShareEmpty) {
  PartitionOptions options = Parts(3);
  options.shares = {{1.0}, {0.0}, {1.0}};
  const std::vector<int32_t> parts = PartitionAcyclic(TwoChains(), options);
  EXPECT_EQ(std::count(parts.begin(), parts.end(), 1), 0);
  EXPECT_EQ(std::count(parts.begin(), parts.end(), 2), 10);
}

TEST(PartitionFluid, CommunitiesAreDense) {
  // Two cliques of 8, joined by one edge.
  std::vector<Edge> edges{{0, 8, 1}};
  for (int32_t base : {0, 8}) {
    for (int32_t i = 0; i < 8; ++i) {
      for (int32_t j = 0; j < i; ++j) edges.push_back({base + i, base + j, 1});
    }
  }
  const WeightedGraph graph = MakeUndirected(Directed(16, edges));
  int apart = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PartitionOptions options = Parts(2);
    options.seed = seed;
    const std::vector<int32_t> parts = PartitionFluid(graph, options);
    EXPECT_EQ(parts, PartitionFluid(graph, options));
    EXPECT_EQ(std::set<int32_t>(parts.begin(), parts.end()).size(), 2u);
    apart += CutWeight(graph, parts) == 2 ? 1 : 0;  // each edge is in both rows
  }
  EXPECT_GE(apart, 15);  // both seeds of a start may lie in one clique
}

TEST(PartitionFluid, EveryNodeHasACommunity) {
  // Two communities, five components: three are reached by neither.
  const WeightedGraph graph =
      MakeUndirected(Directed(10, {{0, 1, 1}, {2, 3, 1}, {4, 5, 1}, {6, 7, 1}, {8, 9, 1}}));
  for (int32_t part : PartitionFluid(graph, Parts(2))) EXPECT_THAT(part, testing::AnyOf(0, 1));
  EXPECT_THAT(PartitionFluid(Directed(0, {}), Parts(3)), testing::IsEmpty());
}

}  // namespace
}  // namespace placewright
