// A plan as a picture: what every device and link does when, and how full devices are.
#ifndef PLACEWRIGHT_REPORT_PLAN_PICTURE_H_
#define PLACEWRIGHT_REPORT_PLAN_PICTURE_H_

#include <placewright/cluster/cluster.h>
#include <placewright/cost/cost_table.h>
#include <placewright/graph/graph.h>
#include <placewright/plan/placement.h>
#include <placewright/plan/plan.h>
#include <placewright/plan/schedule.h>

#include <string>

namespace placewright {

// What the title and the line below it say of a plan: its graph and cluster; step time, bound and
// who found it.
struct PictureTitle {
  std::string title, subtitle;
};
PictureTitle TitleOf(const Plan& plan);

// A self-contained SVG, without scripts, fonts or files of others: a track for every device with
// its ops by phase and its memory, one for every link that carries anything, and the time axis.
// `step` is the graph whose ops the costs, the placement and the schedule are of: the compiled one
// where ops are split or copied.
std::string DrawPlan(const Plan& plan, const Graph& step, const Cluster& cluster,
                     const CostTable& costs, const Placement& placement, const Schedule& schedule);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_PLAN_PICTURE_H_
