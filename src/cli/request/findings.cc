#include "cli/request/findings.h"

#include "cli/request/result_json.h"

namespace placewright {
namespace {

constexpr size_t kMostReasons = 5;

}  // namespace

Findings Investigate(const Inputs& inputs, const StepProgram& program, const Placement& placement,
                     SimResult result, bool all_devices) {
  const Graph& graph = inputs.graph.graph;
  const Cluster& cluster = inputs.cluster.cluster;
  Findings findings;
  findings.layers = LayersByDevice(graph, placement, *result.schedule);
  findings.gpu_use = FindIdleGpus(result, graph, cluster);
  findings.bottlenecks = FindBottlenecks(program, graph, cluster, placement, *result.schedule);
  const DeviceId fullest = FullestDevice(result, cluster);
  for (DeviceId device : cluster.devices()) {
    const bool holds = result.devices[device.index()].tensor_peak.count > 0;
    if (device != fullest && !(all_devices && holds)) continue;
    findings.peaks.emplace_back(device,
                                ItemisePeak(program, graph, placement, inputs.order, device));
  }
  findings.result = std::move(result);
  return findings;
}

std::string Explain(const Findings& findings, const Cluster& cluster, const Style& style) {
  std::string text = RenderReasons(findings.bottlenecks, cluster, kMostReasons, style);
  text += RenderTransferWaits(findings.result, cluster, kMostReasons);
  for (const auto& [device, items] : findings.peaks) {
    text += "\n" + RenderPeak(cluster.device(device).name, items,
                              findings.result.devices[device.index()], style);
  }
  return text;
}

void AddFindings(const Findings& findings, const Cluster& cluster, Json* object) {
  for (DeviceId id : cluster.devices()) {
    const DeviceResult& device = findings.result.devices[id.index()];
    Json& line = (*object)["devices"][id.index()];
    line["idle_ns"] = (findings.result.step_time - device.busy).count;
    line["idle_before_transfers_ns"] = device.idle_before_transfers.count;
  }
  (*object)["layers"] = LayersToJson(findings.layers, cluster);
  (*object)["gpu_use"] = nullptr;
  if (findings.gpu_use) {
    const GpuUse& use = *findings.gpu_use;
    (*object)["gpu_use"] = {
        {"kind", use.kind},
        {"gpus", use.gpus},
        {"idle", use.idle},
        {"busy", use.busy},
        {"data_parallelism_probably_faster", use.data_parallelism_probably_faster}};
  }
  (*object)["links"] = LinksToJson(findings.result, cluster);
  (*object)["reasons"] = ReasonsToJson(findings.bottlenecks, cluster);
}

Json PeaksToJson(const Findings& findings, const Cluster& cluster) {
  Json list = Json::array();
  for (const auto& [device, items] : findings.peaks) {
    list.push_back(
        PeakToJson(cluster.device(device).name, items, findings.result.devices[device.index()]));
  }
  return list;
}

}  // namespace placewright
