// A distributed plan as configurations of training programs see one: a few numbers that hold for the whole model.
#ifndef PLACEWRIGHT_FORMATS_ENGINES_UNIFORM_PLAN_H_
#define PLACEWRIGHT_FORMATS_ENGINES_UNIFORM_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/plan/plan_files.h"

namespace placewright {

struct UniformPlan {
  struct Parameter {
    std::string name;       // as PyTorch names it
    int64_t elements = 0;   // of the whole
    size_t dimensions = 0;  // of its shape
    std::optional<int32_t>
        dimension;  // along which each rank has an equal part; none: each has all
  };
  int64_t ranks = 0, hosts = 0;
  int64_t batch = 0;           // samples of the step; 0: not known
  bool by_batch = false;       // each rank has an equal part of the samples; else all
  bool gathers_again = false;  // the backward pass gathers parameters once more
  std::vector<Parameter> parameters;
};

// Read off the compiled step: what the ops of each device read. Errors: kNotExpressible, naming the module: a plan
// that places whole ops, or uses one device; a parameter that is neither on all devices nor in equal parts on all, in
// their order; samples in uneven parts, or brought together in the forward pass.
Result<UniformPlan> FindUniformPlan(const PlanInputs& plan, const Placement& placement);

// "layers.0.norm.weight" -> "the module \"layers.0.norm\"".
std::string OwnerOf(const std::string& parameter);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ENGINES_UNIFORM_PLAN_H_
