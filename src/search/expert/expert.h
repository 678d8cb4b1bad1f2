// expert: the placements that the papers' authors made by hand (Mars sec. 4.1, EAGLE sec. IV-B), or
// any placement that a user gives with --expert.
//
//   recurrent graphs (GNMT, RNNLM)   LSTM layers dealt round-robin to the GPUs, encoder and decoder
//                                    each from the first; attention on a device of its own, softmax
//                                    (what follows the last recurrent layer) on another
//   all others (Inception-V3, BERT)  one GPU; what it cannot run on the CPUs. For BERT the papers
//                                    have no placement and print that it does not fit
//
// GPUs: the accelerators (search/problem/candidate_devices.h) that are no CPUs; among CPUs alone,
// all.
//
// Layers are recognised by module paths and, within one recurrent module, by its parameters' names:
// roles.h. The rules are not repaired: where they do not fit in memory, that is the result.
//
// Deviations: the papers' GNMT figures have four GPUs for four layers and do not say which of them
// attention and softmax share; here, from four GPUs on, the last two are theirs alone, and
// with fewer both are on the last one, beside its layers.
#ifndef PLACEWRIGHT_SEARCH_EXPERT_EXPERT_H_
#define PLACEWRIGHT_SEARCH_EXPERT_EXPERT_H_

#include "search/constructive/placer.h"

namespace placewright {

GroupPlacement PlaceByExpertRules(const PlacerInput& input);

class ExpertPlanner : public Planner {
 public:
  // `given`: the placement to give instead of that of the rules.
  explicit ExpertPlanner(std::optional<Placement> given = std::nullopt)
      : given_(std::move(given)) {}
  std::string_view name() const override { return "expert"; }
  std::string_view description() const override {
    return "the papers' hand-made placements by model family, or the one given with --expert";
  }
  bool iterative() const override { return false; }
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override;

 private:
  std::optional<Placement> given_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EXPERT_EXPERT_H_
