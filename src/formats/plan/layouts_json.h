// Layouts as people write them by hand and plans keep them (docs/formats/layouts.md).
#ifndef PLACEWRIGHT_FORMATS_PLAN_LAYOUTS_JSON_H_
#define PLACEWRIGHT_FORMATS_PLAN_LAYOUTS_JSON_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "formats/text/json.h"
#include "plan/layout_spec.h"
#include "plan/plan.h"

namespace placewright {

// Adds `layouts`, `fusion_bytes`, `batch_norm`, `broadcasts`, and `gradients_apart` and `transforms` where they are known.
void AddDistributionSpec(const DistributionSpec& spec, Json* object);
// Of an object with a list `layouts`, and perhaps the others. Errors: kField with a
// place like "layouts[2].devices[0].from"; an unknown key and an unknown option with near names.
Result<DistributionSpec> DistributionSpecFromJson(const Json& document);
// A file of such an object, or a plan of which they are taken. Errors name the file.
Result<DistributionSpec> ReadDistributionSpec(const std::string& path);

// A list: "counted-draws", {"accumulate": 4}, {"recompute": ["layers.*"]}. Errors: kField.
Json TransformsToJson(const Transforms& transforms);
Result<Transforms> TransformsFromJson(const Json& document);  // its field `transforms`

// [{kind, algorithm, bytes, time_ns, count}]
Json CommunicationToJson(const std::vector<CommunicationUse>& uses);
Result<std::vector<CommunicationUse>> CommunicationFromJson(const Json& document);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PLAN_LAYOUTS_JSON_H_
