#include "cli/commands/simulate_report.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/text.h"
#include "cli/request/assumptions.h"
#include "cli/request/result_json.h"
#include "formats/plan/plan_files.h"
#include "formats/plan/plan_json.h"
#include "report/plan_report.h"
#include "report/table.h"
#include "sim/communication_use.h"

namespace placewright {
namespace {

void PrintSimulationJson(const SimulatedSubject& subject, const Analysis& analysis,
                         bool with_schedule, Console& console) {
  const SimResult& result = analysis.result;
  const Inputs& inputs = *subject.of.inputs;
  const Placement& placement = subject.of.step.placement;
  Json object;
  object["schema"] = "placewright.simulate/1";
  object["graph"] = inputs.graph.graph.name();
  object["cluster"] = inputs.cluster.cluster.name();
  object["order"] = ToString(inputs.policy);
  object["feasible"] = result.feasible;
  object["step_time_ns"] = result.step_time.count;
  AddSamplesPerSecond(subject.plan, &object);
  AddDistribution(subject.plan, &object);
  AddCommunicationTime(subject.plan, TimeOfCommunication(inputs.graph.graph, *result.schedule),
                       &object);
  object["over_bytes"] = result.TotalOver().count;
  object["devices"] = DevicesToJson(subject.plan.devices);
  object["cost_sources"] = CostSourcesToJson(SharesOf(inputs.costs, placement));
  object["unknown_types"] = UnknownTypes(inputs.graph.graph);
  AddAssumedShapes(inputs.graph, &object);
  AddNotes(inputs, &object);
  if (!subject.crowded.empty()) object["notes"].push_back("does not fit: " + subject.crowded);
  const Cluster& cluster = inputs.cluster.cluster;
  AddAnalysis(analysis, cluster, &object);
  object["peaks"] = PeaksToJson(analysis, cluster);
  if (with_schedule) {
    Json schedule =
        Json::parse(FormatSchedule(*result.schedule, inputs.graph.graph, cluster, placement));
    object["ops"] = std::move(schedule["ops"]);
    object["transfers"] = std::move(schedule["transfers"]);
    if (schedule.contains("collectives")) {
      object["collectives"] = std::move(schedule["collectives"]);
    }
  }
  console.PrintJson(object);
}

void PrintSimulatedSchedule(const Schedule& schedule, const Placement& placement,
                            const Graph& graph, const Cluster& cluster, Console& console) {
  const Style& style = console.style();
  const auto right = Table::Align::kRight;
  Table table({{"op"}, {"device"}, {"start ns", right}, {"end ns", right}});
  for (OpId op : graph.ops()) {
    const OpSpan& span = schedule.ops[op];
    table.AddRow({graph.op(op).name, cluster.device(placement[op]).name,
                  std::to_string(span.start.count), std::to_string(span.end.count)});
  }
  console.Print("\n" + table.Render(style));
  if (!schedule.collectives.empty()) {
    Table collectives(
        {{"collective"}, {"ready ns", right}, {"start ns", right}, {"end ns", right}});
    for (const CollectiveId id : graph.collectives()) {
      const CollectiveSpan& span = schedule.collectives[id];
      collectives.AddRow({graph.collective(id).name, std::to_string(span.ready.count),
                          std::to_string(span.start.count), std::to_string(span.end.count)});
    }
    console.Print("\n" + collectives.Render(style));
  }
  if (schedule.transfers.empty()) return;
  Table transfers({{"transfer of"},
                   {"version", right},
                   {"bytes", right},
                   {"from"},
                   {"to"},
                   {"ready ns", right},
                   {"start ns", right},
                   {"end ns", right}});
  for (const TransferSpan& span : schedule.transfers) {
    transfers.AddRow({graph.tensor(graph.storage(span.storage).first).name,
                      std::to_string(span.version), std::to_string(span.length.count),
                      cluster.device(span.from).name, cluster.device(span.to).name,
                      std::to_string(span.ready.count), std::to_string(span.start.count),
                      std::to_string(span.end.count)});
  }
  console.Print("\n" + transfers.Render(style));
}

void PrintSimulationText(const SimulatedSubject& subject, const Analysis& analysis,
                         bool with_schedule, Console& console) {
  const SimResult& result = analysis.result;
  const Style& style = console.style();
  const Inputs& inputs = *subject.of.inputs;
  const Cluster& cluster = inputs.cluster.cluster;
  const Graph& graph = inputs.graph.graph;
  const Placement& placement = subject.of.step.placement;
  const std::string throughput = DescribeThroughput(subject.plan);
  console.Print(fmt::format("{} on {}: {}, step time {}{}\n", Printable(graph.name()),
                            Printable(cluster.name()),
                            result.feasible ? Paint("fits", Tone::kGood, style)
                                            : Paint("does not fit", Tone::kBad, style),
                            Paint(FormatNanos(result.step_time), Tone::kStrong, style),
                            throughput.empty() ? "" : ", " + throughput));
  const CostShares shares = SharesOf(inputs.costs, placement);
  console.Print("costs: " + RenderCostSources(shares) + "\n" +
                RenderUnknownTypes(UnknownTypes(graph)));
  for (const std::string& line : DescribeAssumptions(inputs)) {
    console.Print(Wrap(line + "\n", style));
  }
  console.Print(RenderRates(analysis, subject.plan, style) + "\n");
  const std::string modules = RenderModuleTable(analysis, subject.plan, cluster, style);
  if (!modules.empty()) console.Print(modules + "\n");
  console.Print(RenderDevices(subject.plan.devices, style));
  if (!subject.crowded.empty()) {
    console.Print(Wrap("does not fit: " + subject.crowded + "\n", style));
  }
  if (analysis.gpu_use) {
    console.Print(Wrap(DescribeGpuUse(*analysis.gpu_use) + "\n", style));
  }
  console.Print(RenderCommunication(analysis, subject.plan, graph, style));
  console.Print("\n" + Explain(analysis, cluster, style));
  if (with_schedule) PrintSimulatedSchedule(*result.schedule, placement, graph, cluster, console);
}

}  // namespace

void ReportSimulation(const SimulatedSubject& subject, const Analysis& analysis, bool schedule,
                      Console& console) {
  if (console.json) {
    PrintSimulationJson(subject, analysis, schedule, console);
  } else {
    PrintSimulationText(subject, analysis, schedule, console);
  }
}

}  // namespace placewright
