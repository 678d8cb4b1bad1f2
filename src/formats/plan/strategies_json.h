// The strategies that a plan was chosen among, in its file (docs/json.md).
#ifndef PLACEWRIGHT_FORMATS_PLAN_STRATEGIES_JSON_H_
#define PLACEWRIGHT_FORMATS_PLAN_STRATEGIES_JSON_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "formats/text/json.h"
#include "plan/strategy.h"

namespace placewright {

Json StrategiesToJson(const std::vector<StrategyResult>& strategies);
// An element of the list, at `place`. Errors: kField.
Result<StrategyResult> StrategyFromJson(const Json& object, const std::string& place);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PLAN_STRATEGIES_JSON_H_
