// The plans from which a search begins.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_FIRST_PLANS_H_
#define PLACEWRIGHT_SEARCH_LOCAL_FIRST_PLANS_H_

#include <vector>

#include "search/constructive/placer.h"
#include "search/local/local_run.h"

namespace placewright {

// What constructive methods are given: `local.candidates`, and where some devices do not reach each
// other also candidates that all do, which `mutual` then holds.
std::vector<PlacerInput> InputsOf(const LocalProblem& local, uint64_t seed,
                                  CandidateDevices* mutual);

// Adds the plans that are new and connected, and sorts: the best first. Returns the error of the
// last plan that is not connected.
Status AddPlans(const PlacerInput& input, Evaluator& evaluator, std::vector<GroupPlacement> plans,
                std::vector<ScoredPlacement>& starts);

// The plans that the options name, and where these are none, `layered`, `m-topo` and `heft` of each
// input; and `known`, if any. At least one, the best first. Errors: kUnreachable.
Result<std::vector<ScoredPlacement>> FindFirstPlans(const std::vector<PlacerInput>& inputs,
                                                    Evaluator& evaluator,
                                                    const PlannerOptions& options,
                                                    const GroupPlacement* known = nullptr);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_FIRST_PLANS_H_
