// Plans, their costs and schedule files, and placement maps, as versioned JSON (docs/json.md).
#ifndef PLACEWRIGHT_FORMATS_PLAN_JSON_H_
#define PLACEWRIGHT_FORMATS_PLAN_JSON_H_

#include <string>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "formats/json.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "plan/schedule.h"

namespace placewright {

// The plan file carries `digest`, the SHA-256 of the rest in canonical form, so that an edited
// number is noticed even where nothing else contradicts it.
Json PlanToJson(const Plan& plan);
Result<Plan> PlanFromJson(const Json& document);
// The digest of a plan document (its own `digest` field left out).
std::string PlanDigest(const Json& document);

// Costs file ("placewright.costs/1"): time per op and device, source, workspace.
Json CostsToJson(const CostTable& costs, const Graph& graph, const Cluster& cluster);
Result<CostTable> CostsFromJson(const Json& document, const Graph& graph, const Cluster& cluster);

// Schedule file ("placewright.schedule/1").
Json ScheduleToJson(const Schedule& schedule, const Graph& graph, const Cluster& cluster);
Result<Schedule> ScheduleFromJson(const Json& document, const Graph& graph, const Cluster& cluster);

// `{op: device}`, or any object with such a `placement` (a plan, a cost graph).
Result<NamedPlacement> PlacementFromJson(const Json& document);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PLAN_JSON_H_
