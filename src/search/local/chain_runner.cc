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
      bound_(LowerBound(problem)) {
  best_ = chains.front().start;
  for (const ChainSpec& chain : chains) {
    if (chain.start.score < best_.score) best_ = chain.start;
    const Random random = Random(options.seed).Fork(static_cast<uint64_t>(chains_.size()));
    chains_.push_back(
        std::make_unique<Annealer>(context, evaluator, chain.start.devices, random, chain.options));
  }
  result_.algorithm = how.algorithm;
  Record();
}

bool ChainRunner::Advance() {
  if (Done()) return false;
  try {
    RunRound();
    Record();
    if (how_.share_best) Offer(best_);
  } catch (const std::bad_alloc&) {  // the best so far is worth more than an error
    chains_.clear();
    result_.out_of_memory = true;
  }
  return !Done();
}

void ChainRunner::Offer(const ScoredPlacement& start) {
  for (auto& chain : chains_) chain->Offer(start.score, start.devices);
}

bool ChainRunner::Done() const {
  if (result_.out_of_memory) return true;
  if (options_.budget.iterations && result_.iterations >= *options_.budget.iterations) return true;
  const Nanos step_time(best_.score.step_time);
  if (best_.score.feasible && ProvesOptimal(bound_, PlanSpace::kPlaced, step_time)) return true;
  const int64_t in_vain = result_.iterations - improved_at_;
  return how_.patience > 0 && in_vain >= std::max(how_.patience, result_.iterations / 2);
}

void ChainRunner::RunRound() {
  const int64_t share = MovesPerRound(problem_);
  int64_t left = share * count_;
  if (options_.budget.iterations) {
    left = std::min(left, *options_.budget.iterations - result_.iterations);
  }
  result_.iterations += left;
  pool_.ParallelFor(count_,
                    [&](int c) { chains_[c]->Run(left / count_ + (c < left % count_ ? 1 : 0)); });
}

void ChainRunner::Record() {
  bool changed = result_.placement.empty();
  for (const auto& chain : chains_) {
    if (!(chain->best_score() < best_.score)) continue;
    best_ = {chain->best_score(), chain->best()};
    improved_at_ = result_.iterations;
    changed = true;
  }
  if (changed) {
    result_.feasible = best_.score.feasible;
    result_.step_time = Nanos(best_.score.step_time);
    result_.placement = ExpandGroups(problem_, best_.devices);
  }
  const bool better =
      best_.score.feasible &&
      (result_.history.empty() || best_.score.step_time < result_.history.back().step_time.count);
  ReportProgress(better);
  if (!better) return;
  const double seconds = SecondsSince(options_.started);
  if (!result_.first_feasible_seconds) result_.first_feasible_seconds = seconds;
  result_.history.push_back(
      {result_.iterations, seconds, Nanos(best_.score.step_time), result_.algorithm});
}

void ChainRunner::ReportProgress(bool better) {
  if (!options_.progress) return;
  const Clock::time_point now = Clock::now();
  if (!better && now - reported_ < std::chrono::milliseconds(250)) return;
  reported_ = now;
  options_.progress(
      {result_.algorithm, result_.iterations, Nanos(best_.score.step_time), best_.score.feasible});
}

}  // namespace placewright
