#include "planning/rewriting.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "transforms/layers.h"
#include "transforms/pipeline_schedule.h"

namespace placewright {
namespace {

constexpr int64_t kMicroBatchesOfStage = 4;

struct Gpus {
  int64_t count = 0, hosts = 0;
  int64_t of_host = 0;  // of the host with most

  int64_t OfStage(int64_t stages) const {
    return hosts > 1 && hosts == stages ? of_host : (count + stages - 1) / stages;
  }
};

// The most that serve, at most `max`. Stages of tensor groups have as many GPUs each, two and more: on one host as few
// stages as there can be, since what groups send stays on its fast links.
int64_t StagesOn(const Gpus& gpus, int64_t max, bool of_groups) {
  const int64_t units = gpus.hosts > 1 ? gpus.hosts : gpus.count;
  if (!of_groups) return std::min(units, max);
  if (gpus.hosts > 1) {
    for (int64_t stages = std::min(units, max); stages > 1; --stages) {
      if (units % stages == 0) return stages;
    }
    return std::min(units, max);
  }
  for (int64_t stages = 2; stages <= max && 2 * stages <= units; ++stages) {
    if (units % stages == 0) return stages;
  }
  return std::min(units, max);
}

// As many as divide the batch; 0: none do.
int64_t MicroBatchesFor(const Rewriting& asked, int64_t batch, const Gpus& gpus) {
  for (int64_t m = std::min(batch, kMicroBatchesOfStage * asked.stages); m > 0; --m) {
    const bool rounds = asked.schedule != "interleaved" || m % asked.stages == 0;
    if (batch % m == 0 && batch / m >= gpus.OfStage(asked.stages) && rounds) return m;
  }
  return 0;
}

}  // namespace

Result<Rewriting> ChooseRewriting(const Graph& step, const Cluster& cluster, Rewriting asked,
                                  bool of_groups) {
  if (asked.schedule.empty()) {
    if (asked.stages == 0 && asked.chunks == 0 && asked.layers.empty()) return asked;
    return MakeError(ErrorCode::kUsage,
                     "stages, their chunks and layers are of a pipeline, and none is asked for", "",
                     "Ask for a pipeline (1f1b), or leave them out.");
  }
  Gpus gpus;
  std::map<int32_t, int64_t> hosts;
  for (const DeviceId id : cluster.devices()) {
    if (cluster.kind(id).device_class != DeviceClass::kGpu) continue;
    ++gpus.count;
    gpus.of_host = std::max(gpus.of_host, ++hosts[cluster.device(id).host]);
  }
  gpus.hosts = static_cast<int64_t>(hosts.size());
  if (gpus.count == 0) gpus.count = static_cast<int64_t>(cluster.device_count());
  if (asked.chunks == 0) asked.chunks = asked.schedule == "interleaved" ? 2 : 1;
  if (asked.stages == 0 && !asked.layers.empty()) {
    asked.stages = std::max<int64_t>(1, static_cast<int64_t>(asked.layers.size()) / asked.chunks);
  }
  const bool stages_are_free = asked.stages == 0;
  if (stages_are_free) {
    const auto layers = static_cast<int64_t>(LayersOf(step).names.size());
    asked.stages = StagesOn(gpus, std::max<int64_t>(1, layers / asked.chunks), of_groups);
  }
  if (asked.micro_batches > 0) return asked;
  const int64_t batch = step.batch(), stages = asked.stages;
  asked.micro_batches = MicroBatchesFor(asked, batch, gpus);
  while (asked.micro_batches == 0 && stages_are_free && asked.stages > 2) {
    --asked.stages;
    if (of_groups && gpus.count % asked.stages != 0) continue;
    asked.micro_batches = MicroBatchesFor(asked, batch, gpus);
  }
  if (asked.micro_batches > 0) return asked;
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("{} {} stages of {} GPUs find no number of micro-batches for a batch of {}",
                  asked.schedule, stages, gpus.OfStage(stages), batch),
      "", "Give another batch, other stages, or the number of micro-batches.");
}

Status CheckSamplesOfStages(const Graph& step, const Cluster& cluster, const Rewriting& rewriting) {
  int64_t gpus = 0;
  std::set<int32_t> kinds;
  for (const DeviceId id : cluster.devices()) {
    if (cluster.kind(id).device_class != DeviceClass::kGpu) continue;
    ++gpus;
    kinds.insert(cluster.device(id).kind);
  }
  if (kinds.size() != 1 || rewriting.stages < 1 || rewriting.micro_batches < 1) return Ok();
  const int64_t of_stage = gpus / rewriting.stages;
  const int64_t samples = step.batch() / rewriting.micro_batches;
  if (step.batch() == 0 || of_stage < 2 || samples >= of_stage) return Ok();
  return MakeError(ErrorCode::kUsage,
                   fmt::format("a micro-batch of {} samples is shared out to {} parts of a stage",
                               samples, of_stage),
                   "", "Take fewer --micro-batches, more --stages or a larger --batch.");
}

void AlignPipeline(bool given, std::string& algorithm, Rewriting& asked) {
  const bool pipeline = std::find(kPipelineSchedules.begin(), kPipelineSchedules.end(),
                                  algorithm) != kPipelineSchedules.end();
  if (pipeline && asked.schedule.empty()) asked.schedule = algorithm;
  if (algorithm == "zb" && asked.schedule.empty()) asked.schedule = "zb-h1";
  if (algorithm == "3d" && asked.schedule.empty()) asked.schedule = "1f1b";
  if (!asked.schedule.empty() && algorithm == "auto" && !given) algorithm = asked.schedule;
}

}  // namespace placewright
