#include "cli/request/objective.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "formats/dnn_partitioning/format.h"
#include "formats/dnn_partitioning/workload_graph.h"
#include "formats/text/json.h"
#include "report/table.h"
#include "sim/pipeline/max_load.h"
#include "sim/pipeline/sample_latency.h"

namespace placewright {
namespace {

// The split that a placement file states, or that its map from op to device amounts to.
Result<Split> LoadSplitFor(const PipelineWorkload& workload, const std::string& path) {
  PW_ASSIGN(SplitOrPlacement loaded, LoadSplitOrPlacement(path));
  if (loaded.split) return std::move(*loaded.split);
  PW_ASSIGN(const CostGraph cost_graph, WorkloadToCostGraph(workload));
  PW_ASSIGN(const Placement placement,
            ResolvePlacement(loaded.placement, cost_graph.graph, cost_graph.cluster).InFile(path));
  return SplitOfPlacement(workload, placement);
}

// What is wrong with the workload itself, or else with the split.
template <class T>
Result<T> InFileAtFault(Result<T> result, const std::string& graph, const std::string& split) {
  if (result.ok()) return result;
  const ErrorCode code = result.error().code;
  const bool workload = code == ErrorCode::kGraphCycle || code == ErrorCode::kWorkloadDirection;
  return std::move(result).InFile(workload ? graph : split);
}

std::string DeviceOf(size_t device) {
  return device == 0 ? "cpus" : fmt::format("accelerator{}", device);
}

Json StartJson(std::string_view objective, double value, bool memory_ok) {
  Json object;
  object["schema"] = "placewright.objective/1";
  object["objective"] = objective;
  object["objective_value"] = value;
  object["memory_ok"] = memory_ok;
  return object;
}

std::string Headline(std::string_view what, double value, bool memory_ok, const Style& style) {
  return fmt::format("{}: {} in the workload's own unit of time, {}\n\n", what,
                     Paint(fmt::format("{}", value), Tone::kStrong, style),
                     memory_ok
                         ? Paint("fits", Tone::kGood, style)
                         : Paint("an accelerator has more than its memory", Tone::kBad, style));
}

constexpr Table::Align kRight = Table::Align::kRight;

void Print(const MaxLoadResult& result, Console& console) {
  if (!console.json) {
    Table table({{"device"},
                 {"nodes", kRight},
                 {"load", kRight},
                 {"compute", kRight},
                 {"communication", kRight},
                 {"bytes", kRight}});
    for (size_t i = 0; i < result.devices.size(); ++i) {
      const DeviceLoad& d = result.devices[i];
      if (d.nodes == 0) continue;
      table.AddRow({DeviceOf(i), std::to_string(d.nodes), fmt::format("{:.6g}", d.Load()),
                    fmt::format("{:.6g}", d.compute), fmt::format("{:.6g}", d.communication),
                    fmt::format("{:.0f}", d.size)});
    }
    console.Print(Headline("largest load", result.value, result.memory_ok, console.style()) +
                  table.Render(console.style()));
    return;
  }
  Json object = StartJson("throughput", result.value, result.memory_ok);
  object["devices"] = Json::array();
  for (size_t i = 0; i < result.devices.size(); ++i) {
    const DeviceLoad& d = result.devices[i];
    object["devices"].push_back({{"name", DeviceOf(i)},
                                 {"nodes", d.nodes},
                                 {"load", d.Load()},
                                 {"compute", d.compute},
                                 {"communication", d.communication},
                                 {"size", d.size}});
  }
  console.PrintJson(object);
}

void Print(const SampleLatencyResult& result, const PipelineWorkload& workload, Console& console) {
  if (!console.json) {
    Table table({{"device"}, {"nodes", kRight}, {"pieces", kRight}, {"bytes", kRight}});
    for (size_t i = 0; i < result.accelerators.size(); ++i) {
      const SampleLatencyResult::Accelerator& a = result.accelerators[i];
      if (a.nodes == 0) continue;
      table.AddRow({DeviceOf(i + 1), std::to_string(a.nodes), std::to_string(a.pieces),
                    fmt::format("{:.0f}", a.size)});
    }
    console.Print(Headline("latency", result.value, result.memory_ok, console.style()) +
                  table.Render(console.style()));
    return;
  }
  Json object = StartJson("latency", result.value, result.memory_ok);
  object["devices"] = Json::array();
  for (size_t i = 0; i < result.accelerators.size(); ++i) {
    const SampleLatencyResult::Accelerator& a = result.accelerators[i];
    object["devices"].push_back(
        {{"name", DeviceOf(i + 1)}, {"nodes", a.nodes}, {"pieces", a.pieces}, {"size", a.size}});
  }
  object["nodes"] = Json::array();
  for (size_t i = 0; i < workload.nodes.size(); ++i) {
    object["nodes"].push_back({{"id", workload.nodes[i].id}, {"finish", result.finish[i]}});
  }
  console.PrintJson(object);
}

}  // namespace

Result<Objective> ParseObjective(std::string_view text) {
  const std::vector<std::string> names = {"step-time", "throughput", "latency"};
  for (size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) return static_cast<Objective>(i);
  }
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("--objective \"{}\" is unknown{}", Printable(text), DidYouMean(text, names)), "",
      "The objectives are step-time, throughput and latency.");
}

Status PrintObjective(Objective objective, const std::string& graph, const std::string& placement,
                      Console& console) {
  if (placement.empty()) {
    return MakeError(ErrorCode::kUsage, "--placement FILE is missing: --objective evaluates one",
                     "", "Give a split, a plan or a JSON map from op to device.");
  }
  PW_ASSIGN(const PipelineWorkload workload, LoadWorkload(graph));
  PW_ASSIGN(const Split split, LoadSplitFor(workload, placement));
  if (objective == Objective::kThroughput) {
    PW_ASSIGN(const MaxLoadResult result,
              InFileAtFault(MaxLoad(workload, split), graph, placement));
    Print(result, console);
  } else {
    PW_ASSIGN(const SampleLatencyResult result,
              InFileAtFault(SampleLatency(workload, split), graph, placement));
    Print(result, workload, console);
  }
  return Ok();
}

}  // namespace placewright
