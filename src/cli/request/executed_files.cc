#include "cli/request/executed_files.h"

#include <fmt/format.h>

#include "base/text.h"
#include "formats/plan/plan_json.h"
#include "formats/text/file.h"
#include "report/layer_table.h"
#include "report/memory_curve.h"
#include "report/page/plan_page.h"
#include "report/timeline_svg.h"
#include "report/trace/chrome_trace.h"
#include "sim/communication_use.h"
#include "sim/device_use.h"
#include "sim/engine/sim_graph.h"
#include "sim/simulator.h"

namespace placewright {

void AddExecutedFiles(CommandLine app, ExecutedFiles* files) {
  app.AddOption("--schedule", files->schedule,
                "When the ops and transfers of a typical step ran, as plans keep their schedule")
      .TypeName("FILE")
      .Group("Output");
  app.AddOption("--svg", files->svg, "Draw that step: devices, links and memory over time")
      .TypeName("FILE")
      .Group("Output");
  app.AddOption("--html", files->html, "The plan as a page with a timeline and tables")
      .TypeName("FILE")
      .Group("Output");
  app.AddOption("--trace", files->trace, "That step for chrome://tracing and Perfetto")
      .TypeName("FILE")
      .Group("Output");
}

std::vector<NamedFile> FilesOf(const ExecutedFiles& files) {
  std::vector<NamedFile> named;
  if (!files.schedule.empty()) named.push_back({"--schedule", files.schedule});
  if (!files.svg.empty()) named.push_back({"--svg", files.svg});
  if (!files.html.empty()) named.push_back({"--html", files.html});
  if (!files.trace.empty()) named.push_back({"--trace", files.trace});
  return named;
}

Status WriteExecutedFiles(const ExecutedFiles& files, const PlanInputs& loaded,
                          const Placement& placement, const StepMeasurement& measured) {
  const Graph& graph = loaded.graph.graph;
  const Cluster& cluster = loaded.cluster.cluster;
  const Schedule& schedule = measured.schedule;
  if (!files.schedule.empty()) {
    PW_RETURN_IF_ERROR(
        WriteFileAtomically(files.schedule, FormatSchedule(schedule, graph, cluster, placement)));
  }
  if (files.svg.empty() && files.html.empty() && files.trace.empty()) return Ok();
  const SimGraph sim_graph = BuildSimGraph(graph, cluster, loaded.costs);
  const std::vector<MemoryCurve> memory = MemoryCurves(sim_graph, placement, schedule);
  if (!files.trace.empty()) {
    std::string text;
    const TextSink sink = [&](std::string_view piece) -> Status {
      text += piece;
      return Ok();
    };
    PW_RETURN_IF_ERROR(
        WriteChromeTrace({graph, cluster, sim_graph, placement, schedule, memory}, sink));
    PW_RETURN_IF_ERROR(WriteFileAtomically(files.trace, text));
  }
  if (files.svg.empty() && files.html.empty()) return Ok();
  Simulator simulator(sim_graph);
  // For what lies in memory beside tensors.
  SimOptions options;
  options.policy = loaded.plan.policy;
  options.sequences = &loaded.sequences;
  const SimResult& predicted = simulator.Run(placement, options);
  const std::string subtitle =
      fmt::format("executed: {} a step (predicted {})", FormatNanos(measured.schedule_time),
                  FormatNanosLike(loaded.plan.step_time, measured.schedule_time));
  if (!files.svg.empty()) {
    const std::string svg = RenderTimelineSvg(
        {graph, cluster, placement, schedule, memory, predicted.devices, measured.schedule_time,
         Nanos(0), fmt::format("{} on {}", Printable(graph.name()), Printable(cluster.name())),
         subtitle});
    PW_RETURN_IF_ERROR(WriteFileAtomically(files.svg, svg));
  }
  if (files.html.empty()) return Ok();
  // The plan as it was executed: what only predictions have is left out.
  Plan plan;
  plan.graph_name = graph.name();
  plan.cluster_name = cluster.name();
  plan.algorithm = loaded.plan.algorithm;
  plan.feasible = true;
  plan.step_time = measured.schedule_time;
  plan.devices = UseOfDevices(predicted, cluster);
  for (const DeviceId id : cluster.devices()) {
    plan.devices[id.index()].busy = measured.busy[id.index()];
    plan.devices[id.index()].peak_memory = Bytes(measured.peaks[id.index()]);
  }
  plan.policy = loaded.plan.policy;
  plan.space = loaded.plan.space;
  plan.samples = graph.samples();
  plan.distribution = loaded.plan.distribution;
  plan.communication = UseOfCommunication(graph, loaded.costs, schedule);
  PlanPage page{plan, cluster, graph, placement, schedule, memory, predicted};
  page.layers = LayersByDevice(graph, placement, schedule);
  page.notes = {subtitle + "; times, busy shares and peaks are measured."};
  return WriteFileAtomically(files.html, RenderPlanPage(page));
}

}  // namespace placewright
