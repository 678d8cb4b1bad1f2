// A graph whose placement is given by hand, as if it were a plan.
#ifndef PLACEWRIGHT_CLI_REQUEST_PLACED_GRAPH_H_
#define PLACEWRIGHT_CLI_REQUEST_PLACED_GRAPH_H_

#include <string>

#include "base/result.h"
#include "cli/terminal/options.h"
#include "formats/plan/plan_files.h"

namespace placewright {

// `placement`: a JSON map from op to device, perhaps with sequences, or a plan. The plan is made of what is simulated; it has no
// bound, no document and no schedule. Errors: those of LoadInputs and LoadPlacement, kPlanInvalid.
Result<PlanInputs> LoadPlacedGraph(const InputOptions& input, const std::string& placement);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_PLACED_GRAPH_H_
