// How a plan distributes its step, by module, for people and --json (report/strategy/strategy_table.h).
#ifndef PLACEWRIGHT_CLI_REQUEST_STRATEGY_H_
#define PLACEWRIGHT_CLI_REQUEST_STRATEGY_H_

#include <vector>

#include "cli/request/copied_ops.h"
#include "cli/request/distributed.h"
#include "formats/text/json.h"
#include "plan/schedule.h"
#include "report/strategy/strategy_averages.h"
#include "report/strategy/strategy_table.h"

namespace placewright {

struct StrategyReport {
  std::vector<StrategyRow> rows;  // none where the graph names no modules
  StrategyAverages averages;
  CopiedOps copied;  // of a compiled step
};
StrategyReport StrategyOf(const StepInputs& of, const Schedule& schedule);

// Adds `strategy` [{name, modules[], computed[], synchronised[], parameter_bytes, time_ns, time_share}] and
// `strategy_averages` {devices{KIND}, gradients{KIND}} and `copied_ops`.
void AddStrategy(const StrategyReport& report, const Cluster& cluster, Json* object);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_STRATEGY_H_
