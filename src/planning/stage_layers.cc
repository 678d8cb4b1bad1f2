#include "planning/stage_layers.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "planning/plan_session.h"
#include "search/layouts/layout_devices.h"
#include "search/strategies/pipeline_stages.h"
#include "transforms/layers.h"
#include "transforms/recompute.h"

namespace placewright {
namespace {

std::string_view ValueOf(const std::vector<std::string>& settings, std::string_view name,
                         std::string_view otherwise) {
  for (const std::string_view setting : settings) {
    const size_t equals = setting.find('=');
    if (setting.substr(0, equals) == name && equals != std::string_view::npos) {
      return setting.substr(equals + 1);
    }
  }
  return otherwise;
}

int64_t DegreeOf(const std::vector<std::string>& settings) {
  const std::string_view text = ValueOf(settings, "tensor", "1");
  int64_t degree = 1;
  std::from_chars(text.data(), text.data() + text.size(), degree);
  return std::max<int64_t>(1, degree);
}

bool AreAlike(const Cluster& cluster) {
  std::optional<int32_t> kind;
  for (const DeviceId id : cluster.devices()) {
    if (cluster.kind(id).device_class != DeviceClass::kGpu) continue;
    if (kind.value_or(cluster.device(id).kind) != cluster.device(id).kind) return false;
    kind = cluster.device(id).kind;
  }
  return true;
}

// Every stage has GPUs, in whole tensor groups, and a micro-batch is a part of the batch.
bool IsPipeline(const PipelineOnGpus& of, int64_t batch) {
  const int64_t micro_batches = of.rewriting.micro_batches;
  if (micro_batches < 1 || batch % micro_batches != 0) return false;
  for (int64_t stage = 0; stage < of.rewriting.stages; ++stage) {
    const auto gpus = static_cast<int64_t>(of.gpus.OfStage(stage, of.rewriting.stages).size());
    if (gpus == 0 || gpus % of.degree != 0) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<int64_t>> LayersOfUnequalStages(const Graph& step, const Cluster& cluster,
                                                   const CostOptions& costs, const Rewriting& asked,
                                                   const std::vector<std::string>& settings) {
  const std::vector<int64_t> equal_work;
  const auto layers = static_cast<int64_t>(LayersOf(step).names.size());
  if (AreAlike(cluster) || !SplitsByDefault(step, cluster) || layers < 2) return equal_work;
  PW_ASSIGN(const auto problem,
            MakeLayouts(step, cluster, costs, DefaultPolicy(step.format()), {}));
  const DeviceTimes times = TimesOf(*problem);
  const std::string setting(ValueOf(settings, "gpus", kEveryGpu));
  PW_ASSIGN(const std::vector<DeviceId> devices, DevicesToSplitOver(*problem, times, setting));
  const SomeGpus gpus(*problem, times, setting, devices);
  if (gpus.of_one_kind()) return equal_work;
  std::unique_ptr<Graph> recomputed;
  if (!asked.recompute.empty()) {
    PW_ASSIGN(recomputed, WithRecomputation(step, asked.recompute));
  }
  const StepFacts facts(*problem, devices);
  const FactsOfStep of_step(facts, recomputed ? *recomputed : step);
  const StepTable table = of_step.MakeTable();
  const PipelineOnGpus pipeline = {DegreeOf(settings), gpus, facts, table, asked};
  const Result<ChunkTable> by_layer =
      of_step.MakeChunks({.kind = Transform::kPipeline, .stages = layers});
  if (!by_layer.ok() || !IsPipeline(pipeline, step.batch())) return equal_work;
  const PipelineStages stages(by_layer.value(), nullptr);
  std::optional<StageChoice> choice = stages.Choose(pipeline, 1);
  constexpr double kAnyMemory = 1e6;
  if (!choice) choice = stages.Choose(pipeline, kAnyMemory);
  return choice ? choice->layers : equal_work;
}

}  // namespace placewright
