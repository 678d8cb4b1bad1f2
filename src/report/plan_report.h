// What a plan says to people: the step, the devices, the baselines it beat.
#ifndef PLACEWRIGHT_REPORT_PLAN_REPORT_H_
#define PLACEWRIGHT_REPORT_PLAN_REPORT_H_

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/cost_table.h"
#include "plan/plan.h"
#include "report/table.h"
#include "sim/simulator.h"

namespace placewright {

// What the bound says about the step time of a plan that fits: "at most 4.2% below this is possible
// for placements of whole ops", or "optimal for placements of whole ops" where the gap is 0. A
// bound of another space than the plan's proves nothing about it: that is said.
std::string BoundVerdict(const Plan& plan);

// The best baseline to set a plan against: of those that fit and search nothing, where the cluster
// has GPUs of those that run on nothing else, and only where there is none of these, of all.
struct BestBaseline {
  const Baseline* baseline = nullptr;  // of the plan; nullptr: none fits
  bool on_gpus = false;
  double speedup = 0;  // its step time by the plan's
};
BestBaseline FindBestBaseline(const Plan& plan);

// "1.39 times as fast as the best baseline on GPUs (layered, 914 ms)"; an empty text without one.
std::string DescribeBestBaseline(const Plan& plan);

// Of a plan whose stages or recomputed layers dynamic programming chose: "1.62 s is the optimum of stages ..., no bound".
std::string DescribeLayerOptimum(const Plan& plan);

// "88.55 samples/s (batch 24)"; an empty text where the batch is not known.
std::string DescribeThroughput(const Plan& plan);

// Step time, throughput, bound and gap, the best baseline, who found it and how, where the costs come from.
std::string RenderHeadline(const Plan& plan, const Style& style);

// "25.0% measured, 75.0% modelled": the sources that have a share; "none" if no op takes time.
std::string RenderCostSources(const CostShares& shares);

// Of a plan that does not fit: the strategy that none fits nearer than, where the plan lacks more; nullptr: none.
const StrategyResult* NearestStrategy(const Plan& plan);
// What that is and lacks, in the place of the headline.
std::string RenderNearest(const Plan& plan, const StrategyResult& nearest, const Style& style);

// Names them in a sentence; an empty list gives an empty text.
std::string RenderUnknownTypes(std::span<const std::string> types);

// "memory reserve: 614.4 MiB of each P100-12GB are kept free (--memory-reserve)"; "" where no
// device keeps any.
std::string DescribeReserve(std::span<const DeviceUse> devices);

// One line for devices of equal figures, each of which has these, with bars for busy share and memory; then what is kept in reserve, idle
// devices and those that overflow, each said in a sentence.
std::string RenderDevices(std::span<const DeviceUse> devices, const Style& style);

// Baselines with one step time on the same devices, in the order of the first of each.
struct BaselineRow {
  std::vector<std::string> algorithms;
  const Baseline* first;
};
std::vector<BaselineRow> FoldBaselines(std::span<const Baseline> baselines);

// "host0/gpu0-3"; "host0/cpu0, no GPU" where the cluster has GPUs and none of them is used.
std::string DescribeDevices(std::span<const std::string> names,
                            std::span<const DeviceUse> all_devices);

// "equal", "1.07 times, a tie", "does not fit": a plan of that time beside one of `beside`. A tie differs by no
// more than `tie_within`, which is what the model of times may be wrong by (TieWithin).
std::string DescribeAgainst(Nanos beside, Nanos time, bool fits, Nanos tie_within);

// Strategies that a plan of the step time `beside` was chosen among, with time, memory, and why others are none: name,
// step time, memory, capacity, verdict; none where none was simulated.
std::vector<std::array<std::string, 5>> StrategyRows(std::span<const StrategyResult> strategies,
                                                     Nanos beside, Nanos tie_within);
std::string RenderStrategies(std::span<const StrategyResult> strategies, Nanos beside,
                             Nanos tie_within, const Style& style);

// The plan's baselines against its step time, equal ones in one line, each with the devices that it
// runs on; an empty list gives an empty text.
std::string RenderBaselines(const Plan& plan, Nanos tie_within, const Style& style);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_PLAN_REPORT_H_
