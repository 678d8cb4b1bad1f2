#include "cli/bench/rescoring.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/random.h"
#include "cli/bench/seed_runs.h"
#include "cli/request/planning.h"

namespace placewright {
namespace {

constexpr double kPerturbation = 0.2;

CostTable Perturbed(const CostTable& costs, Random random) {
  CostTable perturbed = costs;
  for (size_t i = 0; i < costs.op_count(); ++i) {
    const OpId op(i);
    const double factor = 1 + kPerturbation * (2 * random.Unit() - 1);
    for (size_t d = 0; d < costs.device_count(); ++d) {
      const DeviceId device(d);
      if (!costs.Supports(op, device)) continue;
      const auto time = static_cast<double>(costs.time(op, device).count);
      perturbed.SetTime(op, device, Nanos(std::llround(time * factor)));
    }
  }
  return perturbed;
}

using Pair = std::pair<const StudyRun*, const StudyRun*>;

// Of one seed each, where both found something that fits.
std::vector<Pair> PairsOf(const StudyClaim& claim, int64_t samples, const TableResult& result) {
  const size_t model = claim.models.front();
  const std::vector<const StudyRun*>& less = result.cells[model][claim.less].runs;
  const std::vector<const StudyRun*>& more = result.cells[model][claim.more].runs;
  std::vector<Pair> pairs;
  for (size_t seed = 0; seed < std::min(less.size(), more.size()); ++seed) {
    if (less[seed] == nullptr || more[seed] == nullptr) continue;
    if (!less[seed]->BestWithin(samples) || !more[seed]->BestWithin(samples)) continue;
    pairs.emplace_back(less[seed], more[seed]);
  }
  return pairs;
}

using Steps = std::map<const StudyRun*, double>;  // none of what does not fit

// -1, 0 or 1 as the geometric mean of the ratios is below 1, 1 or above; none where a placement does
// not fit.
std::optional<int> OrderOf(const std::vector<Pair>& pairs, const Steps& steps) {
  double sum = 0;
  for (const auto& [less, more] : pairs) {
    const auto a = steps.find(less), b = steps.find(more);
    if (a == steps.end() || b == steps.end()) return std::nullopt;
    sum += std::log(a->second / b->second);
  }
  return (sum > 0) - (sum < 0);
}

class Model {
 public:
  static Result<Model> Of(const std::vector<Pair>& pairs) {
    Model model;
    const RunKey& key = pairs.front().first->key;
    PW_ASSIGN(model.planning_, PrepareRun(key));
    for (const auto& [less, more] : pairs) {
      for (const StudyRun* run : {less, more}) {
        if (model.placements_.contains(run)) continue;
        PW_ASSIGN(model.placements_[run], PlacementOfRun(model.planning_->problem(), *run));
      }
    }
    return model;
  }

  // Under the costs as they are.
  Steps StepsOf() { return StepsOf(planning_->prepared->evaluator()); }
  Result<Steps> StepsUnder(const Random& random) {
    const Problem& problem = planning_->problem();
    const CostTable costs = Perturbed(*problem.costs, random);
    PW_ASSIGN(const Problem variant, BuildProblem(*problem.graph, *problem.cluster, costs,
                                                  problem.constraints, problem.policy));
    return StepsOf(*planning_->prepared->evaluator().ForProblem(variant, 1));
  }

 private:
  Steps StepsOf(Evaluator& evaluator) const {
    Steps steps;
    for (const auto& [run, placement] : placements_) {
      const Evaluation evaluation = evaluator.EvaluateOne(placement);
      if (evaluation.feasible) steps[run] = Seconds(evaluation.step_time);
    }
    return steps;
  }

  std::unique_ptr<Planning> planning_;
  std::map<const StudyRun*, Placement> placements_;
};

}  // namespace

Status RescoreWinners(const StudyTable& table, int draws, const Budget& budget, Console& console,
                      TableResult& result) {
  for (size_t model = 0; model < table.models.size(); ++model) {
    std::vector<size_t> claims;
    std::vector<std::vector<Pair>> pairs;
    std::vector<Pair> all;
    for (size_t i = 0; i < table.claims.size(); ++i) {
      const StudyClaim& claim = table.claims[i];
      if (claim.models != std::vector{model}) continue;
      if (claim.measure != StudyClaim::Measure::kBest) continue;
      std::vector<Pair> of_claim = PairsOf(claim, table.models[model].samples, result);
      if (of_claim.empty()) continue;
      claims.push_back(i);
      all.insert(all.end(), of_claim.begin(), of_claim.end());
      pairs.push_back(std::move(of_claim));
    }
    if (claims.empty()) continue;
    PW_ASSIGN(Model winners, Model::Of(all));
    const Steps unperturbed = winners.StepsOf();
    std::vector<int> same(claims.size());
    for (int draw = 0; draw < draws; ++draw) {
      if (budget.Expired()) return Ok();
      console.Progress(
          fmt::format("{}: {} of {} draws of costs", table.models[model].label, draw, draws));
      PW_ASSIGN(const Steps steps, winners.StepsUnder(Random(0).Fork(static_cast<uint64_t>(draw))));
      for (size_t i = 0; i < claims.size(); ++i) {
        const std::optional<int> order = OrderOf(pairs[i], steps);
        if (order && order == OrderOf(pairs[i], unperturbed)) ++same[i];
      }
    }
    for (size_t i = 0; i < claims.size(); ++i) {
      result.claims[claims[i]].holds = static_cast<double>(same[i]) / draws;
    }
  }
  return Ok();
}

}  // namespace placewright
