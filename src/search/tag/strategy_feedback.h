// What the simulated step of a strategy did, by unit, device group and pair of these: the runtime feedback of TAG's
// features (Zhang et al., sec. 4.2.1, Table 1).
#ifndef PLACEWRIGHT_SEARCH_TAG_STRATEGY_FEEDBACK_H_
#define PLACEWRIGHT_SEARCH_TAG_STRATEGY_FEEDBACK_H_

#include <cstdint>
#include <vector>

#include "search/evaluator.h"
#include "search/tag/strategies.h"

namespace placewright {

struct StrategyFeedback {
  struct Unit {
    int64_t first_start = 0, last_end = 0;  // ns, of its instances; both 0 where it has none
  };
  double step = 0;          // ns
  std::vector<Unit> units;  // in the strategies' order
  std::vector<double>
      busy;  // by device group: the share of the step that its devices compute, on the mean
  std::vector<double> peak;  // by device group: most of peak / capacity
  std::vector<double>
      links_busy;  // [from][to] of device groups: of the narrowest link of the route between their
                   // first devices, as a share of the step; within a group between its first two
};

// `evaluation` has feedback. O(instances + device groups^2).
StrategyFeedback FeedbackOf(const LayoutProblem& problem, const Strategies& strategies,
                            const Evaluation& evaluation);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_STRATEGY_FEEDBACK_H_
