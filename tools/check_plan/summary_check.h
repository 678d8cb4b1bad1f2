// The figures that a plan states about itself, against its schedule, costs and cluster.
#ifndef CHECK_PLAN_SUMMARY_CHECK_H_
#define CHECK_PLAN_SUMMARY_CHECK_H_

#include "check_plan/step.h"
#include "formats/text/json.h"
#include "plan/plan.h"

namespace placewright::check {

// Names of graph and cluster; a known objective and cost profile; one entry per device of the
// cluster, in its order, with its name, kind and capacity. Everything else here relies on it.
MaybeViolation CheckNames(const Plan& plan, const Graph& graph, const Cluster& cluster);

// The step time is the last completion; ops and busy share of every device follow from the
// schedule; the sources of costs are shares of the ops' time on their devices.
MaybeViolation CheckFigures(const Plan& plan, const Step& step);

// Not above the step time, and not below what two simple arguments prove: the longest chain of ops
// on their fastest devices, and all minimum times spread over all devices. `gap` follows from it.
MaybeViolation CheckBound(const Plan& plan, const Json& document, const Step& step);

// Of a distributed plan: what moves, by kind and way, as often and as long as in the schedule; the samples
// are the batch of the step, their rate follows from the step time.
MaybeViolation CheckDistributionFigures(const Plan& plan, const Json& document, const Step& step);

}  // namespace placewright::check

#endif  // CHECK_PLAN_SUMMARY_CHECK_H_
