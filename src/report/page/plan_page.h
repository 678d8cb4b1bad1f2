// A plan as one HTML file for people who would rather look than read: what is predicted of it, a timeline to zoom
// into, and tables, by classes of devices that do the same. docs/page.md says what stands where.
#ifndef PLACEWRIGHT_REPORT_PAGE_PLAN_PAGE_H_
#define PLACEWRIGHT_REPORT_PAGE_PLAN_PAGE_H_

#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "report/layer_table.h"
#include "report/memory_curve.h"
#include "report/strategy/strategy_table.h"
#include "sim/simulator.h"

namespace placewright {

struct PlanPage {
  const Plan& plan;
  const Cluster& cluster;
  // What is drawn: the graph, or the compiled step.
  const Graph& step;
  const Placement& placement;
  const Schedule& schedule;
  std::span<const MemoryCurve> memory;  // one per device
  // Of the same simulation, with feedback where it is to say which links are used.
  const SimResult& result;
  std::vector<LayerRow> layers = {};       // of placed steps, or
  std::vector<StrategyRow> strategy = {};  // of those that are distributed
  std::string averages = {};               // DescribeAverages
  std::vector<std::string> warnings = {};  // a paragraph each
  std::vector<std::string> notes = {};     // a line each
  std::string explanation = {};            // plain text (bottlenecks, peak memory), shown as it is
  Nanos tie_within = {};                   // of baselines and strategies
};

// Self-contained: it loads nothing, from nowhere. Below 2 MB whatever the step and the cluster, but for more than a
// thousand classes of devices.
std::string RenderPlanPage(const PlanPage& page);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_PAGE_PLAN_PAGE_H_
