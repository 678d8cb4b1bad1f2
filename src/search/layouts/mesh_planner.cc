// The planners of strategies on meshes: their names, their settings, and what --set makes of these.
#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/agent_settings.h"
#include "search/evaluation/plan_result.h"
#include "search/layouts/layout_devices.h"
#include "search/layouts/mesh_strategies.h"

namespace placewright {

std::string_view NameOf(MeshStrategy strategy) {
  switch (strategy) {
    case MeshStrategy::kTensor: return "tensor";
    case MeshStrategy::kTwoD: return "2d";
    case MeshStrategy::kZero2: return "zero-2";
    case MeshStrategy::kHybridZero2: return "hybrid-zero-2";
    case MeshStrategy::kFsdp: return "fsdp";
    case MeshStrategy::kHsdp: return "hsdp";
    case MeshStrategy::kUlysses: return "ulysses";
    case MeshStrategy::kContext: return "context";
    case MeshStrategy::kExperts: return "experts";
    case MeshStrategy::kZero1: return "zero-1";
  }
  return "";
}

std::string_view DegreeSettingOf(MeshStrategy strategy) {
  switch (strategy) {
    case MeshStrategy::kTensor:
    case MeshStrategy::kTwoD: return "tensor";
    case MeshStrategy::kUlysses:
    case MeshStrategy::kContext: return "context";
    case MeshStrategy::kExperts: return "experts";
    default: return "";
  }
}

namespace {

AgentSetting DegreeSetting(std::string_view name) {
  return IntegerSetting(
      std::string(name), 0, 0, 1024,
      "GPUs of a group, of one host; 0: as many as divide what they share out, 8 at most");
}

AgentSetting ShardsSetting() {
  return WordSetting("shards", {"all", "hosts"},
                     "of parameters: over all GPUs, or over those of each host");
}

AgentSetting CollectivesSetting() {
  return WordSetting("collectives", {"unit", "each"},
                     "of parameters in shards: one gathers those of a layer and one scatters their "
                     "gradients, or each has its own");
}

std::vector<AgentSetting> OwnSettingsOf(MeshStrategy strategy) {
  if (strategy == MeshStrategy::kTensor) {
    std::vector<AgentSetting> settings = TensorSettings();
    settings.push_back(
        WordSetting("optimizer", {"whole", "shards"},
                    "whether each group of GPUs updates all of its parts, or a shard of them "
                    "(Megatron-LM's distributed optimizer)"));
    return settings;
  }
  if (strategy == MeshStrategy::kTwoD) {
    std::vector<AgentSetting> settings = TensorSettings();
    settings.push_back(ShardsSetting());
    return settings;
  }
  const std::string_view degree = DegreeSettingOf(strategy);
  if (strategy == MeshStrategy::kExperts) return {DegreeSetting(degree), GpusSetting()};
  if (strategy == MeshStrategy::kContext) {
    return {DegreeSetting(degree), GpusSetting(), ShardsSetting(),
            WordSetting("tokens", {"equal", "work"},
                        "tokens of each GPU: equal numbers, or so that all take equally long under "
                        "a causal mask, where the last ones take most")};
  }
  if (!degree.empty()) return {DegreeSetting(degree), GpusSetting(), ShardsSetting()};
  return {GpusSetting(),
          WordSetting("shares", {"equal", "speed"},
                      "samples of each GPU: equal numbers, or in proportion to its speed")};
}

std::vector<AgentSetting> SettingsOf(MeshStrategy strategy) {
  std::vector<AgentSetting> settings = OwnSettingsOf(strategy);
  settings.push_back(CollectivesSetting());
  return settings;
}

}  // namespace

std::vector<AgentSetting> TensorSettings() {
  return {DegreeSetting("tensor"),
          WordSetting("sequence", {"on", "off"},
                      "whether norms, residuals and dropout are split by tokens within a group"),
          GpusSetting()};
}

std::string_view MeshStrategyPlanner::name() const { return NameOf(strategy_); }

std::string_view MeshStrategyPlanner::description() const {
  switch (strategy_) {
    case MeshStrategy::kTensor:
      return "attention, perceptrons and words in parts within hosts, all else by tokens "
             "(Megatron-LM)";
    case MeshStrategy::kTwoD:
      return "the same, with parameters and their state in shards over the groups (ZeRO-3)";
    case MeshStrategy::kZero1:
      return "as zero-2, gradients of micro-batches added up whole and scattered once (ZeRO-1)";
    case MeshStrategy::kZero2:
      return "all GPUs, equal shares of the batch, parameters with their state in shards";
    case MeshStrategy::kHybridZero2: return "the same with shards over the GPUs of each host";
    case MeshStrategy::kFsdp:
      return "as zero-2, layers fetched anew for the backward pass (ZeRO-3)";
    case MeshStrategy::kHsdp: return "as fsdp, with shards over the GPUs of each host";
    case MeshStrategy::kUlysses:
      return "tokens within hosts, heads of attention in their place, samples across";
    case MeshStrategy::kContext:
      return "tokens within hosts, keys and values gathered, samples across";
    case MeshStrategy::kExperts: return "all GPUs by samples, experts over the GPUs of each host";
  }
  return "";
}

const SettableAlgorithm* MeshStrategyPlanner::settable() const {
  static const std::map<MeshStrategy, SettableAlgorithm> all = [] {
    std::map<MeshStrategy, SettableAlgorithm> made;
    for (const MeshStrategy strategy :
         {MeshStrategy::kTensor, MeshStrategy::kTwoD, MeshStrategy::kZero2,
          MeshStrategy::kHybridZero2, MeshStrategy::kFsdp, MeshStrategy::kHsdp,
          MeshStrategy::kUlysses, MeshStrategy::kContext, MeshStrategy::kExperts,
          MeshStrategy::kZero1}) {
      const MeshStrategyPlanner planner(strategy);
      SettableAlgorithm& settable = made[strategy];
      settable.name = planner.name();
      settable.description = planner.description();
      settable.settings = SettingsOf(strategy);
    }
    return made;
  }();
  return &all.at(strategy_);
}

bool MeshStrategyPlanner::finds_what_fits() const {
  return DegreeSettingOf(strategy_).empty();  // the others need attention or experts
}

Result<PlannerResult> MeshStrategyPlanner::Plan(const Problem& problem, Evaluator& evaluator,
                                                const PlannerOptions& options) const {
  PW_RETURN_IF_ERROR(CheckMaySplit(problem, name(), "chooses the devices of every op itself"));
  MeshOptions mesh;
  PW_ASSIGN(const AgentSettings settings, AgentSettings::Parse(*settable(), settings_));
  const std::string_view degree = DegreeSettingOf(strategy_);
  if (!degree.empty()) mesh.degree = settings.Integer(degree);
  if (settings.Has("sequence")) mesh.sequence = settings.Is("sequence", "on");
  if (settings.Has("shares")) mesh.by_speed = settings.Is("shares", "speed");
  mesh.gpus = settings.Word("gpus");
  if (settings.Has("tokens")) mesh.tokens_by_work = settings.Is("tokens", "work");
  if (settings.Has("shards")) mesh.shards_in_hosts = settings.Is("shards", "hosts");
  if (settings.Has("optimizer")) mesh.shards_update = settings.Is("optimizer", "shards");
  mesh.by_unit = settings.Is("collectives", "unit");
  PW_ASSIGN(StepPlan plan, LayOutOnMesh(*problem.layouts, strategy_, mesh));
  PW_ASSIGN(const Evaluation evaluation, evaluator.EvaluatePlan(plan));
  return MakeResult(name(), std::move(plan), evaluation, options);
}

}  // namespace placewright
