// The graph families, the runs of the study and what is found in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>

#include "study/traversal/advice.h"
#include "study/traversal/test_store.h"

namespace placewright {
namespace {

Result<TraversalTimes> MakeAll(const TraversalChunk& chunk, const std::string& folder,
                               const Budget& budget) {
  TraversalTimes times;
  for (const TraversalOrder order : AllTraversalOrders()) {
    PW_ASSIGN(TimesOfOrder of_order, MakeRuns(chunk, order, folder, budget));
    times.push_back(std::move(of_order));
  }
  return times;
}

using testing::ElementsAre;
using testing::HasSubstr;

// Table I: averages within a tenth, diameters in its ranges.
TEST(GraphFamilies, AreAsTableISays) {
  struct Row {
    GraphFamily family;
    double nodes, degree, diameter;
    int64_t shortest, longest;
  };
  for (const Row& row : {Row{GraphFamily::kCifar10, 303.44, 1.47, 95.63, 74, 154},
                         Row{GraphFamily::kPtb, 500.75, 2.56, 316.09, 216, 450},
                         Row{GraphFamily::kNmt, 179.44, 2.65, 63.13, 41, 69}}) {
    double nodes = 0, degree = 0, diameter = 0;
    for (int i = 0; i < kFamilySize; ++i) {
      const CostGraph made = MakeFamilyGraph(row.family, i, 3);
      const GroupGraphStatistics counted = CountGroupGraph(made.graph);
      EXPECT_GT(static_cast<int64_t>(made.graph.op_count()), counted.nodes * 3 / 2);
      EXPECT_TRUE(counted.diameter_exact);
      nodes += static_cast<double>(counted.nodes) / kFamilySize;
      degree += counted.degree / kFamilySize;
      diameter += static_cast<double>(counted.diameter) / kFamilySize;
      EXPECT_GE(counted.diameter, row.shortest) << ToString(row.family) << " " << i;
      EXPECT_LE(counted.diameter, row.longest) << ToString(row.family) << " " << i;
    }
    EXPECT_NEAR(nodes / row.nodes, 1, 0.1) << ToString(row.family);
    EXPECT_NEAR(degree / row.degree, 1, 0.05) << ToString(row.family);
    EXPECT_NEAR(diameter / row.diameter, 1, 0.1) << ToString(row.family);
  }
}

TEST(GraphFamilies, DependOnFamilyAndIndexAlone) {
  const CostGraph one = MakeFamilyGraph(GraphFamily::kNmt, 4, 3),
                  same = MakeFamilyGraph(GraphFamily::kNmt, 4, 8);
  ASSERT_EQ(one.graph.op_count(), same.graph.op_count());
  for (const OpId op : one.graph.ops()) {
    EXPECT_EQ(one.graph.op(op).name, same.graph.op(op).name);
    EXPECT_EQ(one.costs.time(op, DeviceId(2)), same.costs.time(op, DeviceId(7)));
  }
  for (const GraphFamily family : AllGraphFamilies()) {
    std::set<std::vector<int64_t>> distinct;  // by the times of their ops
    for (int i = 0; i < kFamilySize; ++i) {
      const CostGraph made = MakeFamilyGraph(family, i, 1);
      std::vector<int64_t> times;
      for (const OpId op : made.graph.ops()) {
        times.push_back(made.costs.time(op, DeviceId(0)).count);
      }
      distinct.insert(times);
    }
    EXPECT_EQ(distinct.size(), static_cast<size_t>(kFamilySize)) << ToString(family);
  }
}

// Of ten graphs the share of edges whose ends are neighbours in the sequence.
double NeighboursIn(GraphFamily family,
                    const std::function<std::vector<int32_t>(const Csr<OpId, OpId>&)>& order) {
  double joined = 0, edges = 0;
  for (int index = 0; index < 10; ++index) {
    const CostGraph made = MakeFamilyGraph(family, index, 3);
    const Problem problem =
        BuildProblem(made.graph, made.cluster, made.costs, {}, SchedulingPolicy::kFifo).Take();
    const OpGraph graph = BuildOpGraph(problem);
    const PlacementUnits units =
        UnitsOfGroups(problem, graph, FindCandidateDevices(problem, graph));
    Csr<OpId, OpId> rows;
    rows.offsets.assign(static_cast<size_t>(units.size()) + 1, 0);
    for (const auto& [from, to] : units.edges) {  // ascending
      if (from > to) continue;
      rows.items.push_back(OpId(static_cast<int32_t>(to)));
      ++rows.offsets[static_cast<size_t>(from) + 1];
    }
    std::partial_sum(rows.offsets.begin(), rows.offsets.end(), rows.offsets.begin());
    const std::vector<int32_t> sequence = order(rows);
    std::vector<int64_t> place(sequence.size());
    for (size_t i = 0; i < sequence.size(); ++i) {
      place[static_cast<size_t>(sequence[i])] = static_cast<int64_t>(i);
    }
    for (const auto& [from, to] : units.edges) {
      if (from > to) continue;
      joined += std::abs(place[static_cast<size_t>(from)] - place[static_cast<size_t>(to)]) == 1;
    }
    edges += static_cast<double>(rows.items.size());
  }
  return joined / edges;
}

// With a stack a quarter of the edges of nmt are between neighbours in the sequence (on the study's own graphs 29%),
// with a queue hardly any.
TEST(GraphFamilies, TopologicallyManyNeighboursAreParentAndChild) {
  const auto topo = [](const auto& rows) { return TraverseRows(rows, TraversalOrder::kTopo); };
  EXPECT_NEAR(NeighboursIn(GraphFamily::kNmt, topo), 0.246, 0.001);
  EXPECT_NEAR(NeighboursIn(GraphFamily::kNmt, GenerationsOfRows), 0.01, 0.001);
  EXPECT_NEAR(NeighboursIn(GraphFamily::kPtb, topo), 0.332, 0.001);
  EXPECT_NEAR(NeighboursIn(GraphFamily::kCifar10, topo), 0.607, 0.001);
}

// A smaller run of the study: one graph, all orders, a few episodes.
TEST_F(TraversalFile, ARunIsRepeatableAndKept) {
  TraversalChunk chunk{GraphFamily::kNmt, 0, 3, TraversalPolicy::kImprovement, 0, 5};
  const TraversalTimes times = MakeAll(chunk, "", {}).Take();
  EXPECT_EQ(times.size(), kTraversalOrders);
  EXPECT_EQ(times[0].size(), static_cast<size_t>(TraversalChunk::kRepeats));
  EXPECT_EQ(times[0][0].size(), 3U);  // after 1, 2 and 5 episodes
  bool differ = false;
  for (const auto& of_order : times) {
    for (const auto& repeat : of_order) {
      EXPECT_LE(repeat[2], repeat[0]);
      differ |= repeat != times[0][0];
    }
  }
  EXPECT_TRUE(differ);
  // The other controls draw alike until something is learned: after two episodes, no later.
  chunk.policy = TraversalPolicy::kUntrained;
  const TraversalTimes untrained = MakeAll(chunk, "", {}).Take();
  bool learns = false;
  for (size_t order = 0; order < kTraversalOrders; ++order) {
    for (size_t repeat = 0; repeat < times[order].size(); ++repeat) {
      EXPECT_EQ(untrained[order][repeat][1], times[order][repeat][1]);
      learns |= untrained[order][repeat][2] != times[order][repeat][2];
    }
  }
  EXPECT_TRUE(learns);
  chunk.policy = TraversalPolicy::kUniform;
  const TraversalTimes control = MakeAll(chunk, "", {}).Take();
  EXPECT_EQ(control, MakeAll(chunk, "", {}).Take());
  EXPECT_NE(control, times);
  TraversalStore store = TraversalStore::Load(path_).Take();
  EXPECT_EQ(store.Find(chunk), nullptr);
  ASSERT_TRUE(AddAll(chunk, control, store));
  const TraversalStore again = TraversalStore::Load(path_).Take();
  ASSERT_NE(again.Find(chunk), nullptr);
  EXPECT_EQ(*again.Find(chunk), control);
  // An order by itself is kept, and no chunk.
  chunk.graph = 1;
  const TraversalOrder first = AllTraversalOrders()[0];
  ASSERT_TRUE(store.Add(chunk, first, control[0]).ok());
  const TraversalStore begun = TraversalStore::Load(path_).Take();
  EXPECT_TRUE(begun.Has(chunk, first));
  EXPECT_FALSE(begun.Has(chunk, AllTraversalOrders()[1]));
  EXPECT_EQ(begun.Find(chunk), nullptr);
  EXPECT_EQ(begun.chunks().size(), 1U);
  chunk.devices = 5;
  EXPECT_EQ(again.Find(chunk), nullptr);
  StopSource stop;
  stop.RequestStop();
  Budget budget;
  budget.stop = stop.token();
  EXPECT_EQ(MakeAll(chunk, "", budget).error().code, ErrorCode::kCancelled);
}

TEST(TraversalRuns, BlocksOfRepeatsAreOthers) {
  // Two episodes: the first is greedy and does not count.
  TraversalChunk chunk{GraphFamily::kNmt, 1, 3, TraversalPolicy::kUniform, 0, 2};
  const TimesOfOrder first = MakeRuns(chunk, TraversalOrder::kTopo, "", {}).Take();
  chunk.first_repeat = TraversalChunk::kRepeats;
  const TimesOfOrder second = MakeRuns(chunk, TraversalOrder::kTopo, "", {}).Take();
  std::set<std::vector<int64_t>> distinct(first.begin(), first.end());
  distinct.insert(second.begin(), second.end());
  EXPECT_EQ(distinct.size(), 2U * TraversalChunk::kRepeats);
}

// Recorded steps run as the families do; their nodes are colocation groups.
TEST(RealGraphs, AreStudiedWhereTheyAre) {
  const std::string folder = PLACEWRIGHT_SHARED_DATA "/fx";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is missing";
  for (int index = 0; index < static_cast<int>(RealGraphFiles().size()); ++index) {
    const CostGraph made = LoadRealGraph(folder, index, 5).Take();
    EXPECT_EQ(made.cluster.device_count(), 5u);
    const GroupGraphStatistics counted = CountGroupGraph(made.graph);
    EXPECT_GT(counted.nodes, 60);
    EXPECT_LT(counted.nodes, 700);
    const GroupGraphStatistics known = RealGraphStatistics(index);
    EXPECT_EQ(known.nodes, counted.nodes) << index;
    EXPECT_EQ(known.edges, counted.edges) << index;
    EXPECT_EQ(known.degree, counted.degree) << index;
    EXPECT_EQ(known.diameter, counted.diameter) << index;
    int64_t work = 0;
    for (const OpId op : made.graph.ops()) work += made.costs.time(op, DeviceId(4)).count;
    EXPECT_GT(work, 100'000);  // a tenth of a millisecond
  }
  const TraversalChunk chunk{GraphFamily::kReal, 0, 3, TraversalPolicy::kUniform, 0, 1};
  EXPECT_EQ(MakeAll(chunk, folder, {}).Take().size(), kTraversalOrders);
  EXPECT_EQ(MakeAll(chunk, "/nowhere", {}).error().code, ErrorCode::kFileUnreadable);
  EXPECT_EQ(ChunksOf({2, 5, 0, true}).size() - ChunksOf({2, 5, 0, false}).size(),
            RealGraphFiles().size() * 3 * 4);
  // Behind the long runs of the study's own policy, before those of its controls.
  const std::vector<TraversalChunk> chunks = ChunksOf({2, 5, 1, true});
  const size_t first = 2 * 3 * 3 * 4 + 3;
  EXPECT_EQ(chunks[first - 1].episodes, 500);
  EXPECT_EQ(chunks[first].family, GraphFamily::kReal);
  EXPECT_EQ(chunks.back().episodes, 500);
}

TEST_F(TraversalFile, LinesThatAreWrongAreNamed) {
  const auto error = [&](const std::string& text) {
    std::ofstream(path_) << text;
    const auto loaded = TraversalStore::Load(path_);
    return loaded.ok() ? std::string("accepted") : loaded.error().ToString();
  };
  EXPECT_THAT(error("\n{"), HasSubstr("line 2"));
  EXPECT_THAT(error("[]\n"), HasSubstr("must be an object"));
  const std::string begin =
      R"({"rules":2,"family":"nmt","graph":0,"devices":3,"policy":"uniform",)";
  EXPECT_THAT(error(begin + R"("first_repeat":0,"episodes":1,"order":"topo","times_ns":[[1]]})"),
              HasSubstr("one for each repeat"));
  EXPECT_THAT(error(begin + R"("first_repeat":0,"episodes":1,"order":"otpo","times_ns":[]})"),
              HasSubstr("\"otpo\" is unknown"));
  EXPECT_THAT(error(R"({"rules":2,"family":"mnt","graph":0,"devices":3,"policy":"uniform"})"),
              HasSubstr("\"mnt\" is unknown"));
  EXPECT_THAT(error(R"({"rules":2,"family":"nmt","graph":0,"devices":4,"policy":"uniform"})"),
              HasSubstr("must be 3, 5 or 8"));
  // Lines of another meaning, as those without a number are.
  for (const char* rules : {R"({"rules":1,"family":"nmt"})", R"({"family":"nmt"})"}) {
    EXPECT_THAT(error(rules), HasSubstr("of an earlier study"));
  }
}

TEST(TraversalDesign, BeginsWithAllFamiliesAndDevices) {
  const std::vector<TraversalChunk> chunks = ChunksOf({10, 5, 3});
  EXPECT_EQ(chunks.size(), 10U * 3 * 3 * 4 + 3 * 3 * 4);
  EXPECT_EQ(ChunksOf({32, 10, 0}).size(), 2U * 32 * 3 * 3 * 4);
  for (size_t i = 0; i < 36; ++i) EXPECT_EQ(chunks[i].graph, 0);
  for (size_t i = 360; i < chunks.size(); ++i) {
    EXPECT_EQ(chunks[i].episodes, 500);
    EXPECT_EQ(chunks[i].policy == TraversalPolicy::kPublished, i < 369);
  }
}

// Three blocks of six: rank sums 3 6 9 12 15 18, whose squares from the mean 10.5 are
// 2 (7.5^2 + 4.5^2 + 1.5^2) = 157.5; x = 12 * 157.5 / (3 * 6 * 7) = 15, p of chi-square with 5 degrees
// of freedom .010362.
TEST(Statistics, FriedmanByHand) {
  const std::vector<PerOrder> blocks(3, PerOrder{1, 2, 3, 4, 5, 6});
  EXPECT_NEAR(FriedmanStatistic(blocks), 15, 1e-12);
  EXPECT_NEAR(ChiSquareTail(15), 0.010362, 1e-6);
  // Twice in 720^2 draws at most: none of 9,999.
  EXPECT_NEAR(FriedmanP(blocks), 1e-4, 1e-12);
  EXPECT_EQ(FriedmanP(std::vector<PerOrder>(4, PerOrder{2, 2, 2, 2, 2, 2})), 1);
  EXPECT_EQ(FriedmanP({}), 1);
  // One block 1 1 1 2 2 2: ranks 2 2 2 5 5 5, squares 6 * 1.5^2 = 13.5, ties 2 * 24 = 48,
  // x = 12 * 13.5 / (42 - 48 / 5) = 5; p = .415880.
  EXPECT_NEAR(FriedmanStatistic(std::vector<PerOrder>{{1, 1, 1, 2, 2, 2}}), 5, 1e-12);
  EXPECT_NEAR(ChiSquareTail(5), 0.415880, 1e-6);
  // Whatever the places of a single block's values, the statistic is the same.
  EXPECT_EQ(FriedmanP(std::vector<PerOrder>{{1, 1, 1, 2, 2, 2}}), 1);
  // Of two blocks that agree 2 of 720 places or fewer do as well; of many the two tests come together.
  EXPECT_NEAR(FriedmanP(std::vector<PerOrder>(2, PerOrder{1, 2, 3, 4, 5, 6})), 1.0 / 720, 1e-3);
  std::vector<PerOrder> noisy;
  for (int i = 0; i < 20; ++i) {
    PerOrder block{};
    for (int order = 0; order < 6; ++order) block[order] = (i * 7 + order * order * (i + 3)) % 11;
    noisy.push_back(block);
  }
  EXPECT_NEAR(FriedmanP(noisy), ChiSquareTail(FriedmanStatistic(noisy)), 0.02);
}

TEST(Statistics, WilcoxonByHand) {
  // All five of one sign: 2 / 2^5.
  EXPECT_DOUBLE_EQ(WilcoxonP(std::vector<double>{1, 2, 3, 4, 5}), 0.0625);
  // Ranks 1 2 3 with signs - + +: sum 1 or less in 2 of 8 ways.
  EXPECT_DOUBLE_EQ(WilcoxonP(std::vector<double>{-1, 2, 3}), 0.5);
  // Ties: ranks 1.5 1.5 3, signs - + +: sums up to 1.5 are 0, 1.5, 1.5: 3 of 8.
  EXPECT_DOUBLE_EQ(WilcoxonP(std::vector<double>{-1, 1, 3, 0}), 0.75);
  EXPECT_EQ(WilcoxonP(std::vector<double>{0, 0}), 1);
  EXPECT_THAT(HolmCorrected(std::vector<double>{0.03, 0.01, 0.04}), ElementsAre(0.06, 0.03, 0.06));
}

TEST(TraversalFindings, EqualMeansShareAWin) {
  EXPECT_THAT(WinOf({3, 1, 2, 1, 4, 5}), ElementsAre(0, 0.5, 0, 0.5, 0, 0));
  EXPECT_THAT(WinOf({3, 2, 1, 4, 4, 5}), ElementsAre(0, 0, 1, 0, 0, 0));
}

TEST_F(TraversalFile, FindingsCountWinsAndCompareWithTheControl) {
  const TraversalStore store = MadeUpTraversalStore(path_);
  const auto findings = FindTraversalResults(store, TraversalPolicy::kImprovement);
  ASSERT_EQ(findings.size(), 9U);  // three families, after 10, 20 and 50
  for (const TraversalFinding& finding : findings) {
    EXPECT_THAT(finding.wins, ElementsAre(0, 6, 0, 0, 0, 0));
    EXPECT_EQ(finding.graphs, 6U);
    EXPECT_EQ(finding.repeats, 5);
    EXPECT_DOUBLE_EQ(finding.worst_to_best, 3);
    ASSERT_EQ(finding.controls.size(), 3U);
    EXPECT_EQ(finding.controls[0].control, TraversalPolicy::kUniform);
    EXPECT_EQ(finding.controls[0].graphs, 6U);
    EXPECT_NEAR(finding.controls[0].ratio[1], 0.25, 1e-12);
    EXPECT_NEAR(finding.controls[0].p[1], 6 * 2.0 / 64, 1e-12);  // all six graphs, Holm
    EXPECT_EQ(finding.controls[1].graphs, 0U);
    EXPECT_LT(finding.friedman_p, 0.001);
    ASSERT_TRUE(finding.published);
  }
  // Table II, 3 devices after 9: lexico 1, topo 6, dfs_pre 10, rev_topo 10, dfs_post 4, bfs 1.
  EXPECT_THAT(*findings[0].published, ElementsAre(6, 10, 10, 4, 1, 1));
  // Table IV, 3 devices after 49: 0 1 8 5 2 16; Table III: 0 0 1 24 1 6.
  EXPECT_THAT(*findings[5].published, ElementsAre(1, 5, 8, 2, 16, 0));
  EXPECT_THAT(*findings[8].published, ElementsAre(0, 24, 1, 1, 6, 0));
  EXPECT_TRUE(FindTraversalResults(store, TraversalPolicy::kPublished).empty());
}

TEST_F(TraversalFile, AdviceIsWhatWonOnGraphsLikeIt) {
  const TraversalStore store = MadeUpTraversalStore(path_);
  const std::vector<TraversalEvidence> evidence = EvidenceOf(store, 3, 50);
  EXPECT_EQ(evidence.size(), 18U);
  const OrderAdvice advice = *AdviseOrder(evidence[7].statistics, evidence);
  EXPECT_EQ(advice.order, TraversalOrder::kReversedTopo);
  EXPECT_EQ(advice.nearest.size(), kNearestGraphs);
  EXPECT_EQ(advice.distance, 0);
  EXPECT_NEAR(advice.to_best[0], 2, 1e-12);
  EXPECT_LE(ChanceOf(advice), 0.01);
  // Two graphs on which others win say next to nothing: some order is always ahead.
  OrderAdvice chance;
  chance.nearest = {evidence[0], evidence[0]};
  chance.nearest[0].to_best = {1, 1.2, 1.3, 1.1, 1.5, 1.4};
  chance.nearest[1].to_best = {1.1, 1.2, 1.0, 1.4, 1.3, 1.5};
  EXPECT_GT(ChanceOf(chance), 0.2);
  // The six of its family, and another.
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(advice.nearest[i].family, evidence[7].family);
  const AdviceScore score = ScoreAdvice(evidence);
  EXPECT_EQ(score.graphs, 18U);
  EXPECT_NEAR(score.advised, 1, 1e-12);
  EXPECT_EQ(score.worse, 0U);
  // One family where another order wins: its own graphs are advised otherwise by the others.
  std::vector<TraversalEvidence> split = evidence;
  for (TraversalEvidence& one : split) {
    if (one.family == GraphFamily::kPtb) one.to_best = {3, 3, 3, 3, 1, 3};
  }
  EXPECT_EQ(AdviseOrder(evidence[7].statistics, split)->order, TraversalOrder::kBfs);
  EXPECT_EQ(ScoreAdvice(split).better, 0U);
  EXPECT_FALSE(AdviseOrder(evidence[0].statistics, {}));
  EXPECT_THAT(StudiedDevices(2), ElementsAre(3, 5, 8));
  EXPECT_THAT(StudiedDevices(6), ElementsAre(5, 8, 3));
  EXPECT_THAT(StudiedDevices(64), ElementsAre(8, 5, 3));
}

// Two units of three, in their order; an edge back is none.
TEST(GroupGraph, CountsUnits) {
  PlacementUnits units;
  units.groups.resize(3);
  units.edges = {{0, 1}, {1, 2}, {2, 0}};
  const GroupGraphStatistics counted = CountUnitGraph(units);
  EXPECT_EQ(counted.nodes, 3);
  EXPECT_EQ(counted.edges, 2);
  EXPECT_EQ(counted.diameter, 2);
}

}  // namespace
}  // namespace placewright
