#include "search/local/local_search.h"

#include <algorithm>

#include "search/evaluation/plan_result.h"
#include "search/local/chain_runner.h"
#include "search/local/first_plans.h"
#include "search/local/initial_placements.h"
#include "search/local/local_run.h"
#include "search/proof/enumeration.h"

namespace placewright {
namespace {

constexpr size_t kChains = 4;

int64_t CutPairs(const LocalContext& context, const GroupPlacement& devices) {
  int64_t cut = 0;
  for (ColocationGroupId u : IdsOf(devices)) {
    for (ColocationGroupId other : context.neighbours[u]) cut += devices[u] != devices[other];
  }
  return cut;
}

// The start of every chain, from starts, the best first: in turn the next best, and of
// those at most a tenth slower than the best the one that cuts fewest pairs of groups. Plans of few
// cuts are simpler, and search often improves them further.
std::vector<size_t> ChainStarts(const LocalContext& context,
                                const std::vector<ScoredPlacement>& starts) {
  std::vector<std::pair<int64_t, size_t>> by_cut;
  const Score& best = starts.front().score;
  for (size_t i = 0; i < starts.size(); ++i) {
    const Score& score = starts[i].score;
    const bool near = score.over <= best.over && score.step_time <= best.step_time / 10 * 11;
    if (near) by_cut.emplace_back(CutPairs(context, starts[i].devices), i);
  }
  std::sort(by_cut.begin(), by_cut.end());
  std::vector<size_t> chosen;
  std::vector<char> taken(starts.size(), 0);
  for (size_t c = 0; c < kChains; ++c) {
    size_t pick = c % starts.size();  // of fewer starts than chains some lead several
    if (c % 2 == 0) {
      const auto free = std::find(taken.begin(), taken.end(), 0);
      if (free != taken.end()) pick = static_cast<size_t>(free - taken.begin());
    } else {
      for (const auto& [cut, i] : by_cut) {
        pick = i;
        if (!taken[i]) break;
      }
    }
    taken[pick] = 1;
    chosen.push_back(pick);
  }
  return chosen;
}

// Where everything on one accelerator does not fit, no other start leads to what search makes of
// it.
void StartOneFromAllOnFastest(const PlacerInput& input, Evaluator& evaluator, ChainSpec& chain) {
  GroupPlacement devices = AllOnFastest(input.candidates);
  const Result<Score> score = EvaluateGroups(input.problem, devices, evaluator);
  if (score.ok() && !score.value().feasible) chain.start = {score.value(), std::move(devices)};
}

}  // namespace

Result<std::unique_ptr<PlannerRun>> LocalSearchPlanner::Start(const Problem& problem,
                                                              Evaluator& evaluator,
                                                              const PlannerOptions& options) const {
  auto local = std::make_unique<LocalProblem>(problem, CandidateScope::kAll);
  CandidateDevices mutual;
  const std::vector<PlacerInput> inputs = InputsOf(*local, options.seed, &mutual);
  std::optional<Enumeration> all;
  if (enumerates_) all = EnumeratePlacements(problem, evaluator);
  const GroupPlacement* known = all && all->legal ? &all->best_device : nullptr;
  PW_ASSIGN(std::vector<ScoredPlacement> starts, FindFirstPlans(inputs, evaluator, options, known));
  const auto finish = [&](const ScoredPlacement& start) {
    return std::unique_ptr<PlannerRun>(std::make_unique<FinishedRun>(
        MakeResult(problem, name(), start.devices, start.score, options)));
  };
  if (!local->HasChoice() || all || options.budget.Expired() || options.budget.iterations == 0) {
    return finish(starts.front());
  }
  const ScoredPlacement first = starts.front();
  for (const PlacerInput& input : inputs) {
    // Plans that are not connected are left out.
    static_cast<void>(
        AddPlans(input, evaluator, PlansOnParts(input, options.budget, options.threads), starts));
  }
  // No move was made: what no move repeats must not know of the further starts.
  if (options.budget.Expired()) return finish(first);
  local->MakeContext();
  const LocalContext& context = *local->context;
  static constexpr int32_t kTemperature[kChains] = {2, 4, 8, 1};
  static constexpr int64_t kFirstEpoch[kChains] = {500, 595, 707, 841};  // apart by 2^(1/4)
  const std::vector<size_t> chain_starts = ChainStarts(context, starts);
  std::vector<ChainSpec> chains(kChains);
  for (size_t c = 0; c < kChains; ++c) {
    chains[c].start = starts[chain_starts[c]];
    chains[c].options.temperature_per_mille = kTemperature[c];
    chains[c].options.first_epoch = kFirstEpoch[c];
  }
  StartOneFromAllOnFastest(inputs.front(), evaluator, chains[2]);
  return std::unique_ptr<PlannerRun>(std::make_unique<LocalRun>(
      std::move(local), evaluator, options, chains, ChainRunnerOptions{name()}));
}

}  // namespace placewright
