#include "cli/request/learned_planners.h"

#include <fmt/format.h>

#include <utility>

#include "cli/request/policies.h"
#include "placeto/planner/placeto_planner.h"
#include "search/tag/tag_planner.h"
#include "torch_api/learned_algorithms.h"
#include "torch_api/library_planner.h"
#include "torch_api/planner_service.h"
#include "torch_api/torch_library.h"

namespace placewright {

PlannerTable LearnedPlanners(const PlannerSettings& settings) {
  PlannerTable table;
  for (const LearnedAlgorithm& algorithm : LearnedAlgorithms()) {
    if (algorithm.torch) {
      table.push_back(MakeLibraryPlanner(algorithm, settings));
    } else if (algorithm.name == TagAlgorithm().name) {
      table.push_back(std::make_shared<const TagPlanner>(settings));
    } else {
      table.push_back(MakePlacetoPlanner(settings));
    }
  }
  return table;
}

Result<TrainingStarter> TrainingStarter::Make(const LearnedAlgorithm& algorithm) {
  TrainingStarter starter;
  if (!algorithm.torch_training) return starter;
  PW_ASSIGN(TorchLibrary library, TorchLibrary::Open(TorchLibrary::Part::kLearn));
  if (library.api().planners() == nullptr) {
    return MakeError(ErrorCode::kMissingRuntime, library.path() + " trains no planners");
  }
  starter.library_ = std::make_shared<const TorchLibrary>(std::move(library));
  return starter;
}

Result<OpenTraining> TrainingStarter::Start(const AgentSettings& settings,
                                            const TrainingRequest& request) const {
  OpenTraining open{library_, nullptr};
  if (library_ == nullptr) {
    PW_ASSIGN(open.training, StartPlacetoTraining(settings, request));
  } else {
    PW_ASSIGN(open.training, library_->api().planners()->StartTraining(settings, request));
  }
  return open;
}

namespace {

Error NotLearned(std::string_view algorithm) {
  std::string names;
  for (const LearnedAlgorithm& one : LearnedAlgorithms()) {
    names += (names.empty() ? "" : ", ") + one.name;
  }
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("--policy cannot be used with --algo {}, which learns nothing", algorithm), "",
      "Leave --policy out, or choose a learned planner: " + names + ".");
}

}  // namespace

Result<std::string> LoadAgentPolicy(std::string_view algorithm, const std::string& policy,
                                    PlannerSettings* settings) {
  const LearnedAlgorithm* const learned = FindLearnedAlgorithm(algorithm);
  if (learned == nullptr) {
    if (policy.empty()) return std::string();
    return NotLearned(algorithm);
  }
  if (policy == "none") {
    settings->untrained = true;
    return std::string();
  }
  if (!policy.empty()) {
    PW_ASSIGN(NamedPolicy loaded, LoadNamedPolicy(policy));
    settings->policy = loaded.policy;
    settings->policy_file = loaded.path;
    return std::move(loaded.path);
  }
  const std::string shipped = ShippedPolicy(learned->name);
  if (shipped.empty()) return shipped;
  PW_ASSIGN(const NamedPolicy loaded, LoadNamedPolicy(shipped));
  if (auto as_it_is = AgentSettings::OfPolicy(*learned, *loaded.policy, {}); !as_it_is.ok()) {
    Error error = std::move(as_it_is).InFile(loaded.path).error();
    error.remedy += " Or leave it out: --policy none.";
    return error;
  }
  auto of_policy = AgentSettings::OfPolicy(*learned, *loaded.policy, settings->agent);
  if (learned->strategies && !of_policy.ok()) {
    Error error = std::move(of_policy).InFile(loaded.path).error();
    error.remedy += " Or plan without it: --policy none, or --policy FILE.";
    return error;
  }
  // It was not asked for: only where it serves any cluster, and no setting asks for another.
  const bool serves =
      of_policy.ok() && (learned->strategies || (of_policy.value().Has("devices") &&
                                                 of_policy.value().Is("devices", "described")));
  if (!serves) return std::string();
  settings->policy = loaded.policy;
  settings->policy_file = loaded.path;
  return loaded.path;
}

Status CheckAgentSettings(const Planner& planner, const PlannerSettings& settings) {
  if (settings.agent.empty()) return Ok();
  const SettableAlgorithm* const settable = planner.settable();
  if (settable == nullptr) {
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("--set cannot be used with --algo {}, which has no settings", planner.name()),
        "", "Leave --set out; `placewright explain ALGO` says what an algorithm can be set.");
  }
  PW_ASSIGN(const AgentSettings parsed, AgentSettings::Parse(*settable, settings.agent));
  for (const AgentSetting& setting : settable->settings) {
    if (!parsed.Changed(setting.name) || !setting.meaning.starts_with("train:")) continue;
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("--set {} changes nothing here: it is of `train` alone", setting.name), "",
        "Leave it out, or train a policy with `placewright train`.");
  }
  return Ok();
}

}  // namespace placewright
