// JSON objects that commands print (docs/json.md).
#ifndef PLACEWRIGHT_CLI_RESULT_JSON_H_
#define PLACEWRIGHT_CLI_RESULT_JSON_H_

#include <span>
#include <string_view>

#include "formats/json.h"
#include "plan/plan.h"
#include "plan/schedule.h"

namespace placewright {

// [{name, kind, busy, peak_memory_bytes, ..., ops}].
Json DevicesToJson(std::span<const DeviceUse> devices);

// The plan without its placement, history and references to files beside it.
Json PlanSummaryToJson(const Plan& plan, std::string_view schema);

// [{name, device, start_ns, end_ns}], every op in the graph's order.
Json ScheduledOpsToJson(const Schedule& schedule, const Placement& placement, const Graph& graph,
                        const Cluster& cluster);

// The largest resident set of this process so far, in bytes.
int64_t PeakResidentBytes();

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_RESULT_JSON_H_
