// Plans, their costs and schedule files, and placement maps, as versioned JSON (docs/json.md).
#ifndef PLACEWRIGHT_FORMATS_PLAN_PLAN_JSON_H_
#define PLACEWRIGHT_FORMATS_PLAN_PLAN_JSON_H_

#include <string>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "formats/text/json.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "plan/schedule.h"

namespace placewright {

// The plan file ("placewright.plan/1") carries `digest`, the SHA-256 of the rest in canonical
// form, so that an edited number is noticed even where nothing else contradicts it.
Json PlanToJson(const Plan& plan);
// Errors: kField with its place for a missing, wrong-typed or impossible field or another schema.
// Neither the digest nor the gap is compared with the rest: that is the checker's.
Result<Plan> PlanFromJson(const Json& document);
// The digest of a plan document (its own `digest` field left out).
std::string PlanDigest(const Json& document);

// Costs file ("placewright.costs/1"): per op its time on every device, or with the name of the only one
// that it is known for, source and workspace; of collectives their time and links; and
// what else decides the step, copied from the cluster: capacities, contexts, links, and the routes
// that the schedule's transfers take (of 1,024 devices there are a million pairs). Reading compares
// that copy with the cluster (kPlanMismatch).
std::string FormatCosts(const CostTable& costs, const Schedule& schedule, const Graph& graph,
                        const Cluster& cluster);
Result<CostTable> CostsFromJson(const Json& document, const Graph& graph, const Cluster& cluster);
// kPlanMismatch where the routes of a costs file lack one that the schedule uses.
Status CheckRoutesCovered(const Json& costs_document, const Schedule& schedule,
                          const Cluster& cluster);

// Schedule file ("placewright.schedule/1"): ops in the graph's order with their devices, transfers
// as the schedule lists them, collectives in the graph's order where it has any. Errors of reading: kField, kUnknownName, kPlanMismatch.
struct ScheduleFile {
  Schedule schedule;
  Placement placement;
};
std::string FormatSchedule(const Schedule& schedule, const Graph& graph, const Cluster& cluster,
                           const Placement& placement);
Result<ScheduleFile> ScheduleFromJson(const Json& document, const Graph& graph,
                                      const Cluster& cluster);

// `{op: device}`, or any object with such a `placement` (a plan, a cost graph).
Result<NamedPlacement> PlacementFromJson(const Json& document);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PLAN_PLAN_JSON_H_
