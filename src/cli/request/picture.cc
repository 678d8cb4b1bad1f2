#include "cli/request/picture.h"

#include <placewright/report/plan_picture.h>

#include <utility>

#include "cli/request/assumptions.h"
#include "formats/text/file.h"
#include "plan/space_words.h"
#include "report/distribution_report.h"
#include "report/page/plan_page.h"
#include "report/plan_report.h"
#include "report/timeline_svg.h"

namespace placewright {
namespace {

void AddIfAny(std::string text, std::vector<std::string>& list) {
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) list.push_back(std::move(text));
}

}  // namespace

void AddPictureOptions(CommandLine app, PictureOptions* options) {
  app.AddOption("--svg", options->svg, "Draw the step: devices, links and memory over time")
      .TypeName("FILE")
      .Group("Output");
  app.AddOption("--html", options->html, "The plan as a page with a timeline and tables")
      .TypeName("FILE")
      .Group("Output");
}

std::vector<NamedFile> FilesOf(const PictureOptions& options) {
  std::vector<NamedFile> files;
  if (!options.svg.empty()) files.push_back({"--svg", options.svg});
  if (!options.html.empty()) files.push_back({"--html", options.html});
  return files;
}

Status WritePictures(const PictureOptions& options, const StepInputs& of, const Analysis& analysis,
                     const Plan& plan, const std::vector<std::string>& notes) {
  if (options.svg.empty() && options.html.empty()) return Ok();
  const Inputs& inputs = *of.inputs;
  const Graph& step = *of.step.graph;
  const Placement& placement = of.step.placement;
  const Schedule& schedule = *analysis.result.schedule;
  const std::vector<MemoryCurve> memory = MemoryCurves(*of.step.sim_graph, placement, schedule);
  auto [title, subtitle] = TitleOf(plan);
  TimelineInput timeline{step,
                         inputs.cluster.cluster,
                         placement,
                         schedule,
                         memory,
                         analysis.result.devices,
                         plan.step_time,
                         plan.lower_bound.value_or(Nanos()),
                         std::move(title),
                         std::move(subtitle)};
  timeline.bound_of = WordsOf(plan.bound_space).plan;
  if (!options.svg.empty()) {
    PW_RETURN_IF_ERROR(WriteFileAtomically(options.svg, RenderTimelineSvg(timeline)));
  }
  if (options.html.empty()) return Ok();
  const Cluster& cluster = inputs.cluster.cluster;
  PlanPage page{plan, cluster, step, placement, schedule, memory, analysis.result};
  AddModules(analysis, page);
  AddIfAny(DescribeCopies(analysis.strategy.copied, cluster), page.warnings);
  if (plan.distribution.switches.local_batch_norm) page.warnings.emplace_back(kLocalBatchNorm);
  if (analysis.gpu_use) page.warnings.push_back(DescribeGpuUse(*analysis.gpu_use));
  page.notes = notes;
  for (std::string& line : DescribeAssumptions(inputs)) page.notes.push_back(std::move(line));
  AddIfAny(RenderUnknownTypes(inputs.cost_report.unknown_types), page.notes);
  // Text on a page may hold any character, but no escape sequences.
  page.tie_within = analysis.tie_within;
  page.explanation = Explain(analysis, cluster, {false, true, 110});
  return WriteFileAtomically(options.html, RenderPlanPage(page));
}

}  // namespace placewright
