#include "search/strategies/pipeline_estimates.h"

#include <algorithm>
#include <vector>

#include "search/strategies/layout_estimates.h"

namespace placewright {
namespace {

// The chunks of a stage together.
struct StageSums {
  double launches = 0, parameters = 0, gradients = 0, state = 0, kept = 0;
  double peak = 0;  // of one chunk, beside what it keeps
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
    sums.peak = std::max(sums.peak, chunk.peak - chunk.kept);
    sums.tensors += chunk.tensors;
    sums.sent_forward.samples += chunk.sent_forward.samples;
    sums.sent_forward.others += chunk.sent_forward.others;
    sums.sent_backward.samples += chunk.sent_backward.samples;
    sums.sent_backward.others += chunk.sent_backward.others;
  }
  return sums;
}

// Micro-batches whose activations a stage holds at a time.
double InFlight(const Rewriting& of, int64_t stage) {
  if (of.schedule == "zb-h1") return static_cast<double>(std::min(of.stages, of.micro_batches));
  const double v = static_cast<double>(of.chunks);
  if (of.chunks == 1) return static_cast<double>(std::min(of.stages - stage, of.micro_batches));
  const int64_t passes = 2 * (of.stages - 1 - stage) + (of.chunks - 1) * of.stages + 1;
  return static_cast<double>(std::min(passes, of.micro_batches * of.chunks)) / v;
}

}  // namespace

void EstimatePipeline(int64_t degree, const SomeGpus& gpus, const StepFacts& facts,
                      const StepTable& table, const ChunkTable& chunks,
                      StrategyEstimate& estimate) {
  const Rewriting& rewriting = estimate.strategy.rewriting;
  const int64_t stages = rewriting.stages;
  const double m = static_cast<double>(rewriting.micro_batches);
  const double cut = static_cast<double>(degree);
  const int64_t samples = facts.problem().graph.batch() / rewriting.micro_batches;
  const auto sums_in_all = static_cast<double>(std::max<int64_t>(1, table.forward_sums.tensors));
  const double hidden = table.forward_sums.bytes / sums_in_all;
  double slowest = 0, bubble = 0, tail = 0, floor = 0;
  double crossing = 0, across = 0;  // the longest of a pass, and all of a micro-batch
  for (int64_t stage = 0; stage < stages; ++stage) {
    const SomeGpus::Devices own = gpus.OfStage(stage, stages);
    const int64_t groups = static_cast<int64_t>(own.size()) / degree;
    const double part =
        static_cast<double>((samples + groups - 1) / groups) / static_cast<double>(samples) / m;
    const StageSums sums = SumsOf(chunks, stage, stages);
    double forward = 0, backward = 0, weights = 0, rest = 0;
    const double of_parameters = table.parameters > 0 ? sums.parameters / table.parameters : 0;
    for (size_t i = 0; i < own.size(); ++i) {
      const DeviceId device = own[i];
      const bool as_before = i > 0 && gpus.Kind(device) == gpus.Kind(own[i - 1]) &&
                             gpus.Capacity(device) == gpus.Capacity(own[i - 1]);
      if (as_before) continue;
      const size_t kind = gpus.Kind(device);
      const double all = table.forward.nanos[kind] + table.backward.nanos[kind];
      const double widths = table.forward.by_width[kind] + table.backward.by_width[kind];
      const double whole = degree > 1 && !facts.has_tokens() && all > 0 ? 1 - widths / all : 0;
      const double share = part * (whole + (1 - whole) / cut);
      const double launches = sums.launches * gpus.Launch(device);
      forward = std::max(forward, sums.forward[kind] * share + launches / 3);
      backward = std::max(backward, sums.backward[kind] * share + launches * 2 / 3);
      weights = std::max(weights, sums.weights[kind] * share);
      rest = std::max(rest, gpus.Additions(sums.gradients / cut, sums.tensors, m, device) +
                                gpus.Whole(table.update, device, of_parameters / cut) -
                                table.update.launches * gpus.Launch(device) * (1 - of_parameters));
      const double gathered =
          degree > 1 ? GatheredTokens(table, rewriting, degree) / static_cast<double>(stages) : 0;
      TakeMemory(gpus, device,
                 (sums.parameters + sums.state + 2 * sums.gradients) / cut +
                     share * (sums.kept * InFlight(rewriting, stage) + sums.peak) +
                     part * gathered * InFlight(rewriting, stage),
                 estimate);
    }
    if (degree > 1) {
      const SomeGpus::Devices group(own.begin(), own.begin() + degree);
      const double of_stage = sums_in_all / static_cast<double>(stages);
      const double gather = gpus.Collective(CollectiveKind::kAllGather, hidden * part, group);
      const double scatter = gpus.Collective(CollectiveKind::kReduceScatter, hidden * part, group);
      forward += of_stage * (gather + scatter);
      backward += of_stage * ((facts.has_tokens() ? 2 : 1) * gather + scatter);
    }
    // Forward passes send to the next stage, backward passes to the one before.
    const SomeGpus::Devices next = gpus.OfStage((stage + 1) % stages, stages);
    const SomeGpus::Devices last = gpus.OfStage((stage + stages - 1) % stages, stages);
    const double there = gpus.Transfers(
        sums.sent_forward.samples * part / cut + sums.sent_forward.others / cut, own, next);
    const double back = gpus.Transfers(
        sums.sent_backward.samples * part / cut + sums.sent_backward.others / cut, own, last);
    crossing = std::max({crossing, there, back});
    across += there + back;
    SomeGpus::Devices over;
    for (size_t i = 0; i < own.size(); i += static_cast<size_t>(degree)) over.push_back(own[i]);
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
