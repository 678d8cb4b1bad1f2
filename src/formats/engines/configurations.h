// Plans as configurations of torchtitan, DeepSpeed and Accelerate: what holds for the whole model, in their own words.
// docs/engines.md has which plans each can say.
#ifndef PLACEWRIGHT_FORMATS_ENGINES_CONFIGURATIONS_H_
#define PLACEWRIGHT_FORMATS_ENGINES_CONFIGURATIONS_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "formats/plan/plan_files.h"

namespace placewright {

// The sections [parallelism] and [training] of a job's TOML. All parameters on every rank, all in parts along their
// first dimension, or all matrices in parts with all samples on every rank.
Result<std::string> WriteTorchtitan(const PlanInputs& plan, const Placement& placement,
                                    std::vector<std::string>* notes);
// The JSON of deepspeed.initialize: ZeRO stage 0, all parameters on every rank, or 3, in parts but for those that are
// smaller than all of these.
Result<std::string> WriteDeepSpeed(const PlanInputs& plan, const Placement& placement,
                                   std::vector<std::string>* notes);
// The YAML of `accelerate launch --config_file`, FSDP of version 2: all parameters in parts.
Result<std::string> WriteAccelerateFsdp(const PlanInputs& plan, const Placement& placement,
                                        std::vector<std::string>* notes);

// Errors of all: those of FindUniformPlan; kNotExpressible naming the first module that the form cannot hold.

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ENGINES_CONFIGURATIONS_H_
