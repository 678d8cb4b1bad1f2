#include "bench/harness/runs/rescoring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/random.h"
#include "bench/harness/runs/seed_runs.h"
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

// Runs of others keep no plans.
bool HasPlacements(const StudyMethod& method) {
  using enum StudyMethod::Kind;
  return method.kind != kStrategies && method.kind != kFit;
}

// Pairs that the claim compares on that model; none where one of them found nothing that fits.
std::vector<RunPair> ComparedPairs(const StudyTable& table, const StudyClaim& claim, size_t model,
                                   const TableResult& result) {
  const int64_t samples = table.models[model].samples;
  std::vector<RunPair> pairs;
  for (const auto& [less, more] : PairsOfRuns(table, claim, result.cells[model])) {
    const bool less_fits = less->BestWithin(samples).has_value(),
               more_fits = more->BestWithin(samples).has_value();
    if (less_fits && more_fits) pairs.emplace_back(less, more);
    if (!less_fits && more_fits && claim.models.size() > 1) return {};
  }
  return pairs;
}

using Steps = std::map<const StudyRun*, double>;  // none of what does not fit

// The mean logarithm of the ratios; none where a placement does not fit.
std::optional<double> MeanLogarithm(const std::vector<RunPair>& pairs, const Steps& steps) {
  double sum = 0;
  for (const auto& [less, more] : pairs) {
    const auto a = steps.find(less), b = steps.find(more);
    if (a == steps.end() || b == steps.end()) return std::nullopt;
    sum += std::log(a->second / b->second);
  }
  return sum / static_cast<double>(pairs.size());
}

// Of a claim, over the models seen so far: sums of MeanLogarithm without draws, and under each.
struct Rescored {
  bool any = false;
  bool other = false;  // a model's runs are of another recording
  std::optional<double> given = 0;
  std::vector<std::optional<double>> drawn;
};

void AddTo(std::optional<double>& sum, std::optional<double> value) {
  sum = sum && value ? std::optional(*sum + *value) : std::nullopt;
}

int SignOf(double value) { return (value > 0) - (value < 0); }

// The share of draws with the sign of `given`.
double SameOrder(const Rescored& claim) {
  const auto same =
      std::count_if(claim.drawn.begin(), claim.drawn.end(), [&](const std::optional<double>& sum) {
        return sum && claim.given && SignOf(*sum) == SignOf(*claim.given);
      });
  return static_cast<double>(same) / static_cast<double>(claim.drawn.size());
}

class Model {
 public:
  Model() = default;  // without a run
  static Result<Model> Of(const std::vector<RunPair>& pairs) {
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
  Steps StepsOf() { return StepsOf(planning_->prepared().evaluator()); }
  Result<Steps> StepsUnder(const Random& random) {
    const Problem& problem = planning_->problem();
    const CostTable costs = Perturbed(*problem.costs, random);
    PW_ASSIGN(const Problem variant, BuildProblem(*problem.graph, *problem.cluster, costs,
                                                  problem.constraints, problem.policy));
    return StepsOf(*planning_->prepared().evaluator().ForProblem(variant, 1));
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
  std::vector<Rescored> claims(table.claims.size());
  for (Rescored& claim : claims) claim.drawn.assign(static_cast<size_t>(draws), 0);
  for (size_t model = 0; model < table.models.size(); ++model) {
    std::map<size_t, std::vector<RunPair>> pairs;  // by claim
    std::vector<RunPair> all;
    for (size_t i = 0; i < table.claims.size(); ++i) {
      const StudyClaim& claim = table.claims[i];
      if (claim.measure != StudyClaim::Measure::kBest) continue;
      if (std::count(claim.models.begin(), claim.models.end(), model) == 0) continue;
      if (!HasPlacements(table.methods[claim.less]) || !HasPlacements(table.methods[claim.more])) {
        continue;
      }
      const std::vector<RunPair> of_claim = ComparedPairs(table, claim, model, result);
      if (of_claim.empty()) continue;
      all.insert(all.end(), of_claim.begin(), of_claim.end());
      pairs.emplace(i, of_claim);
    }
    Result<Model> made = all.empty() ? Result<Model>(Model()) : Model::Of(all);
    if (!made.ok() && made.error().code != ErrorCode::kPlanMismatch) return made.error();
    if (!made.ok()) {
      console.Note(fmt::format("{}: {}; claims that need it are not held against other costs",
                               table.models[model].label, made.error().message));
      for (const auto& [i, of_claim] : pairs) claims[i].other = true;
    } else if (!pairs.empty()) {
      Model& winners = made.value();
      const auto add = [&](const Steps& steps, const auto& sum_of) {
        for (const auto& [i, of_claim] : pairs) {
          AddTo(sum_of(claims[i]), MeanLogarithm(of_claim, steps));
        }
      };
      add(
          winners.StepsOf(), [](Rescored & claim) -> auto& { return claim.given; });
      for (int draw = 0; draw < draws; ++draw) {
        if (budget.Expired()) return Ok();
        console.Progress(
            fmt::format("{}: {} of {} draws of costs", table.models[model].label, draw, draws));
        const auto number = static_cast<size_t>(draw);
        PW_ASSIGN(const Steps steps, winners.StepsUnder(Random(0).Fork(number)));
        add(
            steps, [&](Rescored & claim) -> auto& { return claim.drawn[number]; });
      }
      for (const auto& [i, of_claim] : pairs) claims[i].any = true;
    }
    // Claims of which this was the last model.
    for (size_t i = 0; i < claims.size(); ++i) {
      const std::vector<size_t>& models = table.claims[i].models;
      const bool ends = !models.empty() && *std::max_element(models.begin(), models.end()) == model;
      if (ends && claims[i].any && !claims[i].other) result.claims[i].holds = SameOrder(claims[i]);
    }
  }
  return Ok();
}

}  // namespace placewright
