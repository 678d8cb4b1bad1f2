// Stands in for the library of the starred modules: a planner and an evaluator of its own.
#include <algorithm>

#include "search/evaluation/group_placement.h"
#include "search/evaluation/plan_result.h"
#include "torch_api/capture_service.h"
#include "torch_api/evaluator_service.h"
#include "torch_api/planner_service.h"
#include "torch_api/torch_api.h"

namespace placewright {
namespace {

// Everything on the last device.
class LastDevice : public Planner {
 public:
  std::string_view name() const override { return "stub-last"; }
  std::string_view description() const override { return "everything on the last device"; }
  bool iterative() const override { return false; }
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override {
    GroupPlacement devices;
    for (const ColocationGroup& group : problem.groups) {
      devices.push_back(group.allowed.back());
    }
    PW_ASSIGN(const Score score, EvaluateGroups(problem, devices, evaluator));
    return MakeResult(problem, name(), devices, score, options);
  }
};

// A step takes as many nanoseconds as it has ops, wherever they are.
class CountingEvaluator : public Evaluator {
 public:
  std::vector<Evaluation> Evaluate(std::span<const Placement> candidates,
                                   const EvaluationOptions&) override {
    std::vector<Evaluation> results(candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
      results[i].feasible = true;
      results[i].step_time = Nanos(static_cast<int64_t>(candidates[i].size()));
    }
    return results;
  }
  std::unique_ptr<MoveEvaluator> StartMoves(size_t) override { return nullptr; }
  std::unique_ptr<Evaluator> ForProblem(const Problem&, int) const override {
    return std::make_unique<CountingEvaluator>();
  }
};

class Planners : public PlannerService {
  Result<std::unique_ptr<Planner>> MakePlanner(std::string_view,
                                               const PlannerSettings&) const override {
    return std::unique_ptr<Planner>(std::make_unique<LastDevice>());
  }
  Result<std::unique_ptr<PolicyTraining>> StartTraining(const AgentSettings&,
                                                        const TrainingRequest&) const override {
    return MakeError(ErrorCode::kUsage, "a stub trains nothing");
  }
};

class Evaluators : public EvaluatorService {
  Result<std::unique_ptr<Evaluator>> MakeMeasuringEvaluator(const Problem&) const override {
    return std::unique_ptr<Evaluator>(std::make_unique<CountingEvaluator>());
  }
};

class StubApi : public TorchApi {
 public:
  int version() const override { return kVersion; }
  std::string libtorch_version() const override { return "0.0.0"; }
  int cuda_devices() const override { return 0; }
  const PlannerService* planners() const override { return &planners_; }
  const EvaluatorService* evaluators() const override { return &evaluators_; }

 private:
  Planners planners_;
  Evaluators evaluators_;
};

}  // namespace
}  // namespace placewright

extern "C" const placewright::TorchApi* placewright_torch_api() {
  static const placewright::StubApi api;
  return &api;
}
