// What a simulation says beyond times and peaks: why the step is not faster, what fills devices.
#ifndef PLACEWRIGHT_CLI_REQUEST_ANALYSIS_H_
#define PLACEWRIGHT_CLI_REQUEST_ANALYSIS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/request/distributed.h"
#include "cli/request/strategy.h"
#include "formats/text/json.h"
#include "plan/plan.h"
#include "report/explanation.h"
#include "report/gpu_use.h"
#include "report/layer_table.h"
#include "report/page/plan_page.h"
#include "report/step_rates.h"
#include "report/time_split.h"
#include "sim/simulator.h"

namespace placewright {

struct Analysis {
  SimResult result;
  std::vector<LayerRow> layers;  // which modules run where
  std::optional<GpuUse> gpu_use;
  Bottlenecks bottlenecks;
  // The fullest device, or every device that holds anything, in the cluster's order.
  std::vector<std::pair<DeviceId, std::vector<PeakItem>>> peaks;
  StrategyReport strategy;
  StepRates rates;
  // Of a step whose ops are split or copied: a path through it says nothing where all devices wait for each other.
  std::optional<StepSplit> split;
  Nanos tie_within;             // TieWithin, of all steps
  std::string source_of_times;  // SourceOfTimes
};

// `result` was recorded with schedule and feedback. Cost: two simulations for each device in
// `peaks`.
Analysis Analyze(const StepInputs& of, SimResult result, SchedulingPolicy order, bool all_devices);

// For people: where the time goes or why the step is not faster, and what fills devices.
std::string Explain(const Analysis& analysis, const Cluster& cluster, const Style& style);

// The step by module: where ops are split or copied how they are computed and synchronised, else which devices
// they run on. An empty text without modules.
std::string RenderModuleTable(const Analysis& analysis, const Plan& plan, const Cluster& cluster,
                              const Style& style);

// A line of DescribeRates, "" where it has nothing to say. The bubble is one of placements over several devices, and of pipelines.
std::string RenderRates(const Analysis& analysis, const Plan& plan, const Style& style);

// The same for the page of a plan.
void AddModules(const Analysis& analysis, PlanPage& page);

// Where ops are split or copied what moves between devices, and their layouts where no modules say them.
std::string RenderCommunication(const Analysis& analysis, const Plan& plan, const Graph& step,
                                const Style& style);

// Adds `layers`, `strategy`, `strategy_averages`, `gpu_use`, `rates`, `split`, `tie_within_ns`, `links` and `reasons`, and to each element of `devices`, which is
// there, its idle times.
void AddAnalysis(const Analysis& analysis, const Cluster& cluster, Json* object);
// The elements of `peaks`.
Json PeaksToJson(const Analysis& analysis, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_ANALYSIS_H_
