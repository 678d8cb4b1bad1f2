#include "cli/request/picture.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/request/assumptions.h"
#include "formats/text/file.h"
#include "report/plan_page.h"
#include "report/plan_report.h"
#include "report/table.h"
#include "report/timeline_svg.h"

namespace placewright {

void AddPictureOptions(CLI::App* app, PictureOptions* options) {
  app->add_option("--svg", options->svg, "Draw the step: devices, links and memory over time")
      ->type_name("FILE")
      ->group("Output");
  app->add_option("--html", options->html, "The same as a page with tables")
      ->type_name("FILE")
      ->group("Output");
}

std::vector<NamedFile> FilesOf(const PictureOptions& options) {
  std::vector<NamedFile> files;
  if (!options.svg.empty()) files.push_back({"--svg", options.svg});
  if (!options.html.empty()) files.push_back({"--html", options.html});
  return files;
}

Status WritePictures(const PictureOptions& options, const Inputs& inputs,
                     const StepProgram& program, const Placement& placement,
                     const Findings& findings, const Plan& plan) {
  if (options.svg.empty() && options.html.empty()) return Ok();
  const Schedule& schedule = *findings.result.schedule;
  const std::vector<MemoryCurve> memory = MemoryCurves(program, placement, schedule);
  std::string subtitle = fmt::format("{} a step", FormatNanos(plan.step_time));
  if (plan.lower_bound.count > 0) {
    subtitle += plan.feasible ? "; " + BoundVerdict(plan) : "; does not fit";
    subtitle += fmt::format(" (bound {})", FormatNanosLike(plan.lower_bound, plan.step_time));
  }
  if (!plan.algorithm.empty()) subtitle += fmt::format("; found by {}", plan.algorithm);
  const std::string svg =
      RenderTimelineSvg({inputs.graph.graph, inputs.cluster.cluster, placement, schedule, memory,
                         findings.result.devices, plan.step_time, plan.lower_bound,
                         fmt::format("{} on {}", plan.graph_name, plan.cluster_name), subtitle});
  if (!options.svg.empty()) PW_RETURN_IF_ERROR(WriteFileAtomically(options.svg, svg));
  if (options.html.empty()) return Ok();
  // Text on a page may hold any character, but no escape sequences.
  const std::string explanation = Explain(findings, inputs.cluster.cluster, {false, true});
  std::vector<std::string> remarks = DescribeAssumptions(inputs);
  if (findings.gpu_use) remarks.insert(remarks.begin(), DescribeGpuUse(*findings.gpu_use));
  return WriteFileAtomically(
      options.html, RenderPlanPage({plan, inputs.cluster.cluster, findings.layers, svg, explanation,
                                    std::move(remarks)}));
}

}  // namespace placewright
