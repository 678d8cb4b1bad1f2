#include "cli/request/analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/request/result_json.h"
#include "report/distribution_report.h"
#include "sim/step_in_lanes.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

constexpr size_t kMaxReasons = 5;

// What is not known is null.
Json RatesToJson(const Analysis& analysis) {
  const StepRates& rates = analysis.rates;
  const auto known = [](bool is_known, double number) -> Json {
    if (!is_known) return nullptr;
    return number;
  };
  const bool timed = rates.step_time.count > 0, used = rates.gpus > 0;
  const bool samples = timed && rates.work.samples > 0;
  const bool tokens = samples && rates.work.sequence > 0;
  const double gpus = static_cast<double>(std::max<int64_t>(rates.gpus, 1));
  return {{"times", analysis.source_of_times},
          {"gpus", rates.gpus},
          {"samples_per_second", known(samples, rates.SamplesPerSecond())},
          {"sequence", tokens ? Json(rates.work.sequence) : Json()},
          {"tokens_per_second", known(tokens, rates.TokensPerSecond())},
          {"tokens_per_second_per_gpu", known(tokens && used, rates.TokensPerSecond() / gpus)},
          {"model_flops", rates.work.flops},
          {"peak_flops_per_second", known(rates.mfu.has_value(), rates.peak_flops)},
          {"mfu", known(rates.mfu.has_value(), rates.mfu.value_or(0))},
          {"gpu_hours_per_step", known(timed && used, rates.GpuHours())},
          {"gpu_hours_per_million_tokens", known(tokens && used, rates.GpuHoursPerMillionTokens())},
          {"bubble", known(rates.idle.has_value(), rates.idle.value_or(0))}};
}

Json SplitToJson(const StepSplit& split) {
  const auto list = [](const std::vector<std::pair<std::string, double>>& shares, const char* key) {
    Json array = Json::array();
    for (const auto& [name, share] : shares) array.push_back({{key, name}, {"share", share}});
    return array;
  };
  return {{"compute", split.compute},
          {"communication", split.communication},
          {"waiting", split.idle},
          {"op_types", list(split.op_types, "type")},
          {"kinds", list(split.kinds, "kind")}};
}

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
  const Graph& original = of.step.original != nullptr ? *of.step.original : graph;
  analysis.rates = RatesOf({original, graph, placement, *result.schedule, result.step_time, cluster,
                            inputs.precision, of.step.lanes()});
  const CostShares shares = SharesOf(inputs.costs, placement, of.step.lanes());
  analysis.source_of_times = SourceOfTimes(shares);
  StepSplit split = SplitOfStep(graph, placement, *result.schedule, cluster.device_count(),
                                result.step_time, of.step.lanes());
  analysis.tie_within = TieWithin(split, shares, result.step_time);
  if (of.step.space != PlanSpace::kPlaced) analysis.split = std::move(split);
  analysis.bottlenecks = FindBottlenecks(sim_graph, graph, cluster, placement, *result.schedule);
  const DeviceId fullest = FullestDevice(result, cluster);
  for (DeviceId device : cluster.devices()) {
    const bool holds = result.devices[device.index()].tensor_peak.count > 0;
    if (device != fullest && !(all_devices && holds)) continue;
    const DeviceId alike = of.step.lanes() != nullptr ? of.step.lanes()->first[device] : device;
    const auto known = std::find_if(analysis.peaks.begin(), analysis.peaks.end(),
                                    [&](const auto& one) { return one.first == alike; });
    std::vector<PeakItem> items =
        known != analysis.peaks.end()
            ? known->second
            : ItemisePeak(sim_graph, graph, placement, order, alike, &inputs.sequences);
    analysis.peaks.emplace_back(device, std::move(items));
  }
  analysis.result = std::move(result);
  return analysis;
}

std::string Explain(const Analysis& analysis, const Cluster& cluster, const Style& style) {
  std::string text =
      analysis.split ? RenderSplit(*analysis.split, analysis.result.step_time, kMaxReasons, style)
                     : RenderReasons(analysis.bottlenecks, cluster, kMaxReasons, style);
  text += Wrap(RenderTransferWaits(analysis.result, cluster, kMaxReasons), style);
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
  const std::string copies = Wrap(DescribeCopies(analysis.strategy.copied, cluster), style, 4);
  if (table.empty()) return copies;
  return table + Wrap(DescribeAverages(analysis.strategy.averages) + "\n", style) + copies;
}

namespace {

bool IsPipeline(const Plan& plan) {
  const std::optional<Transforms>& transforms = plan.distribution.transforms;
  return transforms && PipelineOf(*transforms) != nullptr;
}

}  // namespace

std::string RenderRates(const Analysis& analysis, const Plan& plan, const Style& style) {
  const std::string text = DescribeRates(analysis.rates, analysis.source_of_times,
                                         plan.space == PlanSpace::kPlaced || IsPipeline(plan));
  return text.empty() ? text : Wrap(fmt::format("  {:<10} {}\n", "rates", text), style, 13);
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
  (*object)["rates"] = RatesToJson(analysis);
  (*object)["split"] = analysis.split ? SplitToJson(*analysis.split) : Json();
  (*object)["tie_within_ns"] = analysis.tie_within.count;
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
