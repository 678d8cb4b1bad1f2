// A plan as one HTML file for people who would rather look than read.
#ifndef PLACEWRIGHT_REPORT_PLAN_PAGE_H_
#define PLACEWRIGHT_REPORT_PLAN_PAGE_H_

#include <string>
#include <vector>

#include "plan/plan.h"
#include "report/layer_table.h"

namespace placewright {

struct PlanPage {
  const Plan& plan;
  const Cluster& cluster;
  const std::vector<LayerRow>& layers;
  std::string timeline_svg;          // as RenderTimelineSvg made it
  std::string explanation;           // plain text (bottlenecks, peak memory), shown as it is
  std::vector<std::string> remarks;  // a paragraph each
};

// Self-contained: no scripts, fonts or files of others.
std::string RenderPlanPage(const PlanPage& page);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_PLAN_PAGE_H_
