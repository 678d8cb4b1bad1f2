#include "cli/request/analysis.h"

#include "cli/request/result_json.h"

namespace placewright {
namespace {

constexpr size_t kMaxReasons = 5;

}  // namespace

Analysis Analyze(const Inputs& inputs, const SimGraph& sim_graph, const Placement& placement,
                 SimResult result, bool all_devices) {
  const Graph& graph = inputs.graph.graph;
  const Cluster& cluster = inputs.cluster.cluster;
  Analysis analysis;
  analysis.layers = LayersByDevice(graph, placement, *result.schedule);
  if (!inputs.distributed) analysis.gpu_use = FindIdleGpus(result, graph, cluster);
  analysis.bottlenecks = FindBottlenecks(sim_graph, graph, cluster, placement, *result.schedule);
  const DeviceId fullest = FullestDevice(result, cluster);
  for (DeviceId device : cluster.devices()) {
    const bool holds = result.devices[device.index()].tensor_peak.count > 0;
    if (device != fullest && !(all_devices && holds)) continue;
    analysis.peaks.emplace_back(
        device, ItemisePeak(sim_graph, graph, placement, inputs.policy, device, &inputs.sequences));
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

std::string RenderModuleTable(const Analysis& analysis,
                              const std::optional<Distribution>& distribution,
                              const Cluster& cluster, const Style& style) {
  if (!distribution) return RenderLayers(analysis.layers, cluster, style);
  const std::string table =
      RenderStrategy(analysis.strategy.rows, cluster, distribution->spec.switches.fusion, style);
  const std::string copies = DescribeCopies(analysis.strategy.copied, cluster);
  if (table.empty()) return copies;
  return table + Wrap(DescribeAverages(analysis.strategy.averages) + "\n", style) + copies;
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
