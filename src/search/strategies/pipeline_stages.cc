#include "search/strategies/pipeline_stages.h"

#include <algorithm>

#include "search/strategies/layout_estimates.h"

namespace placewright {
namespace {

using Chunk = ChunkTable::Chunk;

constexpr int64_t kGrainsOfStage = 2000;  // of the memory that a stage may fill

// Of a micro-batch, both passes, on the slowest GPU of a stage.
double NanosOf(const Chunk& layer, const StageGpus& stage, const SomeGpus& gpus) {
  double longest = 0;
  for (const DeviceId device : stage.each_sort()) {
    const size_t kind = gpus.Kind(device);
    const double alone = (layer.forward[kind] + layer.backward[kind]) * stage.Share(device) +
                         layer.forward_fixed[kind] + layer.backward_fixed[kind] +
                         layer.gradient_casts[kind] / stage.degree();
    longest = std::max(longest, alone * gpus.Slower(device, stage.devices()));
  }
  return longest;
}

void Append(const Chunk& layer, Chunk& chunk) {
  AddNanos(layer, chunk);
  // At the highest a chunk has all that its layers keep, and what one of them has beside that.
  chunk.peak = std::max(chunk.peak - chunk.kept, layer.peak - layer.kept) + chunk.kept + layer.kept;
  chunk.kept += layer.kept;
  chunk.parameters += layer.parameters;
  chunk.gradients += layer.gradients;
  chunk.state += layer.state;
  chunk.cast += layer.cast;
  chunk.largest = std::max(chunk.largest, layer.largest);
  chunk.tensors += layer.tensors;
}

}  // namespace

Nanos PipelineStages::Floor(const PipelineOnGpus& of) const {
  double speed = 0;
  for (int64_t stage = 0; stage < of.rewriting.stages; ++stage) {
    const StageGpus own(of, stage);
    double whole = 0;
    for (const Chunk& layer : kept_.chunks) whole += NanosOf(layer, own, of.gpus);
    speed += 1 / std::max(1.0, whole);
  }
  // While the first micro-batch fills the stages all but one of them wait, for a pass at least.
  const double passes = of.rewriting.schedule == "zb-h1" ? 3.0 : 1.0;
  const double waits = static_cast<double>(of.rewriting.stages - 1) /
                       (passes * static_cast<double>(of.rewriting.chunks));
  return RoundedNanos((static_cast<double>(of.rewriting.micro_batches) + waits) / speed);
}

LayerProgram PipelineStages::MakeProgram(const PipelineOnGpus& of, double share,
                                         bool may_recompute) const {
  const Rewriting& rewriting = of.rewriting;
  const auto cut = static_cast<double>(of.degree);
  const auto layers = static_cast<double>(kept_.chunks.size());
  const double sums = static_cast<double>(of.table.forward_sums.tensors) / layers;
  const double gathered = of.degree > 1 ? GatheredTokens(of.table, {}, of.degree) / layers : 0;
  LayerProgram program;
  // Of equal chunks the program says (v m + p - 1) T, as the schedule does.
  program.micro_batches = std::max<int64_t>(
      1, rewriting.chunks * (rewriting.micro_batches - rewriting.stages) + rewriting.stages);
  const int64_t chunks = rewriting.stages * rewriting.chunks;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t stage = chunk % rewriting.stages;
    const StageGpus own(of, stage);
    const double held = HeldBy(rewriting, stage);
    const double collectives = own.Forward(sums) + own.Backward(sums);
    int64_t room = kMaxQuantity;
    double part = 0, beside = 0;  // of activations; at the peak of a layer beside what it keeps
    for (const DeviceId device : own.each_sort()) {
      const auto capacity = static_cast<double>(of.gpus.Capacity(device).count);
      room = std::min(room, RoundedNanos(share * capacity).count - of.gpus.Context(device).count);
      part = std::max(part, own.Share(device));
    }
    auto& choices = program.choices.emplace_back();
    for (size_t i = 0; i < kept_.chunks.size(); ++i) {
      auto& of_layer = choices.emplace_back();
      for (const ChunkTable* const table : {&kept_, again_}) {
        if (table == nullptr || (table == again_ && !may_recompute)) continue;
        const Chunk& layer = table->chunks[i];
        beside = std::max(beside, part * (layer.peak - layer.kept) + 2 * layer.largest / cut);
        LayerChoice choice;
        choice.time = RoundedNanos(NanosOf(layer, own, of.gpus) + collectives).count;
        const double state = (layer.parameters + layer.state + layer.gradients + layer.cast) / cut;
        const double kept = part * layer.kept + (table == again_ ? 0 : own.samples() * gathered);
        choice.memory = RoundedNanos(state).count + RoundedNanos(held * kept).count;
        of_layer.push_back(choice);
      }
    }
    program.capacity.push_back((room - RoundedNanos(beside).count) / rewriting.chunks);
  }
  program.grain = std::max<int64_t>(
      1, *std::max_element(program.capacity.begin(), program.capacity.end()) / kGrainsOfStage);
  return program;
}

std::optional<Nanos> PipelineStages::Fastest(const PipelineOnGpus& of) const {
  LayerProgram program = MakeProgram(of, 1, false);
  program.capacity.assign(program.capacity.size(), kMaxQuantity);
  const std::optional<LayerSolution> solution = SolveLayers(program);
  return solution ? std::optional(Nanos(solution->time)) : std::nullopt;
}

std::optional<StageChoice> PipelineStages::Choose(const PipelineOnGpus& of, double share,
                                                  std::optional<Nanos> fastest) const {
  std::optional<LayerSolution> solution = SolveLayers(MakeProgram(of, share, false));
  // Where memory is in the way of the fastest stages, layers are computed again.
  if (again_ != nullptr && fastest && (!solution || solution->time > fastest->count)) {
    solution = SolveLayers(MakeProgram(of, share, true));
  }
  if (!solution) return std::nullopt;
  StageChoice choice;
  choice.optimum = Nanos(solution->time);
  for (size_t i = 0; i < solution->first.size(); ++i) {
    const size_t end =
        i + 1 < solution->first.size() ? solution->first[i + 1] : kept_.chunks.size();
    choice.layers.push_back(static_cast<int64_t>(end - solution->first[i]));
  }
  for (const size_t one : solution->choice) choice.again.push_back(one == 1);
  return choice;
}

ChunkTable PipelineStages::Joined(const StageChoice& choice) const {
  ChunkTable joined;
  size_t layer = 0;
  for (const int64_t count : choice.layers) {
    Chunk& chunk = joined.chunks.emplace_back();
    chunk.sent_backward = kept_.chunks[layer].sent_backward;
    for (int64_t i = 0; i < count; ++i, ++layer) {
      Append(choice.again[layer] ? again_->chunks[layer] : kept_.chunks[layer], chunk);
      chunk.again += (choice.again[layer] ? 1.0 : 0.0) / static_cast<double>(count);
    }
    chunk.sent_forward = kept_.chunks[layer - 1].sent_forward;
  }
  return joined;
}

}  // namespace placewright
