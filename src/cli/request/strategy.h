// How a plan distributes its step, by module, for people and --json (report/strategy/strategy_table.h).
#ifndef PLACEWRIGHT_CLI_REQUEST_STRATEGY_H_
#define PLACEWRIGHT_CLI_REQUEST_STRATEGY_H_

#include <vector>

#include "cli/request/inputs.h"
#include "formats/text/json.h"
#include "plan/layout_spec.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "report/strategy/strategy_table.h"

namespace placewright {

// Of a step whose ops are placed whole.
std::vector<StrategyRow> StrategyOfPlaced(const Inputs& inputs, const Placement& placement,
                                          const Schedule& schedule);

// Of a compiled step (`inputs`, `placement`, `schedule`) of `original`, by `spec`. `origin`: as in
// DistributedStep.
std::vector<StrategyRow> StrategyOfCompiled(const Inputs& inputs, const Placement& placement,
                                            const Schedule& schedule, const Graph& original,
                                            const IdVector<OpId, OpId>& origin,
                                            const DistributionSpec& spec);

// [{name, modules[], computed[], synchronised[], parameter_bytes, time_ns, time_share}].
Json StrategyToJson(const std::vector<StrategyRow>& rows, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_STRATEGY_H_
