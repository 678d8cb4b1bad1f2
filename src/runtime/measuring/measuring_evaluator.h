// Candidates executed on this machine's devices instead of simulated: what the papers call the
// environment.
//
// A candidate runs for 15 steps, of which the first 5 are dropped; its time is the median of the others
// (Mars, section 4.1; EAGLE, section IV-A), its memory what the devices' allocators counted. One whose
// steps take ten times as long as the best so far is cut off. One that runs out of memory does not fit.
// Candidates are executed one at a time, also for several askers: others would take its cores.
#ifndef PLACEWRIGHT_RUNTIME_MEASURING_MEASURING_EVALUATOR_H_
#define PLACEWRIGHT_RUNTIME_MEASURING_MEASURING_EVALUATOR_H_

#include <memory>

#include "base/result.h"
#include "search/evaluator.h"
#include "search/problem/problem.h"

namespace placewright {

// As EvaluatorService::MakeMeasuringEvaluator.
Result<std::unique_ptr<Evaluator>> MakeMeasuringEvaluator(const Problem& problem);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_MEASURING_MEASURING_EVALUATOR_H_
