#include "cli/request/plan_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "cli/request/costgraph_export.h"
#include "formats/aten/writer.h"
#include "formats/text/file.h"
#include "report/memory_curve.h"
#include "report/trace/chrome_trace.h"
#include "sim/placement_check.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

bool SameTimes(const Schedule& a, const Schedule& b) {
  const auto same_op = [](const OpSpan& x, const OpSpan& y) {
    return x.start == y.start && x.end == y.end;
  };
  const auto same_transfer = [](const TransferSpan& x, const TransferSpan& y) {
    return x.storage == y.storage && x.version == y.version && x.offset == y.offset &&
           x.length == y.length && x.from == y.from && x.to == y.to && x.start == y.start &&
           x.end == y.end;
  };
  const auto same_collective = [](const CollectiveSpan& x, const CollectiveSpan& y) {
    return x.start == y.start && x.end == y.end;
  };
  return std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), same_op) &&
         std::equal(a.collectives.begin(), a.collectives.end(), b.collectives.begin(),
                    b.collectives.end(), same_collective) &&
         std::equal(a.transfers.begin(), a.transfers.end(), b.transfers.begin(), b.transfers.end(),
                    same_transfer);
}

// Simulates the plan once more: a schedule file that says otherwise would make arrows and memory
// that never were.
Status WriteTrace(const PlanInputs& plan, const Placement& placement, const TextSink& sink,
                  std::vector<std::string>*) {
  const Graph& graph = plan.graph.graph;
  const Cluster& cluster = plan.cluster.cluster;
  const SimGraph sim_graph = BuildSimGraph(graph, cluster, plan.costs);
  PW_RETURN_IF_ERROR(CheckPlacementLegal(sim_graph, graph, cluster, placement));
  Simulator simulator(sim_graph);
  const SimResult& result = simulator.Run(
      placement, {.policy = plan.plan.policy, .schedule = true, .sequences = &plan.sequences});
  if (!SameTimes(*result.schedule, plan.schedule.schedule)) {
    return MakeError(ErrorCode::kPlanMismatch,
                     "the schedule file is not the schedule of this placement and these costs",
                     "schedule",
                     "`placewright check` says where they differ; make the plan again.");
  }
  const std::vector<MemoryCurve> memory = MemoryCurves(sim_graph, placement, *result.schedule);
  return WriteChromeTrace({graph, cluster, sim_graph, placement, *result.schedule, memory}, sink);
}

}  // namespace

Status WriteExport(const ExportFormat& format, const PlanInputs& plan, const Placement& placement,
                   const TextSink& sink, std::vector<std::string>* notes) {
  if (NeedsWholeOps(format, plan)) {
    return MakeError(ErrorCode::kNotExpressible, "the plan splits or copies ops", "",
                     "Make a plan with --space placed.");
  }
  constexpr SimulatedWriters kSimulated{WriteTrace, WriteCostGraphPlan};
  const ExportWriter write = format.simulated ? kSimulated.*format.simulated : format.write;
  return write(plan, placement, sink, notes);
}

bool NeedsWholeOps(const ExportFormat& format, const PlanInputs& plan) {
  return plan.plan.space != PlanSpace::kPlaced && !format.distributed;
}

Result<std::string> TextOfStep(const PlanInputs& plan, const std::string& plan_path) {
  if (plan.plan.space != PlanSpace::kPlaced) return ReadFile(FilesOf(plan.plan, plan_path).back());
  PW_ASSIGN(const Placement placement,
            ResolvePlacement(plan.plan.placement, plan.graph.graph, plan.cluster.cluster)
                .InFile(plan_path));
  const bool rewritten = plan.plan.distribution.transforms.has_value();
  return (rewritten ? FormatAtenPlan : WriteAtenPlan)(plan, placement).InFile(plan_path);
}

std::string DescribeExportFormats() {
  std::string text = "Formats, and what they refuse:\n";
  std::vector<std::string_view> distributed;
  for (const ExportFormat& format : ExportFormats()) {
    text += fmt::format("  {:<18}{}\n  {:<18}refuses {}\n", format.name, format.description, "",
                        format.refuses);
    if (format.distributed) distributed.push_back(format.name);
  }
  return text +
         fmt::format("Plans that split or copy ops: {} alone\n", fmt::join(distributed, ", "));
}

Result<const ExportFormat*> FindExportFormat(std::string_view name) {
  std::vector<std::string> names;
  for (const ExportFormat& format : ExportFormats()) {
    if (format.name == name) return &format;
    names.emplace_back(format.name);
  }
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("--to \"{}\" is unknown{}", Printable(name), DidYouMean(name, names)), "",
      fmt::format("The formats are {}.", fmt::join(names, ", ")));
}

}  // namespace placewright
