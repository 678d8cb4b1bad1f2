// What a distributed step costs: times of parts of ops on their devices, and of its collectives.
#ifndef PLACEWRIGHT_COMPILE_STEP_COSTS_H_
#define PLACEWRIGHT_COMPILE_STEP_COSTS_H_

#include "base/result.h"
#include "compile/compiler.h"
#include "cost/communication.h"
#include "cost/cost_model.h"
#include "cost/cost_table.h"
#include "plan/distributed_step.h"

namespace placewright {

// By the same model and the same measurements as the original's ops: an instance has the sizes of its
// part. Where an op has instances on several GPUs of one kind, the modelled time of each is that on the slowest
// of so many (SlowestOf). Overrides know instances by the names and types of the original's ops; a time that
// they state is taken for each instance as it is, a factor for the modelled time of its part. Two ops that make
// the results of one between them (rewrites/separate_gradients.h) have the time of that one, modelled, measured
// or stated, each a part in proportion to its arithmetic, and its workspace. What the kernel of another op does on a GPU takes no time there
// (DistributedStep::in_kernel). Errors: those of ModelCosts,
// CollectiveCosts.
Result<CostTable> CostsOfStep(const DistributedStep& step, const Graph& original,
                              const Communication& communication, const CostOptions& options,
                              CostModelReport* report = nullptr);

// The same of a step in lanes, whose collectives are priced.
Result<CostTable> CostsOfStep(const StepInLanes& in_lanes, const Graph& original,
                              const Communication& communication, const CostOptions& options,
                              CostModelReport* report = nullptr);

// Of two ops that make the results of one: which part of its time the first takes, and that time. The second takes the
// rest.
double ShareOfFirst(double first_flops, double second_flops);
Nanos TimeOfFirst(Nanos whole, double share);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_STEP_COSTS_H_
