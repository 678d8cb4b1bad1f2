#include "formats/dnn_partitioning/split_writer.h"

#include <fmt/format.h>

#include "formats/dnn_partitioning/workload_graph.h"

namespace placewright {

std::string WriteSplit(const Split& split) {
  const auto entries = [](const std::vector<std::vector<int64_t>>& lists) {
    Json array = Json::array();
    for (const auto& ids : lists) array.push_back({{"nodes", ids}});
    return array;
  };
  return FormatDocument(
      Json{{"fpgas", entries(split.accelerators)}, {"cpus", entries(split.cpus)}});
}

Result<std::string> WriteDnnPartitioningSplit(const PlanInputs& plan, const Placement& placement) {
  const auto* workload = plan.graph.Details<PipelineWorkload>();
  if (workload == nullptr || plan.plan.cluster.path != kClusterInGraph) {
    return MakeError(ErrorCode::kNotExpressible,
                     fmt::format("a split names nodes of a dnn-partitioning workload by their ids; "
                                 "this plan is of a graph of the format \"{}\"",
                                 plan.graph.graph.format()),
                     "", "Plan a dnn-partitioning workload, or export to another format.");
  }
  return WriteSplit(SplitOfPlacement(*workload, placement));
}

}  // namespace placewright
