// Plans that an engine of PyTorch can say (engine_layouts.h): `plan --for ddp|fsdp2|tp`.
//
// Tried are all units on, over every device set in question; then over the best set classes of alike units are turned
// the other way, one at a time, and then single units, as long as that makes a better plan and one is on; of ddp other
// sizes of its buckets. A note says where all units off are faster. Device sets: all devices (ddp, fsdp2), those of one
// kind in one machine, and the groups of these that the cluster knows; of each as many as divide the batch, or for tp an
// axis of a layer, at most 8. Complexity: an evaluation for each set, and one for each class and unit in every round of
// changes.
#ifndef PLACEWRIGHT_SEARCH_ENGINES_ENGINE_PLANNER_H_
#define PLACEWRIGHT_SEARCH_ENGINES_ENGINE_PLANNER_H_

#include <string_view>

#include "search/engines/engine_layouts.h"
#include "search/planner.h"

namespace placewright {

class EnginePlanner : public Planner {
 public:
  explicit EnginePlanner(TrainingEngine engine) : engine_(engine) {}

  std::string_view name() const override;  // "ddp", "fsdp2", "tp"
  std::string_view description() const override;
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  bool iterative() const override { return false; }
  bool in_auto() const override { return false; }
  // Errors: kUsage (a problem without layouts; constraints; for tp a step without columns and rows that can be split),
  // kBatchScaling (ddp, fsdp2: nothing proves how the step follows its batch), those of CompileStep.
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override;

 private:
  TrainingEngine engine_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_ENGINES_ENGINE_PLANNER_H_
