#include "torch_api/library_planner.h"

#include <placewright/learned_planners.h>

#include <utility>

#include "torch_api/planner_service.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

// A run, and what it needs alive.
class RunInLibrary : public PlannerRun {
 public:
  RunInLibrary(TorchLibrary library, std::unique_ptr<Planner> planner)
      : library_(std::move(library)), planner_(std::move(planner)) {}

  Status Start(const Problem& problem, Evaluator& evaluator, const PlannerOptions& options) {
    PW_ASSIGN(run_, planner_->AsIterative()->Start(problem, evaluator, options));
    return Ok();
  }
  bool Advance(int64_t max_moves) override { return run_->Advance(max_moves); }
  void Offer(const Score& score, const StepPlan& plan) override { run_->Offer(score, plan); }
  const PlannerResult& result() const override { return run_->result(); }
  Status Finish() override { return run_->Finish(); }

 private:
  TorchLibrary library_;  // closed last
  std::unique_ptr<Planner> planner_;
  std::unique_ptr<PlannerRun> run_;
};

class LibraryPlanner : public IterativePlanner {
 public:
  LibraryPlanner(const LearnedAlgorithm& algorithm, PlannerSettings settings)
      : algorithm_(algorithm), settings_(std::move(settings)) {}

  std::string_view name() const override { return algorithm_.name; }
  std::string_view description() const override { return algorithm_.description; }
  const SettableAlgorithm* settable() const override { return &algorithm_; }
  PlanSpace space() const override {
    return algorithm_.strategies ? PlanSpace::kReplicated : PlanSpace::kPlaced;
  }
  bool in_auto() const override { return false; }
  bool on_calling_thread() const override { return true; }
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override {
    Result<std::unique_ptr<PlannerRun>> run = StartInLibrary(problem, evaluator, options);
    if (run.ok() || run.error().code != ErrorCode::kPlanMismatch) return run;
    return std::move(run).InFile(settings_.policy_file);
  }

 private:
  Result<std::unique_ptr<PlannerRun>> StartInLibrary(const Problem& problem, Evaluator& evaluator,
                                                     const PlannerOptions& options) const {
    PW_ASSIGN(TorchLibrary library, TorchLibrary::Open(TorchLibrary::Part::kLearn));
    const PlannerService* const service = library.api().planners();
    if (service == nullptr) {
      return MakeError(ErrorCode::kMissingRuntime, library.path() + " offers no planners");
    }
    PW_ASSIGN(std::unique_ptr<Planner> planner, service->MakePlanner(name(), settings_));
    auto run = std::make_unique<RunInLibrary>(std::move(library), std::move(planner));
    PW_RETURN_IF_ERROR(run->Start(problem, evaluator, options));
    return std::unique_ptr<PlannerRun>(std::move(run));
  }

  const LearnedAlgorithm& algorithm_;
  PlannerSettings settings_;
};

}  // namespace

std::shared_ptr<const Planner> MakeLibraryPlanner(const LearnedAlgorithm& algorithm,
                                                  const PlannerSettings& settings) {
  return std::make_shared<const LibraryPlanner>(algorithm, settings);
}

std::vector<std::shared_ptr<const Planner>> LearnedPlanners(
    const std::vector<std::string>& settings) {
  PlannerTable table;
  for (const LearnedAlgorithm& algorithm : LearnedAlgorithms()) {
    if (algorithm.torch) table.push_back(MakeLibraryPlanner(algorithm, {.agent = settings}));
  }
  return table;
}

}  // namespace placewright
