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

}  // namespace

Result<Rewriting> ChooseRewriting(const Graph& step, const Cluster& cluster, Rewriting asked) {
  if (asked.schedule.empty()) {
    if (asked.stages == 0 && asked.chunks == 0 && asked.layers.empty()) return asked;
    return MakeError(ErrorCode::kUsage,
                     "stages, their chunks and layers are of a pipeline, and none is asked for", "",
                     "Ask for a pipeline (1f1b), or leave them out.");
  }
  int64_t gpus = 0, of_host = 0;
  std::map<int32_t, int64_t> hosts;
  for (const DeviceId id : cluster.devices()) {
    if (cluster.kind(id).device_class != DeviceClass::kGpu) continue;
    ++gpus;
    of_host = std::max(of_host, ++hosts[cluster.device(id).host]);
  }
  const auto machines = static_cast<int64_t>(hosts.size());
  if (gpus == 0) gpus = static_cast<int64_t>(cluster.device_count());
  const bool interleaved = asked.schedule == "interleaved";
  if (asked.chunks == 0) asked.chunks = interleaved ? 2 : 1;
  if (asked.stages == 0 && !asked.layers.empty()) {
    asked.stages = std::max<int64_t>(1, static_cast<int64_t>(asked.layers.size()) / asked.chunks);
  }
  if (asked.stages == 0) {
    const auto layers = static_cast<int64_t>(LayersOf(step).names.size());
    const int64_t most = std::max<int64_t>(1, layers / asked.chunks);
    asked.stages = std::min(machines > 1 ? machines : gpus, most);
  }
  if (asked.micro_batches > 0) return asked;
  const int64_t batch = step.batch();
  const int64_t of_stage =
      machines > 1 && machines == asked.stages ? of_host : (gpus + asked.stages - 1) / asked.stages;
  for (int64_t m = std::min(batch, kMicroBatchesOfStage * asked.stages); m > 0; --m) {
    if (batch % m != 0 || batch / m < of_stage || (interleaved && m % asked.stages != 0)) continue;
    asked.micro_batches = m;
    return asked;
  }
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("{} {} stages of {} GPUs find no number of micro-batches for a batch of {}",
                  asked.schedule, asked.stages, of_stage, batch),
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
