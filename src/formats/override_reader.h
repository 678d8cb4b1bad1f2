// Cost override files (--costs FILE), YAML or JSON. docs/formats/cost-overrides.md.
#ifndef PLACEWRIGHT_FORMATS_OVERRIDE_READER_H_
#define PLACEWRIGHT_FORMATS_OVERRIDE_READER_H_

#include <string_view>
#include <vector>

#include "base/result.h"
#include "cost/cost_model.h"

namespace placewright {

Result<std::vector<CostOverride>> ReadCostOverrides(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_OVERRIDE_READER_H_
