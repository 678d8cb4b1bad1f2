#include "cli/request/schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cli/request/whole_plan.h"
#include "formats/plan/plan_files.h"
#include "formats/text/file.h"
#include "report/table.h"
#include "report/timeline_svg.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

// A schedule with what it is drawn beside.
struct Drawn {
  std::shared_ptr<const PlanInputs> inputs;
  ScheduleFile file;
  std::string title, subtitle;
  Nanos end;
};

Nanos EndOf(const Schedule& schedule) {
  Nanos end(0);
  for (const OpSpan& span : schedule.ops) end = std::max(end, span.end);
  for (const TransferSpan& span : schedule.transfers) end = std::max(end, span.end);
  return end;
}

std::string Render(const Drawn& drawn, Nanos scale) {
  const PlanInputs& inputs = *drawn.inputs;
  const Graph& graph = inputs.graph.graph;
  const Cluster& cluster = inputs.cluster.cluster;
  const SimGraph sim_graph = BuildSimGraph(graph, cluster, inputs.costs);
  const std::vector<MemoryCurve> memory =
      MemoryCurves(sim_graph, drawn.file.placement, drawn.file.schedule);
  Simulator simulator(sim_graph);
  // For what lies in memory beside tensors.
  const SimResult& simulated =
      simulator.Run(drawn.file.placement, {inputs.plan.policy, false, false});
  TimelineInput picture{
      graph,     cluster,  drawn.file.placement, drawn.file.schedule, memory, simulated.devices,
      drawn.end, Nanos(0), drawn.title,          drawn.subtitle};
  picture.scale = scale;
  return RenderTimelineSvg(picture);
}

}  // namespace

Status DrawSchedules(const ScheduleDrawing& drawing) {
  std::vector<Drawn> all;
  for (const std::string& path : drawing.plans) {
    PW_ASSIGN(const WholePlan whole, WholePlan::Open(path, {}));
    PW_ASSIGN(PlanInputs loaded, LoadPlanInputs(whole.path()));
    auto inputs = std::make_shared<const PlanInputs>(std::move(loaded));
    const Plan& plan = inputs->plan;
    all.push_back({inputs, inputs->schedule, Printable(path, 200),
                   fmt::format("{} on {}, found by {}: {} a step, predicted", plan.graph_name,
                               plan.cluster_name, plan.algorithm, FormatNanos(plan.step_time)),
                   plan.step_time});
    if (all.size() > 1 || drawing.executed.empty()) continue;
    const auto read = [&]() -> Result<ScheduleFile> {
      PW_ASSIGN(const std::string text, ReadFile(drawing.executed));
      PW_ASSIGN(const Json document, ParseJson(text));
      return ScheduleFromJson(document, inputs->graph.graph, inputs->cluster.cluster);
    };
    PW_ASSIGN(ScheduleFile executed, read().InFile(drawing.executed));
    if (executed.placement != inputs->schedule.placement) {
      Error error =
          MakeError(ErrorCode::kPlanMismatch,
                    "it is no schedule of " + Printable(path, 200) + ": ops lie elsewhere", "",
                    "Give what `run --schedule` wrote of the first plan.");
      error.file = drawing.executed;
      return error;
    }
    const Nanos end = EndOf(executed.schedule);
    all.push_back({inputs, std::move(executed), Printable(drawing.executed, 200),
                   fmt::format("the same plan, executed: {} a step (predicted {})",
                               FormatNanos(end), FormatNanosLike(plan.step_time, end)),
                   end});
  }
  Nanos scale(0);
  for (const Drawn& drawn : all) scale = std::max(scale, drawn.end);
  std::vector<std::string> pictures;
  for (const Drawn& drawn : all) pictures.push_back(Render(drawn, scale));
  return WriteFileAtomically(drawing.svg, StackPictures(pictures));
}

}  // namespace placewright
