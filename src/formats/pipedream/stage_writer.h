// A plan of a PipeDream profile as PipeDream's graph with a stage for every layer.
#ifndef PLACEWRIGHT_FORMATS_PIPEDREAM_STAGE_WRITER_H_
#define PLACEWRIGHT_FORMATS_PIPEDREAM_STAGE_WRITER_H_

#include <string>

#include "base/result.h"
#include "formats/plan/plan_files.h"

namespace placewright {

// The profile with `stage_id`: StagesOf. `placement` is the plan's. Errors: kNotExpressible (the
// plan is not one of a profile: its ops are no layers; or its devices are no stages).
Result<std::string> WritePipeDreamStages(const PlanInputs& plan, const Placement& placement);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PIPEDREAM_STAGE_WRITER_H_
