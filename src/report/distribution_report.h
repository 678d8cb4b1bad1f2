// How a step is distributed, for people.
#ifndef PLACEWRIGHT_REPORT_DISTRIBUTION_REPORT_H_
#define PLACEWRIGHT_REPORT_DISTRIBUTION_REPORT_H_

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "report/table.h"

namespace placewright {

inline constexpr std::string_view kLocalBatchNorm =
    "batch norms take the statistics of each part alone: not the step on one device";

// With `layouts` a table of them; one of communication, and how much of the step that takes and how much of it no
// computation hides. `step` and `schedule` are those of its compiled step.
std::string RenderDistribution(const Plan& plan, const Schedule& schedule, const Graph& step,
                               bool layouts, const Style& style);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_DISTRIBUTION_REPORT_H_
