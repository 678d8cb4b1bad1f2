// Every public vector of the simulator's rules, both orders: times, peaks, excess and op ends.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "formats/costs/costgraph_reader.h"
#include "formats/text/file.h"
#include "formats/text/json.h"
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
  Simulator simulator(sim_graph);
  SimOptions options;
  options.policy = policy;
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

TEST(SimulatorVectors, AllAgree) {
  const std::string path = std::string(PLACEWRIGHT_SHARED_DATA) + "/simulator/vectors.json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no folder of real data: " << path;
  Result<std::string> bytes = ReadFile(path);
  ASSERT_TRUE(bytes.ok()) << bytes.error().ToString();
  Result<Json> vectors = ParseJson(bytes.value());
  ASSERT_TRUE(vectors.ok()) << vectors.error().ToString();
  EXPECT_EQ(vectors.value().size(), 86u);
  for (Json& vector : vectors.value()) {
    SCOPED_TRACE(vector["name"].get<std::string>());
    const Json expected = vector["expected"];
    vector.erase("expected");
    Result<CostGraph> cost_graph = ReadCostGraph(vector);
    ASSERT_TRUE(cost_graph.ok()) << cost_graph.error().ToString();
    ExpectVector(cost_graph.value(), expected["fifo"], SchedulingPolicy::kFifo);
    ExpectVector(cost_graph.value(), expected["critical-path"], SchedulingPolicy::kCriticalPath);
  }
}

}  // namespace
}  // namespace placewright
