// The memory curve is worked out from a schedule, the simulator's peak by its event loop: on real
// steps, placed at random, both must name the same bytes for every device.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/random.h"
#include "cost/cost_model.h"
#include "formats/input.h"
#include "report/memory_curve.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;

// Each colocation group on a device of its own choice.
Placement RandomPlacement(const Graph& graph, const Cluster& cluster, Random& random) {
  IdVector<GroupId, DeviceId> device_of(graph.group_count());
  for (DeviceId& device : device_of) {
    device = DeviceId(static_cast<int32_t>(random.Below(cluster.device_count())));
  }
  Placement placement(graph.op_count());
  for (OpId op : graph.ops()) placement[op] = device_of[graph.group(op)];
  return placement;
}

void ExpectAgreement(const fs::path& path, const char* preset) {
  const Result<LoadedGraph> loaded = LoadGraph(path.string());
  ASSERT_TRUE(loaded.ok()) << loaded.error().ToString();
  const Graph& graph = loaded.value().graph;
  const Cluster cluster = LoadCluster(preset).Take().cluster;
  const Result<CostTable> costs = ModelCosts(graph, cluster, {});
  ASSERT_TRUE(costs.ok()) << costs.error().ToString();
  const SimGraph sim_graph = BuildSimGraph(graph, cluster, costs.value());
  Simulator simulator(sim_graph);
  Random random(1);
  for (SchedulingPolicy policy : kSchedulingPolicies) {
    const Placement placement = RandomPlacement(graph, cluster, random);
    const SimResult& result = simulator.Run(placement, {policy, true, false});
    const std::vector<MemoryCurve> curves = MemoryCurves(sim_graph, placement, *result.schedule);
    for (size_t d = 0; d < curves.size(); ++d) {
      Bytes peak;
      for (const MemoryPoint& point : curves[d]) peak = std::max(peak, point.bytes);
      EXPECT_EQ(peak, result.devices[d].tensor_peak) << path << " device " << d;
    }
  }
}

TEST(MemoryCurve, AgreesWithTheSimulatorOnTheExample) {
  ExpectAgreement(fs::path(PLACEWRIGHT_SOURCE_DIR) / "examples/tiny_transformer_adam.json.gz",
                  "mixed-lab");
}

TEST(MemoryCurve, AgreesWithTheSimulatorOnPublicGraphs) {
  const fs::path folder = fs::path(PLACEWRIGHT_SHARED_DATA) / "fx";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here";
  for (const char* name :
       {"bert_base_qa_b24_s384_adam", "resnet50_b32_sgd", "gnmt_l2_b128_s40_adam"}) {
    ExpectAgreement(folder / (std::string(name) + ".json.gz"), "4xP100");
  }
}

}  // namespace
}  // namespace placewright
