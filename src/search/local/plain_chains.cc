#include "search/local/plain_chains.h"

#include <algorithm>

#include "search/constructive/heft.h"
#include "search/constructive/layered.h"
#include "search/constructive/simple.h"
#include "search/expert/expert.h"
#include "search/local/rounds.h"

namespace placewright {
namespace {

constexpr size_t kChains = 4;

struct Setting {
  std::string_view name;
  std::vector<PlaceFunction> starts;
  AnnealerOptions chain;
  RoundsOptions rounds;
};

// Starts in order, each of its own chain; random plans fill up.
Result<std::vector<Start>> StartsOf(const PlacerInput& input, const PlannerOptions& options,
                                    const std::vector<PlaceFunction>& places) {
  std::vector<std::vector<int32_t>> plans;
  if (options.initial) plans.push_back(UnitsOf(input.problem, *options.initial));
  if (options.given) plans.push_back(UnitsOf(input.problem, *options.given));
  if (options.expert) plans.push_back(UnitsOf(input.problem, *options.expert));
  for (const PlaceFunction& place : places) plans.push_back(PlaceConnected(place, input));
  plans.resize(std::min(plans.size(), kChains - 1));
  while (plans.size() < kChains) {
    PlacerInput seeded = input;
    seeded.seed = Random(input.seed).Fork(1000 + plans.size()).Next();
    plans.push_back(PlaceConnected(&PlaceRandom, seeded));
  }
  std::vector<Start> starts;
  std::optional<Error> error;
  Simulator simulator(input.problem.program);
  for (std::vector<int32_t>& devices : plans) {
    Result<Score> score = EvaluateUnits(input.problem, devices, simulator);
    if (score.ok()) {
      starts.push_back({score.value(), std::move(devices)});
    } else {
      error = std::move(score.error());
    }
  }
  if (starts.empty()) return *std::move(error);
  return starts;
}

Result<PlannerResult> PlanByChains(const Problem& problem, const PlannerOptions& options,
                                   const Setting& setting) {
  const OpGraph graph = BuildOpGraph(problem);
  const Domain domain = MakeDomain(problem, graph);
  const std::vector<UnitInfo> units = DescribeUnits(problem, graph);
  const PlacerInput input{problem, graph, domain, units, options.seed, 0};
  PW_ASSIGN(const std::vector<Start> starts, StartsOf(input, options, setting.starts));
  const Start& best =
      *std::min_element(starts.begin(), starts.end(),
                        [](const Start& a, const Start& b) { return a.score < b.score; });
  const bool choice = std::any_of(domain.any.begin(), domain.any.end(),
                                  [](const auto& devices) { return devices.size() > 1; });
  if (!choice || options.budget.Expired() || options.budget.iterations == 0) {
    return MakeResult(problem, setting.name, best.devices, best.score, options);
  }
  const Clusters none(problem, graph, units);
  const LocalContext context = MakeLocalContext(problem, graph, domain, none, units);
  std::vector<ChainSpec> chains;
  for (const Start& start : starts) chains.push_back({start, setting.chain});
  return RunChains(problem, options, context, chains, setting.rounds);
}

}  // namespace

Result<PlannerResult> McmcPlanner::Plan(const Problem& problem,
                                        const PlannerOptions& options) const {
  Setting setting;
  setting.name = name();
  setting.starts = {&PlaceByExpertRules, &PlaceSingle};
  setting.chain.moves = AnnealerOptions::Moves::kOne;
  setting.chain.cooling = AnnealerOptions::Cooling::kConstant;
  setting.chain.heat_per_mille = 2;
  setting.rounds = {name(), false, 4000};
  return PlanByChains(problem, options, setting);
}

Result<PlannerResult> AnnealingPlanner::Plan(const Problem& problem,
                                             const PlannerOptions& options) const {
  Setting setting;
  setting.name = name();
  setting.starts = {&PlaceLayered, &PlaceHeft};
  setting.chain.moves = AnnealerOptions::Moves::kOneOrTwo;
  setting.chain.cooling = AnnealerOptions::Cooling::kRestarts;
  // One unit of many changes the cost by little.
  const auto units = static_cast<int64_t>(problem.units.size());
  setting.chain.heat_per_mille =
      static_cast<int32_t>(std::clamp<int64_t>(1000 / std::max<int64_t>(1, units), 5, 200));
  setting.chain.first_epoch = std::clamp<int64_t>(20 * units, 256, 10'000);
  setting.rounds = {name(), false, 0};
  return PlanByChains(problem, options, setting);
}

}  // namespace placewright
