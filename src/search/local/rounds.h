// Several chains of annealing in rounds: a fixed number of moves for every chain, then the best
// plan is recorded, budgets are looked at and, if chains share, the best plan is handed to all.
// Nothing depends on the number of threads, and the recorded number of moves repeats a run that a
// time limit ended.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_ROUNDS_H_
#define PLACEWRIGHT_SEARCH_LOCAL_ROUNDS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "search/evaluate.h"
#include "search/local/annealer.h"
#include "search/planner.h"

namespace placewright {

struct Start {
  Score score;
  std::vector<int32_t> devices;
};

struct ChainSpec {
  Start start;
  AnnealerOptions options;
};

struct RoundsOptions {
  std::string_view algorithm;
  bool share_best = true;
  // Ends when half of all moves, and at least this many, have brought no better plan; 0: never.
  int64_t patience = 0;
};

// Runs the chains (at least one) until the budget ends or the best plan reaches the lower bound;
// without any budget, one round. Running out of memory ends it with the best plan so far.
PlannerResult RunChains(const Problem& problem, const PlannerOptions& options,
                        const LocalContext& context, const std::vector<ChainSpec>& chains,
                        const RoundsOptions& rounds);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_ROUNDS_H_
