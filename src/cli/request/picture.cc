#include "cli/request/picture.h"

#include <fmt/format.h>

#include "cli/request/assumptions.h"
#include "formats/text/file.h"
#include "report/plan_page.h"
#include "report/plan_report.h"
#include "report/table.h"
#include "report/timeline_svg.h"

namespace placewright {

void AddPictureOptions(CommandLine app, PictureOptions* options) {
  app.AddOption("--svg", options->svg, "Draw the step: devices, links and memory over time")
      .TypeName("FILE")
      .Group("Output");
  app.AddOption("--html", options->html, "The same as a page with tables")
      .TypeName("FILE")
      .Group("Output");
}

std::vector<NamedFile> FilesOf(const PictureOptions& options) {
  std::vector<NamedFile> files;
  if (!options.svg.empty()) files.push_back({"--svg", options.svg});
  if (!options.html.empty()) files.push_back({"--html", options.html});
  return files;
}

Status WritePictures(const PictureOptions& options, const Inputs& inputs, const SimGraph& sim_graph,
                     const Placement& placement, const Analysis& analysis, const Plan& plan) {
  if (options.svg.empty() && options.html.empty()) return Ok();
  const Schedule& schedule = *analysis.result.schedule;
  const std::vector<MemoryCurve> memory = MemoryCurves(sim_graph, placement, schedule);
  std::string subtitle = fmt::format("{} a step", FormatNanos(plan.step_time));
  if (plan.lower_bound.value_or(Nanos()).count > 0) {
    subtitle += plan.feasible ? "; " + BoundVerdict(plan) : "; does not fit";
    subtitle += fmt::format(" (bound {})", FormatNanosLike(*plan.lower_bound, plan.step_time));
  }
  if (!plan.algorithm.empty()) subtitle += fmt::format("; found by {}", plan.algorithm);
  TimelineInput timeline{inputs.graph.graph,
                         inputs.cluster.cluster,
                         placement,
                         schedule,
                         memory,
                         analysis.result.devices,
                         plan.step_time,
                         plan.lower_bound.value_or(Nanos()),
                         fmt::format("{} on {}", plan.graph_name, plan.cluster_name),
                         subtitle};
  if (plan.bound_space != PlanSpace::kPlaced) timeline.bound_of = "plan that may split or copy ops";
  const std::string svg = RenderTimelineSvg(timeline);
  if (!options.svg.empty()) PW_RETURN_IF_ERROR(WriteFileAtomically(options.svg, svg));
  if (options.html.empty()) return Ok();
  // Text on a page may hold any character, but no escape sequences.
  const std::string explanation = Explain(analysis, inputs.cluster.cluster, {false, true});
  std::vector<std::string> remarks = DescribeAssumptions(inputs);
  if (analysis.gpu_use) remarks.insert(remarks.begin(), DescribeGpuUse(*analysis.gpu_use));
  return WriteFileAtomically(
      options.html, RenderPlanPage({plan, inputs.cluster.cluster, analysis.layers, svg, explanation,
                                    std::move(remarks)}));
}

}  // namespace placewright
