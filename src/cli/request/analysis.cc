#include "cli/request/analysis.h"

#include "cli/request/result_json.h"
#include "report/distribution_report.h"

namespace placewright {
namespace {

constexpr size_t kMaxReasons = 5;

}  // namespace

Analysis Analyze(const StepInputs& of, SimResult result, SchedulingPolicy order, bool all_devices) {
  const Inputs& inputs = *of.inputs;
  const Graph& graph = *of.step.graph;
  const SimGraph& sim_graph = *of.step.sim_graph;
  const Placement& placement = of.step.placement;
  const Cluster& cluster = inputs.cluster.cluster;
  Analysis analysis;
  analysis.layers = LayersByDevice(graph, placement, *result.schedule);
  analysis.strategy = StrategyOf(of, *result.schedule);
  if (of.step.space == PlanSpace::kPlaced) analysis.gpu_use = FindIdleGpus(result, graph, cluster);
  analysis.bottlenecks = FindBottlenecks(sim_graph, graph, cluster, placement, *result.schedule);
  const DeviceId fullest = FullestDevice(result, cluster);
  for (DeviceId device : cluster.devices()) {
    const bool holds = result.devices[device.index()].tensor_peak.count > 0;
    if (device != fullest && !(all_devices && holds)) continue;
    analysis.peaks.emplace_back(
        device, ItemisePeak(sim_graph, graph, placement, order, device, &inputs.sequences));
  }
  analysis.result = std::move(result);
  return analysis;
}

std::string Explain(const Analysis& analysis, const Cluster& cluster, const Style& style) {
  std::string text = RenderReasons(analysis.bottlenecks, cluster, kMaxReasons, style);
  text += RenderTransferWaits(analysis.result, cluster, kMaxReasons);
  for (const auto& [device, items] : analysis.peaks) {
    text += "\n" + RenderPeak(cluster.device(device).name, items,
                              analysis.result.devices[device.index()], style);
  }
  return text;
}

std::string RenderModuleTable(const Analysis& analysis, const Plan& plan, const Cluster& cluster,
                              const Style& style) {
  if (plan.space == PlanSpace::kPlaced) return RenderLayers(analysis.layers, cluster, style);
  const std::string table =
      RenderStrategy(analysis.strategy.rows, cluster, plan.distribution.switches.fusion, style);
  const std::string copies = DescribeCopies(analysis.strategy.copied, cluster);
  if (table.empty()) return copies;
  return table + Wrap(DescribeAverages(analysis.strategy.averages) + "\n", style) + copies;
}

void AddModules(const Analysis& analysis, PlanPage& page) {
  page.layers = analysis.layers;
  if (page.plan.space == PlanSpace::kPlaced) return;
  page.strategy = analysis.strategy.rows;
  page.averages = DescribeAverages(analysis.strategy.averages);
}

std::string RenderCommunication(const Analysis& analysis, const Plan& plan, const Graph& step,
                                const Style& style) {
  if (plan.space == PlanSpace::kPlaced) return "";
  return "\n" + RenderDistribution(plan, *analysis.result.schedule, step,
                                   analysis.strategy.rows.empty(), style);
}

void AddAnalysis(const Analysis& analysis, const Cluster& cluster, Json* object) {
  for (DeviceId id : cluster.devices()) {
    const DeviceResult& device = analysis.result.devices[id.index()];
    Json& line = (*object)["devices"][id.index()];
    line["idle_ns"] = (analysis.result.step_time - device.busy).count;
    line["idle_before_transfers_ns"] = device.idle_before_transfers.count;
  }
  (*object)["layers"] = LayersToJson(analysis.layers, cluster);
  AddStrategy(analysis.strategy, cluster, object);
  (*object)["gpu_use"] = nullptr;
  if (analysis.gpu_use) {
    const GpuUse& use = *analysis.gpu_use;
    (*object)["gpu_use"] = {
        {"kind", use.kind},
        {"gpus", use.gpus},
        {"idle", use.idle},
        {"busy", use.busy},
        {"data_parallelism_probably_faster", use.data_parallelism_probably_faster}};
  }
  (*object)["links"] = LinksToJson(analysis.result, cluster);
  (*object)["reasons"] = ReasonsToJson(analysis.bottlenecks, cluster);
}

Json PeaksToJson(const Analysis& analysis, const Cluster& cluster) {
  Json list = Json::array();
  for (const auto& [device, items] : analysis.peaks) {
    list.push_back(
        PeakToJson(cluster.device(device).name, items, analysis.result.devices[device.index()]));
  }
  return list;
}

}  // namespace placewright
