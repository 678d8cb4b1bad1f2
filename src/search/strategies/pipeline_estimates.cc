#include "search/strategies/pipeline_estimates.h"

#include <algorithm>
#include <vector>

#include "search/strategies/layout_estimates.h"

namespace placewright {
namespace {

// The chunks of a stage together.
struct StageSums {
  double launches = 0, parameters = 0, gradients = 0, state = 0, kept = 0;
  double peak = 0;   // of one chunk, beside what it keeps
  double again = 0;  // of its layers, the share that is computed again
  int64_t tensors = 0;
  ByKind forward, backward, weights;
  ChunkTable::Chunk::Sent sent_forward, sent_backward;
};

StageSums SumsOf(const ChunkTable& chunks, int64_t stage, int64_t stages) {
  StageSums sums;
  for (auto c = static_cast<size_t>(stage); c < chunks.chunks.size();
       c += static_cast<size_t>(stages)) {
    const ChunkTable::Chunk& chunk = chunks.chunks[c];
    sums.forward.resize(chunk.forward.size());
    sums.backward.resize(chunk.forward.size());
    sums.weights.resize(chunk.forward.size());
    for (size_t kind = 0; kind < chunk.forward.size(); ++kind) {
      sums.forward[kind] += chunk.forward[kind];
      sums.backward[kind] += chunk.backward[kind];
      sums.weights[kind] += chunk.weights[kind];
    }
    sums.launches += chunk.launches;
    sums.parameters += chunk.parameters;
    sums.gradients += chunk.gradients;
    sums.state += chunk.state;
    sums.kept += chunk.kept;
    sums.again +=
        chunk.again * static_cast<double>(stages) / static_cast<double>(chunks.chunks.size());
    sums.peak = std::max(sums.peak, chunk.peak - chunk.kept);
    sums.tensors += chunk.tensors;
    sums.sent_forward.samples += chunk.sent_forward.samples;
    sums.sent_forward.others += chunk.sent_forward.others;
    sums.sent_backward.samples += chunk.sent_backward.samples;
    sums.sent_backward.others += chunk.sent_backward.others;
  }
  return sums;
}

// Bytes of all samples and layers, were all computed again in this share.
double GatheredBy(const PipelineOnGpus& of, double again) {
  if (!of.chosen_layers) return GatheredTokens(of.table, of.rewriting, of.degree);
  return (1 - again) * GatheredTokens(of.table, {}, of.degree) +
         again * GatheredTokens(of.table, {.recompute = {"full"}}, of.degree);
}

double NumberOfSums(const StepTable& table) {
  return static_cast<double>(std::max<int64_t>(1, table.forward_sums.tensors));
}

}  // namespace

StageGpus::StageGpus(const PipelineOnGpus& of, int64_t stage)
    : of_(of), devices_(of.gpus.OfStage(stage, of.rewriting.stages)) {
  for (const DeviceId device : devices_) {
    const bool as_before = !each_sort_.empty() &&
                           of.gpus.Kind(device) == of.gpus.Kind(each_sort_.back()) &&
                           of.gpus.Capacity(device) == of.gpus.Capacity(each_sort_.back());
    if (!as_before) each_sort_.push_back(device);
  }
  const int64_t samples = of.facts.problem().graph.batch() / of.rewriting.micro_batches;
  const int64_t groups = static_cast<int64_t>(devices_.size()) / of.degree;
  samples_ = static_cast<double>((samples + groups - 1) / groups) /
             static_cast<double>(samples * of.rewriting.micro_batches);
}

double StageGpus::Share(DeviceId device) const {
  const size_t kind = of_.gpus.Kind(device);
  const double all = of_.table.forward.nanos[kind] + of_.table.backward.nanos[kind];
  const double widths = of_.table.forward.by_width[kind] + of_.table.backward.by_width[kind];
  const double whole = of_.degree > 1 && !of_.facts.has_tokens() && all > 0 ? 1 - widths / all : 0;
  return samples_ * (whole + (1 - whole) / static_cast<double>(of_.degree));
}

double StageGpus::Collective(CollectiveKind kind) const {
  const double hidden = of_.table.forward_sums.bytes / NumberOfSums(of_.table);
  return of_.gpus.Collective(kind, hidden * samples_,
                             {devices_.begin(), devices_.begin() + of_.degree});
}

double StageGpus::Forward(double sums) const {
  if (of_.degree < 2) return 0;
  return sums *
         (Collective(CollectiveKind::kAllGather) + Collective(CollectiveKind::kReduceScatter));
}

double StageGpus::Backward(double sums) const {
  if (of_.degree < 2) return 0;
  const double gathers = of_.facts.has_tokens() ? 2 : 1;
  return sums * (gathers * Collective(CollectiveKind::kAllGather) +
                 Collective(CollectiveKind::kReduceScatter));
}

double HeldBy(const Rewriting& of, int64_t stage) {
  if (of.schedule == "zb-h1") return static_cast<double>(std::min(of.stages, of.micro_batches));
  if (of.schedule == "gpipe") return static_cast<double>(of.micro_batches);
  const double v = static_cast<double>(of.chunks);
  if (of.chunks == 1) return static_cast<double>(std::min(of.stages - stage, of.micro_batches));
  const int64_t passes = 2 * (of.stages - 1 - stage) + (of.chunks - 1) * of.stages + 1;
  return static_cast<double>(std::min(passes, of.micro_batches * of.chunks)) / v;
}

void EstimatePipeline(const PipelineOnGpus& of, const ChunkTable& chunks,
                      StrategyEstimate& estimate) {
  const Rewriting& rewriting = of.rewriting;
  const SomeGpus& gpus = of.gpus;
  const StepTable& table = of.table;
  const int64_t stages = rewriting.stages, degree = of.degree;
  const double m = static_cast<double>(rewriting.micro_batches);
  const double cut = static_cast<double>(degree);
  double slowest = 0, bubble = 0, tail = 0, floor = 0;
  double crossing = 0, across = 0;  // the longest of a pass, and all of a micro-batch
  for (int64_t stage = 0; stage < stages; ++stage) {
    const StageGpus own(of, stage);
    const double part = own.samples();
    const StageSums sums = SumsOf(chunks, stage, stages);
    double forward = 0, backward = 0, weights = 0, rest = 0;
    const double of_parameters = table.parameters > 0 ? sums.parameters / table.parameters : 0;
    const double held = HeldBy(rewriting, stage);
    const double gathered =
        degree > 1 ? GatheredBy(of, sums.again) / static_cast<double>(stages) : 0;
    for (const DeviceId device : own.each_sort()) {
      const size_t kind = gpus.Kind(device);
      const double share = own.Share(device);
      const double launches = sums.launches * gpus.Launch(device);
      forward = std::max(forward, sums.forward[kind] * share + launches / 3);
      backward = std::max(backward, sums.backward[kind] * share + launches * 2 / 3);
      weights = std::max(weights, sums.weights[kind] * share);
      rest = std::max(rest, gpus.Additions(sums.gradients / cut, sums.tensors, m, device) +
                                gpus.Whole(table.update, device, of_parameters / cut) -
                                table.update.launches * gpus.Launch(device) * (1 - of_parameters));
      TakeMemory(gpus, device,
                 (sums.parameters + sums.state + 2 * sums.gradients) / cut +
                     share * (sums.kept * held + sums.peak) + part * gathered * held,
                 estimate);
    }
    const double of_stage = NumberOfSums(table) / static_cast<double>(stages);
    forward += own.Forward(of_stage);
    backward += own.Backward(of_stage);
    // Forward passes send to the next stage, backward passes to the one before.
    const SomeGpus::Devices next = gpus.OfStage((stage + 1) % stages, stages);
    const SomeGpus::Devices last = gpus.OfStage((stage + stages - 1) % stages, stages);
    const double there =
        gpus.Transfers(sums.sent_forward.samples * part / cut + sums.sent_forward.others / cut,
                       own.devices(), next);
    const double back =
        gpus.Transfers(sums.sent_backward.samples * part / cut + sums.sent_backward.others / cut,
                       own.devices(), last);
    crossing = std::max({crossing, there, back});
    across += there + back;
    SomeGpus::Devices over;
    for (size_t i = 0; i < own.devices().size(); i += static_cast<size_t>(degree)) {
      over.push_back(own.devices()[i]);
    }
    const auto tensors = static_cast<double>(std::max<int64_t>(1, sums.tensors));
    const double reduced =
        tensors * gpus.Collective(CollectiveKind::kAllReduce, sums.gradients / cut / tensors, over);
    tail = std::max(tail, rest + std::max(0.0, reduced - backward));
    const double wait = rewriting.schedule == "zb-h1"
                            ? backward - weights + std::max(0.0, forward - weights)
                            : forward + backward;
    bubble += wait / static_cast<double>(rewriting.chunks);
    if (forward + backward > slowest) {
      slowest = forward + backward;
      floor = m * slowest;
    }
  }
  const double mean = bubble / static_cast<double>(stages);
  estimate.time = RoundedNanos(m * std::max(slowest, crossing) + bubble - mean + across + tail);
  estimate.floor = RoundedNanos(floor);
}

}  // namespace placewright
