// The entry of libplacewright_torch_learn.so: the learned planners.
#include "aten/torch_version.h"
#include "learn/heterog/heterog_planner.h"
#include "learn/heterog/heterog_training.h"
#include "learn/planner/learned_planner.h"
#include "learn/planner/shared_training.h"
#include "learn/tag/tag_training.h"
#include "search/tag/tag_planner.h"
#include "torch_api/planner_service.h"
#include "torch_api/torch_api.h"

namespace placewright {
namespace {

class LearnedPlanners : public PlannerService {
 public:
  Result<std::unique_ptr<Planner>> MakePlanner(std::string_view algorithm,
                                               const PlannerSettings& settings) const override {
    const LearnedAlgorithm* const learned = FindLearnedAlgorithm(algorithm);
    if (learned == nullptr) {
      return MakeError(ErrorCode::kUnknownName,
                       "this library has no planner \"" + std::string(algorithm) + "\"");
    }
    PW_ASSIGN(AgentSettings agent,
              settings.policy == nullptr
                  ? AgentSettings::Parse(*learned, settings.agent)
                  : AgentSettings::OfPolicy(*learned, *settings.policy, settings.agent));
    if (learned->strategies) {
      return std::unique_ptr<Planner>(
          std::make_unique<HeterogPlanner>(std::move(agent), settings.policy));
    }
    return std::unique_ptr<Planner>(
        std::make_unique<LearnedPlanner>(std::move(agent), settings.policy));
  }
  Result<std::unique_ptr<PolicyTraining>> StartTraining(
      const AgentSettings& settings, const TrainingRequest& request) const override {
    if (settings.algorithm().name == TagAlgorithm().name) {
      return TagTraining::Start(settings, request);
    }
    if (FindLearnedAlgorithm(settings.algorithm().name)->strategies) {
      return HeterogTraining::Start(settings, request);
    }
    return SharedTraining::Start(settings, request);
  }
};

class LearnLibraryApi : public TorchApi {
 public:
  int version() const override { return kVersion; }
  std::string libtorch_version() const override { return kTorchVersion; }
  int cuda_devices() const override { return 0; }
  const PlannerService* planners() const override { return &planners_; }

 private:
  LearnedPlanners planners_;
};

}  // namespace
}  // namespace placewright

extern "C" const placewright::TorchApi* placewright_torch_api() {
  static const placewright::LearnLibraryApi api;
  return &api;
}
