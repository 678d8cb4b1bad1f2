// Several chains of annealing in rounds: a fixed number of moves for every chain, then the best
// plan is recorded and, if chains share, handed to all. Nothing depends on the number of threads or
// on time, and the recorded number of moves repeats a run that a time limit ended.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_CHAIN_RUNNER_H_
#define PLACEWRIGHT_SEARCH_LOCAL_CHAIN_RUNNER_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "search/evaluation/run_record.h"
#include "search/local/annealer.h"
#include "search/planner.h"
#include "search/proof/bound.h"

namespace placewright {

struct ChainSpec {
  ScoredPlacement start;
  AnnealerOptions options;
};

struct ChainRunnerOptions {
  std::string_view algorithm;
  bool share_best = true;
  // Ends when half of all moves, and at least this many, have brought no better plan; 0: never.
  int64_t patience = 0;
};

class ChainRunner {
 public:
  // At least one chain. All references must outlive it.
  ChainRunner(const Problem& problem, Evaluator& evaluator, const PlannerOptions& options,
              const LocalContext& context, const std::vector<ChainSpec>& chains,
              const ChainRunnerOptions& how);

  // One round: PlannerRun::Advance. False once the iteration budget is used up, the best plan
  // reaches the lower bound, patience is at its end, or memory ran out.
  bool Advance(int64_t max_moves);
  void Offer(const ScoredPlacement& start);
  const PlannerResult& result() const { return record_.result; }

 private:
  bool Done() const;
  void RunRound(int64_t max_moves);
  void Record();

  const Problem& problem_;
  const PlannerOptions options_;
  const ChainRunnerOptions how_;
  const int count_;
  ThreadPool pool_;
  std::vector<std::unique_ptr<Annealer>> chains_;
  const Bound bound_;
  RunRecord record_;
  ScoredPlacement best_;
  int64_t improved_at_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_CHAIN_RUNNER_H_
