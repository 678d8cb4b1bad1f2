#include "search/local/rounds.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>

#include "base/thread_pool.h"

namespace placewright {
namespace {

// Simulated ops that one chain's share of a round may take: some ten milliseconds.
int64_t MovesPerRound(const Problem& problem) {
  return std::clamp<int64_t>(40'000 / std::max(1, problem.program.ops), 2, 400);
}

class Rounds {
 public:
  Rounds(const Problem& problem, const PlannerOptions& options, const LocalContext& context,
         const std::vector<ChainSpec>& chains, const RoundsOptions& rounds)
      : problem_(problem),
        options_(options),
        rounds_(rounds),
        count_(static_cast<int>(chains.size())),
        pool_(std::clamp(options.threads, 1, count_)),  // more would have nothing to do
        bound_(LowerBound(problem).value.count) {
    best_ = chains.front().start;
    for (const ChainSpec& chain : chains) {
      if (chain.start.score < best_.score) best_ = chain.start;
      const Random random = Random(options.seed).Fork(static_cast<uint64_t>(chains_.size()));
      chains_.push_back(
          std::make_unique<Annealer>(context, chain.start.devices, random, chain.options));
    }
    result_.algorithm = rounds.algorithm;
    Record();
  }

  PlannerResult Run() {
    try {
      while (!Done()) {
        RunRound();
        Record();
        ++round_;
        for (auto& chain : chains_) {
          if (rounds_.share_best) chain->Offer(best_.score, best_.devices);
        }
      }
    } catch (const std::bad_alloc&) {  // the best so far is worth more than an error
      chains_.clear();
      result_.out_of_memory = true;
    }
    result_.feasible = best_.score.feasible;
    result_.step_time = Nanos(best_.score.step_time);
    result_.placement = ExpandUnits(problem_, best_.devices);
    return std::move(result_);
  }

 private:
  bool Done() const {
    if (options_.budget.iterations && result_.iterations >= *options_.budget.iterations) {
      return true;
    }
    if (best_.score.feasible && best_.score.step_time <= bound_) return true;  // proven optimal
    const int64_t in_vain = result_.iterations - improved_at_;
    if (rounds_.patience > 0 && in_vain >= std::max(rounds_.patience, result_.iterations / 2)) {
      return true;
    }
    // There is always one round, so that the number of moves repeats the plan. Without any limit
    // there is nothing to stop the search: one round is as good as any.
    const bool limited = options_.budget.iterations || options_.budget.deadline;
    return round_ > 0 && (options_.budget.Expired() || !limited);
  }

  void RunRound() {
    const int64_t share = MovesPerRound(problem_);
    int64_t left = share * count_;
    if (options_.budget.iterations) {
      left = std::min(left, *options_.budget.iterations - result_.iterations);
    }
    result_.iterations += left;
    pool_.ParallelFor(count_,
                      [&](int c) { chains_[c]->Run(left / count_ + (c < left % count_ ? 1 : 0)); });
  }

  void Record() {
    for (const auto& chain : chains_) {
      if (!(chain->best_score() < best_.score)) continue;
      best_ = {chain->best_score(), chain->best()};
      improved_at_ = result_.iterations;
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

  void ReportProgress(bool better) {
    if (!options_.progress) return;
    const Clock::time_point now = Clock::now();
    if (!better && now - reported_ < std::chrono::milliseconds(250)) return;
    reported_ = now;
    options_.progress({result_.algorithm, result_.iterations, Nanos(best_.score.step_time),
                       best_.score.feasible});
  }

  const Problem& problem_;
  const PlannerOptions& options_;
  const RoundsOptions rounds_;
  const int count_;
  ThreadPool pool_;
  std::vector<std::unique_ptr<Annealer>> chains_;
  const int64_t bound_;
  Start best_;
  PlannerResult result_;
  int64_t round_ = 0, improved_at_ = 0;
  Clock::time_point reported_;
};

}  // namespace

PlannerResult RunChains(const Problem& problem, const PlannerOptions& options,
                        const LocalContext& context, const std::vector<ChainSpec>& chains,
                        const RoundsOptions& rounds) {
  return Rounds(problem, options, context, chains, rounds).Run();
}

}  // namespace placewright
