// JSON objects that commands print (docs/json.md).
#ifndef PLACEWRIGHT_CLI_REQUEST_RESULT_JSON_H_
#define PLACEWRIGHT_CLI_REQUEST_RESULT_JSON_H_

#include <span>
#include <string_view>

#include "cost/cost_table.h"
#include "formats/text/json.h"
#include "plan/plan.h"
#include "report/explanation.h"
#include "report/layer_table.h"
#include "report/plan_report.h"
#include "sim/communication_use.h"
#include "sim/simulator.h"

namespace placewright {

// [{name, kind, busy, peak_memory_bytes, ..., ops}].
Json DevicesToJson(std::span<const DeviceUse> devices);

// {given, measured, modelled}.
Json CostSourcesToJson(const CostShares& shares);

// {algorithm, step_time_ns, on_gpus, speedup}; null where no baseline fits.
Json BestBaselineToJson(const BestBaseline& best);

// `samples_per_second`: null where the batch is not known.
void AddSamplesPerSecond(const Plan& plan, Json* object);
// Of a plan that splits or copies ops: `space`, `layouts` and what else states how, and `communication`.
void AddDistribution(const Plan& plan, Json* object);
// The same: `communication_ns`, `exposed_communication_ns`.
void AddCommunicationTime(const Plan& plan, const CommunicationTime& time, Json* object);

// The plan without its placement, history and references to files beside it.
Json PlanSummaryToJson(const Plan& plan, std::string_view schema);

// [{what, time_ns, share}], longest first; the times sum to the step time.
Json ReasonsToJson(const Bottlenecks& bottlenecks, const Cluster& cluster);

// [{name, modules[], devices[{device, ops, time_ns, persistent_bytes}]}].
Json LayersToJson(const std::vector<LayerRow>& rows, const Cluster& cluster);

// [{name, busy, moved_bytes, transfers}] of the links that carried anything.
Json LinksToJson(const SimResult& result, const Cluster& cluster);

// {device, time_ns, bytes, parts{...}, largest[{name, kind, copy, bytes}]}, ten tensors at most.
Json PeakToJson(const std::string& device_name, std::span<const PeakItem> items,
                const DeviceResult& device);

// The largest resident set of this process so far, in bytes.
int64_t PeakResidentBytes();

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_RESULT_JSON_H_
