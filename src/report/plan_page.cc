#include "report/plan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/plan_report.h"
#include "report/table.h"
#include "report/timeline_svg.h"

namespace placewright {
namespace {

constexpr std::string_view kStyle =
    "body{font-family:sans-serif;margin:2em auto;max-width:1300px;color:#222;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:.25em .9em;text-align:left;border-bottom:1px solid #ddd}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".bar{width:12em;height:.8em;background:#eee}.bar i{display:block;height:100%;"
    "background:#4c78a8}.bar i.over{background:#c62828}"
    "svg{max-width:100%;height:auto}pre{background:#f6f6f6;padding:1em;overflow-x:auto}"
    ".big{font-size:1.6em;font-weight:bold}";

std::string BarCell(double share) {
  return fmt::format("<td><div class=\"bar\"><i{} style=\"width:{:.1f}%\"></i></div></td>",
                     share > 1 ? " class=\"over\"" : "", std::clamp(share, 0.0, 1.0) * 100);
}

void AppendDevices(const Plan& plan, std::string& page) {
  page +=
      "<h2>Devices</h2>\n<table><tr><th>device</th><th>kind</th><th class=\"n\">ops</th>"
      "<th class=\"n\">busy</th><th></th><th class=\"n\">peak memory</th>"
      "<th class=\"n\">of</th><th></th></tr>\n";
  for (const DeviceUse& use : plan.devices) {
    const double memory = use.capacity.count > 0 ? static_cast<double>(use.peak_memory.count) /
                                                       static_cast<double>(use.capacity.count)
                                                 : 0;
    fmt::format_to(std::back_inserter(page),
                   "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>{}"
                   "<td class=\"n\">{}</td><td class=\"n\">{}</td>{}</tr>\n",
                   EscapeXml(use.name), EscapeXml(use.kind),
                   use.ops == 0 ? "idle" : FormatCount(use.ops), EscapeXml(FormatShare(use.busy)),
                   BarCell(use.busy), FormatBytes(use.peak_memory), FormatBytes(use.capacity),
                   BarCell(memory));
  }
  page += "</table>\n";
  const std::string reserve = DescribeReserve(plan.devices);
  if (!reserve.empty()) page += "<p>" + EscapeXml(reserve) + "</p>\n";
}

void AppendLayers(const PlanPage& parts, std::string& page) {
  if (parts.layers.empty()) return;
  page +=
      "<h2>Modules</h2>\n<table><tr><th>module</th><th>runs on</th><th class=\"n\">ops</th>"
      "<th class=\"n\">op time</th><th class=\"n\">parameters</th></tr>\n";
  for (const LayerRow& row : parts.layers) {
    for (const LayerShare& share : row.shares) {
      fmt::format_to(std::back_inserter(page),
                     "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
                     "<td class=\"n\">{}</td></tr>\n",
                     &share == &row.shares.front() ? EscapeXml(row.name) : "",
                     EscapeXml(parts.cluster.device(share.device).name), FormatCount(share.ops),
                     FormatNanos(share.time), FormatBytes(share.memory));
    }
  }
  page += fmt::format("</table>\n<p>{}.</p>\n", kLayerColumns);
}

void AppendBaselines(const Plan& plan, std::string& page) {
  if (plan.baselines.empty()) return;
  page +=
      "<h2>Baselines</h2>\n<table><tr><th>algorithm</th><th class=\"n\">step time</th>"
      "<th></th><th>runs on</th></tr>\n";
  for (const BaselineRow& row : FoldBaselines(plan.baselines)) {
    fmt::format_to(std::back_inserter(page),
                   "<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>\n",
                   EscapeXml(fmt::format("{}", fmt::join(row.algorithms, ", "))),
                   FormatNanosLike(row.first->step_time, plan.step_time),
                   row.first->feasible ? "fits" : "does not fit",
                   EscapeXml(DescribeDevices(row.first->devices, plan.devices)));
  }
  page += "</table>\n";
}

}  // namespace

std::string RenderPlanPage(const PlanPage& parts) {
  const Plan& plan = parts.plan;
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\">"
      "<title>{0} on {1}</title><style>{2}</style></head><body>\n<h1>{0} on {1}</h1>\n"
      "<p><span class=\"big\">{3}</span> a step",
      EscapeXml(plan.graph_name), EscapeXml(plan.cluster_name), kStyle,
      FormatNanos(plan.step_time));
  if (!plan.feasible) page += "; <strong>does not fit</strong>";
  if (plan.lower_bound.value_or(Nanos()).count > 0) {
    const std::string bound = FormatNanosLike(*plan.lower_bound, plan.step_time);
    page += plan.feasible ? fmt::format("; {} (bound {})", EscapeXml(BoundVerdict(plan)), bound)
                          : fmt::format("; bound {}", bound);
  }
  const std::string against = plan.feasible ? DescribeBestBaseline(plan) : "";
  if (!against.empty()) page += "; " + EscapeXml(against);
  if (!plan.algorithm.empty()) page += "; found by " + EscapeXml(plan.algorithm);
  page += ".</p>\n";
  for (const std::string& remark : parts.remarks) page += "<p>" + EscapeXml(remark) + "</p>\n";
  page += parts.timeline_svg;
  AppendLayers(parts, page);
  AppendDevices(plan, page);
  if (!parts.explanation.empty()) {
    page += "<h2>Why it is not faster</h2>\n<pre>" + EscapeXml(parts.explanation) + "</pre>\n";
  }
  AppendBaselines(plan, page);
  page += "</body></html>\n";
  return page;
}

}  // namespace placewright
