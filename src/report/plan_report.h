// What a plan says to people: the step, the devices, the baselines it beat.
#ifndef PLACEWRIGHT_REPORT_PLAN_REPORT_H_
#define PLACEWRIGHT_REPORT_PLAN_REPORT_H_

#include <span>
#include <string>
#include <vector>

#include "cost/cost_table.h"
#include "plan/plan.h"
#include "report/table.h"
#include "sim/simulator.h"

namespace placewright {

// What each device does in a simulated step.
std::vector<DeviceUse> UseOfDevices(const SimResult& result, const Cluster& cluster);

// What the bound says about a plan that fits: "no plan takes more than 4.2% less time", or
// "optimal: no plan takes less" where the gap is 0.
std::string BoundVerdict(const Plan& plan);

// Step time, bound and gap, who found it and how, where the costs come from.
std::string RenderHeadline(const Plan& plan, const Style& style);

// "25.0% measured, 75.0% modelled": the sources that have a share; "none" if no op takes time.
std::string RenderCostSources(const CostShares& shares);

// Names them in a sentence; an empty list gives an empty text.
std::string RenderUnknownTypes(std::span<const std::string> types);

// "memory reserve: 614.4 MiB of each P100-12GB are kept free (--memory-reserve)"; "" where no
// device keeps any.
std::string DescribeReserve(std::span<const DeviceUse> devices);

// One line per device with bars for busy share and memory; then what is kept in reserve, idle
// devices and those that overflow, each said in a sentence.
std::string RenderDevices(std::span<const DeviceUse> devices, const Style& style);

// The baselines against `step_time`; an empty list gives an empty text.
std::string RenderBaselines(std::span<const Baseline> baselines, Nanos step_time,
                            const Style& style);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_PLAN_REPORT_H_
