// Cost override files (--costs FILE), YAML or JSON: times of ops that somebody measured or knows
// better than the model. docs/formats/cost-overrides.md.
//
//     overrides:
//       - {type: "aten.mm.*", kind: "V100*", time: 12.5us}
//       - {op: "convolution_12", device: host0/gpu0, scale: 1.4}
#ifndef PLACEWRIGHT_FORMATS_COSTS_OVERRIDE_READER_H_
#define PLACEWRIGHT_FORMATS_COSTS_OVERRIDE_READER_H_

#include <string_view>
#include <vector>

#include "base/result.h"
#include "cost/cost_model.h"

namespace placewright {

// The entries in file order (later ones win), each with its place for later messages. Errors:
// kSyntax, kField, kDuplicateName, each with line and column.
Result<std::vector<CostOverride>> ReadCostOverrides(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_COSTS_OVERRIDE_READER_H_
