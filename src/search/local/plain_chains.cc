#include "search/local/plain_chains.h"

#include <algorithm>

#include "search/constructive/heft.h"
#include "search/constructive/layered.h"
#include "search/constructive/simple.h"
#include "search/expert/expert.h"
#include "search/local/chain_runner.h"
#include "search/local/local_run.h"

namespace placewright {
namespace {

constexpr size_t kPlainChains = 4;

struct Setting {
  std::string_view name;
  std::vector<PlaceFunction> starts;
  AnnealerOptions chain;
  ChainRunnerOptions how;
  const Placement* expert = nullptr;  // a start before the others
};

// Starts in order, each of its own chain; random plans fill up.
Result<std::vector<ScoredPlacement>> StartsOf(const PlacerInput& input, Evaluator& evaluator,
                                              const PlannerOptions& options,
                                              const Setting& setting) {
  std::vector<GroupPlacement> plans;
  if (auto initial = InitialGroups(input.problem, options)) plans.push_back(*std::move(initial));
  if (options.given) plans.push_back(GroupsOf(input.problem, *options.given));
  if (setting.expert != nullptr) plans.push_back(GroupsOf(input.problem, *setting.expert));
  for (const PlaceFunction& place : setting.starts) plans.push_back(PlaceConnected(place, input));
  plans.resize(std::min(plans.size(), kPlainChains - 1));
  while (plans.size() < kPlainChains) {
    PlacerInput seeded = input;
    seeded.seed = Random(input.seed).Fork(1000 + plans.size()).Next();
    plans.push_back(PlaceConnected(&PlaceRandom, seeded));
  }
  std::vector<ScoredPlacement> starts;
  std::optional<Error> error;
  for (GroupPlacement& devices : plans) {
    Result<Score> score = EvaluateGroups(input.problem, devices, evaluator);
    if (score.ok()) {
      starts.push_back({score.value(), std::move(devices)});
    } else {
      error = std::move(score.error());
    }
  }
  if (starts.empty()) return *std::move(error);
  return starts;
}

Result<std::unique_ptr<PlannerRun>> StartChains(const Problem& problem, Evaluator& evaluator,
                                                const PlannerOptions& options,
                                                const Setting& setting) {
  auto local = std::make_unique<LocalProblem>(problem, CandidateScope::kMutuallyReachable);
  const PlacerInput input{problem, local->graph, local->candidates, local->groups, options.seed, 0};
  PW_ASSIGN(const std::vector<ScoredPlacement> starts,
            StartsOf(input, evaluator, options, setting));
  const ScoredPlacement& best = *std::min_element(
      starts.begin(), starts.end(),
      [](const ScoredPlacement& a, const ScoredPlacement& b) { return a.score < b.score; });
  if (!local->HasChoice() || options.budget.Expired() || options.budget.iterations == 0) {
    return std::unique_ptr<PlannerRun>(std::make_unique<FinishedRun>(
        MakeResult(problem, setting.name, best.devices, best.score, options)));
  }
  local->MakeContext();
  std::vector<ChainSpec> chains;
  for (const ScoredPlacement& start : starts) chains.push_back({start, setting.chain});
  return std::unique_ptr<PlannerRun>(
      std::make_unique<LocalRun>(std::move(local), evaluator, options, chains, setting.how));
}

}  // namespace

Result<std::unique_ptr<PlannerRun>> McmcPlanner::Start(const Problem& problem, Evaluator& evaluator,
                                                       const PlannerOptions& options) const {
  Setting setting;
  setting.name = name();
  setting.starts = {&PlaceByExpertRules, &PlaceSingle};
  if (expert_) setting.expert = &*expert_;
  setting.chain.moves = AnnealerOptions::Moves::kOne;
  setting.chain.cooling = AnnealerOptions::Cooling::kConstant;
  setting.chain.temperature_per_mille = 2;
  setting.how = {name(), false, 4000};
  return StartChains(problem, evaluator, options, setting);
}

Result<std::unique_ptr<PlannerRun>> AnnealingPlanner::Start(const Problem& problem,
                                                            Evaluator& evaluator,
                                                            const PlannerOptions& options) const {
  Setting setting;
  setting.name = name();
  setting.starts = {&PlaceLayered, &PlaceHeft};
  setting.chain.moves = AnnealerOptions::Moves::kOneOrTwo;
  setting.chain.cooling = AnnealerOptions::Cooling::kRestarts;
  // One group of many changes the cost by little.
  const auto groups = static_cast<int64_t>(problem.groups.size());
  setting.chain.temperature_per_mille =
      static_cast<int32_t>(std::clamp<int64_t>(1000 / std::max<int64_t>(1, groups), 5, 200));
  setting.chain.first_epoch = std::clamp<int64_t>(20 * groups, 256, 10'000);
  setting.how = {name(), false, 0};
  return StartChains(problem, evaluator, options, setting);
}

}  // namespace placewright
