// Where the time of a step goes, and how far modelled times may be wrong.
#ifndef PLACEWRIGHT_REPORT_TIME_SPLIT_H_
#define PLACEWRIGHT_REPORT_TIME_SPLIT_H_

#include <string>

#include "base/units.h"
#include "cost/cost_table.h"
#include "report/table.h"
#include "sim/step_split.h"

namespace placewright {

// Which part of modelled times the model is taken to be wrong by: round figures, not fitted ones; docs/costs.md
// (accuracy) has comparisons.
inline constexpr double kErrorOfComputing = 0.1, kErrorOfCommunication = 0.2;

// Steps whose times differ by no more than this are ties: the model cannot say which is faster. Given and
// measured times of ops have no such error.
Nanos TieWithin(const StepSplit& split, const CostShares& shares, Nanos step_time);

// A line each for computing, what is waited for (collectives by kind, transfers), and other devices, on the average of
// the devices that compute; then the `max` types of ops that take most.
std::string RenderSplit(const StepSplit& split, Nanos step_time, size_t max, const Style& style);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_TIME_SPLIT_H_
