// Every public vector of the simulator's rules, both orders: times, peaks, excess and op ends.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "formats/costs/costgraph_writer.h"
#include "formats/text/file.h"
#include "formats/text/json.h"
#include "plan/sequence.h"
#include "sim/placement_check.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

void ExpectVector(const CostGraph& cost_graph, const Json& expected, SchedulingPolicy policy) {
  Result<Placement> placement =
      ResolvePlacement(*cost_graph.placement, cost_graph.graph, cost_graph.cluster);
  ASSERT_TRUE(placement.ok()) << placement.error().ToString();
  const SimGraph sim_graph = BuildSimGraph(cost_graph.graph, cost_graph.cluster, cost_graph.costs);
  const Status legal =
      CheckPlacementLegal(sim_graph, cost_graph.graph, cost_graph.cluster, placement.value());
  ASSERT_TRUE(legal.ok()) << legal.error().ToString();
  Result<Sequences> sequences = ResolveSequences(cost_graph.sequences, cost_graph.graph,
                                                 cost_graph.cluster, placement.value());
  ASSERT_TRUE(sequences.ok()) << sequences.error().ToString();
  Simulator simulator(sim_graph);
  SimOptions options;
  options.policy = policy;
  options.sequences = &sequences.value();
  options.schedule = true;
  const SimResult& result = simulator.Run(placement.value(), options);
  EXPECT_EQ(result.step_time.count, expected["step_time_ns"].get<int64_t>());
  ASSERT_EQ(result.devices.size(), expected["peak_memory_bytes"].size());
  ASSERT_EQ(result.devices.size(), expected["over_bytes"].size());
  for (size_t d = 0; d < result.devices.size(); ++d) {
    EXPECT_EQ(result.devices[d].peak.count, expected["peak_memory_bytes"][d].get<int64_t>());
    EXPECT_EQ(result.devices[d].over.count, expected["over_bytes"][d].get<int64_t>());
  }
  ASSERT_EQ(cost_graph.graph.op_count(), expected["end_ns"].size());
  for (OpId op : cost_graph.graph.ops()) {
    EXPECT_EQ(result.schedule->ops[op].end.count, expected["end_ns"][op.index()].get<int64_t>());
  }
}

// What keeps the graph from being simulated: the reader's error, the placement's, or the op of rule 16.
std::string Refusal(const Json& document) {
  Result<CostGraph> read = ReadCostGraph(document);
  if (!read.ok()) return read.error().ToString();
  const CostGraph cost_graph = read.Take();
  const Placement placement =
      ResolvePlacement(*cost_graph.placement, cost_graph.graph, cost_graph.cluster).Take();
  const SimGraph sim_graph = BuildSimGraph(cost_graph.graph, cost_graph.cluster, cost_graph.costs);
  const Status legal =
      CheckPlacementLegal(sim_graph, cost_graph.graph, cost_graph.cluster, placement);
  if (!legal.ok()) return legal.error().ToString();
  const Sequences sequences =
      ResolveSequences(cost_graph.sequences, cost_graph.graph, cost_graph.cluster, placement)
          .Take();
  Simulator simulator(sim_graph);
  SimOptions options;
  options.sequences = &sequences;
  const OpId stuck = simulator.Run(placement, options).stuck;
  return stuck.valid()
             ? SequenceDeadlock(cost_graph.graph, cost_graph.cluster, placement, stuck).ToString()
             : "";
}

class SimulatorVectors : public ::testing::TestWithParam<std::pair<const char*, size_t>> {};

TEST_P(SimulatorVectors, AllAgree) {
  const auto [file, count] = GetParam();
  const std::string path = std::string(PLACEWRIGHT_SHARED_DATA) + "/simulator/" + file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no folder of real data: " << path;
  Result<std::string> bytes = ReadFile(path);
  ASSERT_TRUE(bytes.ok()) << bytes.error().ToString();
  Result<Json> vectors = ParseJson(bytes.value());
  ASSERT_TRUE(vectors.ok()) << vectors.error().ToString();
  EXPECT_EQ(vectors.value().size(), count);
  for (Json& vector : vectors.value()) {
    SCOPED_TRACE(vector["name"].get<std::string>());
    const Json expected = vector["expected"];
    vector.erase("expected");
    if (expected.contains("error")) {
      const auto word = expected["error"].get<std::string>();
      EXPECT_NE(Refusal(vector).find(word), std::string::npos) << Refusal(vector);
      continue;
    }
    Result<CostGraph> cost_graph = ReadCostGraph(vector);
    ASSERT_TRUE(cost_graph.ok()) << cost_graph.error().ToString();
    ExpectVector(cost_graph.value(), expected["fifo"], SchedulingPolicy::kFifo);
    ExpectVector(cost_graph.value(), expected["critical-path"], SchedulingPolicy::kCriticalPath);
    // Written again, it says the same.
    EXPECT_EQ(CostGraphToJson(ReadCostGraph(CostGraphToJson(cost_graph.value())).Take()),
              CostGraphToJson(cost_graph.value()));
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, SimulatorVectors,
                         ::testing::Values(std::pair("vectors.json.gz", size_t{86}),
                                           std::pair("vectors2.json.gz", size_t{70})));

}  // namespace
}  // namespace placewright
