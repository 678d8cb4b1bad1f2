#include "search/local/chain_runner.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "search/evaluation/plan_result.h"

namespace placewright {
namespace {

// Evaluated ops that one chain's share of a round may take: some ten milliseconds.
int64_t MovesPerRound(const Problem& problem) {
  return std::clamp<int64_t>(40'000 / std::max(1, problem.sim_graph.ops), 2, 400);
}

}  // namespace

ChainRunner::ChainRunner(const Problem& problem, Evaluator& evaluator,
                         const PlannerOptions& options, const LocalContext& context,
                         const std::vector<ChainSpec>& chains, const ChainRunnerOptions& how)
    : problem_(problem),
      options_(options),
      how_(how),
      count_(static_cast<int>(chains.size())),
      pool_(std::clamp(options.threads, 1, count_)),  // more would have nothing to do
      bound_(options.bound ? *options.bound : LowerBound(problem)),
      record_(problem, options_, how.algorithm) {
  best_ = chains.front().start;
  for (const ChainSpec& chain : chains) {
    if (chain.start.score < best_.score) best_ = chain.start;
    const Random random = Random(options.seed).Fork(static_cast<uint64_t>(chains_.size()));
    chains_.push_back(
        std::make_unique<Annealer>(context, evaluator, chain.start.devices, random, chain.options));
  }
  Record();
}

bool ChainRunner::Advance(int64_t max_moves) {
  if (Done()) return false;
  try {
    RunRound(max_moves);
    Record();
    if (how_.share_best) Offer(best_);
  } catch (const std::bad_alloc&) {  // the best so far is worth more than an error
    chains_.clear();
    record_.result.out_of_memory = true;
  }
  return !Done();
}

void ChainRunner::Offer(const ScoredPlacement& start) {
  for (auto& chain : chains_) chain->Offer(start.score, start.devices);
}

bool ChainRunner::Done() const {
  if (record_.result.out_of_memory) return true;
  if (options_.budget.iterations && record_.result.iterations >= *options_.budget.iterations)
    return true;
  const Nanos step_time(best_.score.step_time);
  if (best_.score.feasible && ProvesOptimal(bound_, PlanSpace::kPlaced, step_time)) return true;
  const int64_t in_vain = record_.result.iterations - improved_at_;
  return how_.patience > 0 && in_vain >= std::max(how_.patience, record_.result.iterations / 2);
}

void ChainRunner::RunRound(int64_t max_moves) {
  const int64_t share = MovesPerRound(problem_);
  int64_t left = std::min(share * count_, max_moves);
  if (options_.budget.iterations) {
    left = std::min(left, *options_.budget.iterations - record_.result.iterations);
  }
  record_.result.iterations += left;
  pool_.ParallelFor(count_,
                    [&](int c) { chains_[c]->Run(left / count_ + (c < left % count_ ? 1 : 0)); });
}

void ChainRunner::Record() {
  bool changed = false;
  for (const auto& chain : chains_) {
    if (!(chain->best_score() < best_.score)) continue;
    best_ = {chain->best_score(), chain->best()};
    improved_at_ = record_.result.iterations;
    changed = true;
  }
  record_.Update(best_, changed);
}

}  // namespace placewright
