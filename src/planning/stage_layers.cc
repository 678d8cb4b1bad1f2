#include "planning/stage_layers.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "planning/plan_session.h"
#include "search/agent_settings.h"
#include "search/layouts/layout_devices.h"
#include "search/layouts/pipelines.h"
#include "search/strategies/pipeline_stages.h"
#include "transforms/layers.h"
#include "transforms/recompute.h"

namespace placewright {
namespace {

// What can be said before the step's axes are known: GPUs are alike, hosts have as many each, and these divide into the
// stages.
bool AreAlikeStages(const Cluster& cluster, int64_t stages) {
  std::set<int32_t> kinds;
  std::map<int32_t, int64_t> by_host;
  int64_t gpus = 0;
  for (const DeviceId id : cluster.devices()) {
    if (cluster.kind(id).device_class != DeviceClass::kGpu) continue;
    kinds.insert(cluster.device(id).kind);
    ++by_host[cluster.device(id).host];
    ++gpus;
  }
  const bool hosts_are_alike = std::all_of(by_host.begin(), by_host.end(), [&](const auto& one) {
    return one.second == by_host.begin()->second;
  });
  return kinds.size() < 2 && hosts_are_alike && gpus % stages == 0;
}

// GPUs of a tensor group, if there is such a pipeline: every stage has GPUs, in whole groups, and a micro-batch is a part of
// the batch.
std::optional<int64_t> DegreeOf(const LayoutProblem& problem, const StepFacts& facts,
                                const Rewriting& asked, const AgentSettings& settings) {
  const int64_t micro_batches = asked.micro_batches;
  if (micro_batches < 1 || problem.graph.batch() % micro_batches != 0) return std::nullopt;
  const Result<StageDevices> devices =
      DevicesOfStages(problem, settings.Word("gpus"), asked.stages);
  if (!devices.ok()) return std::nullopt;
  if (!settings.Has("tensor")) return 1;
  const Result<int64_t> degree =
      TensorDegreeOf3d(problem, facts.structure(), devices.value(), settings.Integer("tensor"));
  return degree.ok() ? std::optional(degree.value()) : std::nullopt;
}

}  // namespace

Result<std::vector<int64_t>> LayersOfUnequalStages(const Graph& step, const Cluster& cluster,
                                                   const CostOptions& costs, const Rewriting& asked,
                                                   std::string_view algorithm,
                                                   const std::vector<std::string>& stated) {
  const std::vector<int64_t> equal_work;
  const auto layers = static_cast<int64_t>(LayersOf(step).names.size());
  if (asked.stages < 1 || layers < 2 || !SplitsByDefault(step, cluster)) return equal_work;
  const bool all_gpus = stated.empty();
  if (all_gpus && AreAlikeStages(cluster, asked.stages)) return equal_work;
  const PipelinePlanner planner(algorithm == k3d ? k3d : asked.schedule);
  const Result<AgentSettings> parsed = AgentSettings::Parse(*planner.settable(), stated);
  if (!parsed.ok()) return equal_work;  // of another algorithm
  const AgentSettings& settings = parsed.value();
  const std::string& named = settings.Word("gpus");
  PW_ASSIGN(const auto problem,
            MakeLayouts(step, cluster, costs, DefaultPolicy(step.format()), {}));
  const DeviceTimes times = TimesOf(*problem);
  PW_ASSIGN(const std::vector<DeviceId> devices, DevicesToSplitOver(*problem, times, named));
  const SomeGpus gpus(*problem, times, named, devices);
  const bool as_many = gpus.LargestStage(asked.stages) * asked.stages == gpus.count();
  if (gpus.of_one_kind() && as_many) return equal_work;
  std::unique_ptr<Graph> recomputed;
  if (!asked.recompute.empty()) {
    PW_ASSIGN(recomputed, WithRecomputation(step, asked.recompute));
  }
  const StepFacts facts(*problem, devices);
  const std::optional<int64_t> degree = DegreeOf(*problem, facts, asked, settings);
  const FactsOfStep of_step(facts, recomputed ? *recomputed : step);
  const Result<ChunkTable> by_layer =
      of_step.MakeChunks({.kind = Transform::kPipeline, .stages = layers});
  if (!degree || !by_layer.ok()) return equal_work;
  const StepTable table = of_step.MakeTable();
  const PipelineOnGpus pipeline = {*degree, gpus, facts, table, asked};
  const PipelineStages stages(by_layer.value(), nullptr);
  std::optional<StageChoice> choice = stages.Choose(pipeline, 1);
  constexpr double kAnyMemory = 1e6;
  if (!choice) choice = stages.Choose(pipeline, kAnyMemory);
  return choice ? choice->layers : equal_work;
}

}  // namespace placewright
