// What experts that lie apart take of a step (`experts`): their parameters stay with them, tokens come to them.
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_EXPERT_ESTIMATE_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_EXPERT_ESTIMATE_H_

#include <cstdint>
#include <map>

#include "search/strategies/step_table.h"

namespace placewright {

struct ExpertTable {
  double parameters = 0, gradients = 0, state = 0;  // bytes of those that have the axis of experts
  std::map<int64_t, int64_t> sizes;                 // as StepTable::sizes
  // Of tokens that are sorted by their expert: bytes of all samples, and how often that is in a forward pass.
  double tokens = 0;
  int64_t sorts = 0;
};

// Complexity: O(ops + edges).
ExpertTable ExpertsOfStep(const StepFacts& facts);

// The step without the parameters of its experts. Its work is the same: each device has as many rows as before.
StepTable WithoutExperts(StepTable table, const ExpertTable& experts);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_EXPERT_ESTIMATE_H_
