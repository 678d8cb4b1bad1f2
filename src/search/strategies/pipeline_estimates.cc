#include "search/strategies/pipeline_estimates.h"

#include <algorithm>
#include <vector>

#include "search/strategies/layout_estimates.h"

namespace placewright {
namespace {

// The chunks of a stage together.
struct StageSums {
  double parameters = 0, gradients = 0, state = 0, cast = 0, largest = 0, kept = 0;
  double peak = 0;   // of one chunk, beside what it keeps
  double again = 0;  // of its layers, the share that is computed again
  int64_t tensors = 0;
};

StageSums SumsOf(const ChunkTable& chunks, int64_t stage, int64_t stages) {
  StageSums sums;
  for (auto c = static_cast<size_t>(stage); c < chunks.chunks.size();
       c += static_cast<size_t>(stages)) {
    const ChunkTable::Chunk& chunk = chunks.chunks[c];
    sums.parameters += chunk.parameters;
    sums.gradients += chunk.gradients;
    sums.state += chunk.state;
    sums.cast += chunk.cast;
    sums.largest = std::max(sums.largest, chunk.largest);
    sums.kept += chunk.kept;
    sums.again +=
        chunk.again * static_cast<double>(stages) / static_cast<double>(chunks.chunks.size());
    sums.peak = std::max(sums.peak, chunk.peak - chunk.kept);
    sums.tensors += chunk.tensors;
  }
  return sums;
}

// What a micro-batch takes on a stage's slowest GPU, in one of its chunks. `weights`: part of `backward`, alone in zb-h1.
struct ChunkTimes {
  double forward = 0, backward = 0, weights = 0;
  double casts = 0;            // before the first micro-batch
  double there = 0, back = 0;  // to the next chunk's stage, and to that of the chunk before
};

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

namespace {

// The passes one after the other, as the schedule has them: a pass begins when its GPUs are free and what it reads is
// there; a link carries one micro-batch at a time. Micro-batches beyond some rounds of the stages, which repeat, add what
// the slowest stage or link takes.
class PipelineClock {
 public:
  PipelineClock(const Rewriting& rewriting, const std::vector<ChunkTimes>& chunks)
      : rewriting_(rewriting), chunks_(chunks), free_(static_cast<size_t>(rewriting.stages), 0) {}

  // When each stage ends its last pass.
  std::vector<double> Run(const PipelineOrders::Order& order) {
    const size_t count = chunks_.size();
    const auto m = static_cast<size_t>(order.micro_batches);
    std::vector<double> made(count * m, 0), sent(count * m, 0), there(count, 0), back(count, 0);
    for (size_t c = 0; c < count; ++c) free_[c % free_.size()] += chunks_[c].casts;
    for (const PipelineItem& item : order.items) {
      const auto c = static_cast<size_t>(item.chunk);
      const size_t at = c * m + static_cast<size_t>(item.micro_batch);
      const ChunkTimes& times = chunks_[c];
      double& free = free_[c % free_.size()];
      const auto send = [&](double takes, double& link, double& arrives) {
        link = arrives = std::max(link, free) + takes;
      };
      if (item.pass == PipelinePass::kForward) {
        free = std::max(free, made[at]) + times.forward;
        if (c + 1 < count) send(times.there, there[c], made[at + m]);
      } else if (item.pass == PipelinePass::kBackward) {
        const bool apart = rewriting_.schedule == "zb-h1";
        free = std::max(free, sent[at]) + times.backward - (apart ? times.weights : 0);
        if (c > 0) send(times.back, back[c], sent[at - m]);
      } else {
        free += times.weights;
      }
    }
    const double more = static_cast<double>(rewriting_.micro_batches - order.micro_batches);
    for (double& end : free_) end += more * LongestTurn();
    return free_;
  }

  // Of a micro-batch, the stage or link that takes the longest.
  double LongestTurn() const {
    std::vector<double> stages(free_.size(), 0);
    double longest = 0;
    for (size_t c = 0; c < chunks_.size(); ++c) {
      stages[c % stages.size()] += chunks_[c].forward + chunks_[c].backward;
      longest = std::max({longest, chunks_[c].there, chunks_[c].back, stages[c % stages.size()]});
    }
    return longest;
  }

 private:
  const Rewriting& rewriting_;
  const std::vector<ChunkTimes>& chunks_;
  std::vector<double> free_;  // by stage
};

// What a micro-batch takes in the chunk on the GPUs of its stage. `sums`: collectives of tensor groups in a pass.
ChunkTimes TimesOf(const PipelineOnGpus& of, const ChunkTable::Chunk& chunk, const StageGpus& own,
                   double sums) {
  const double degree = own.degree();
  ChunkTimes times;
  for (const DeviceId device : own.each_sort()) {
    const size_t kind = of.gpus.Kind(device);
    const double slower = of.gpus.Slower(device, own.devices()), share = own.Share(device);
    const auto pass = [&](const ByKind& divided, const ByKind& fixed) {
      return slower * (divided[kind] * share + fixed[kind]);
    };
    const double added = of.gpus.Additions(chunk.gradients / degree, chunk.tensors, 2, device) +
                         slower * chunk.gradient_casts[kind] / degree;
    times.forward = std::max(times.forward, pass(chunk.forward, chunk.forward_fixed));
    times.backward = std::max(times.backward, pass(chunk.backward, chunk.backward_fixed) + added);
    times.weights = std::max(times.weights, pass(chunk.weights, chunk.weights_fixed) + added);
    times.casts = std::max(times.casts, slower * chunk.casts[kind] / degree);
  }
  times.forward += own.Forward(sums);
  times.backward += own.Backward(sums);
  return times;
}

}  // namespace

const PipelineOrders::Order& PipelineOrders::Of(const Rewriting& rewriting) {
  constexpr int64_t kRounds = 4;
  const int64_t micro_batches = std::min(rewriting.micro_batches, kRounds * rewriting.stages);
  const auto [at, is_new] =
      orders_.try_emplace({rewriting.schedule, rewriting.stages, rewriting.chunks, micro_batches});
  Order& order = at->second;
  if (!is_new) return order;
  order.micro_batches = micro_batches;
  const PipelineShape shape = {static_cast<int32_t>(rewriting.stages),
                               static_cast<int32_t>(rewriting.chunks),
                               static_cast<int32_t>(micro_batches)};
  const auto sequences = PipelineSequences(rewriting.schedule, shape);
  if (!sequences.ok()) return order;
  auto merged = MergeSequences(sequences.value(), shape);
  if (merged.ok()) order.items = merged.Take();
  return order;
}

void EstimatePipeline(const PipelineOnGpus& of, const ChunkTable& chunks, PipelineOrders& orders,
                      StrategyEstimate& estimate) {
  const Rewriting& rewriting = of.rewriting;
  const SomeGpus& gpus = of.gpus;
  const StepTable& table = of.table;
  const int64_t stages = rewriting.stages;
  const double m = static_cast<double>(rewriting.micro_batches);
  const double cut = static_cast<double>(of.degree);
  const double sums = NumberOfSums(table) / static_cast<double>(chunks.chunks.size());
  std::vector<ChunkTimes> times(chunks.chunks.size());
  std::vector<double> tails;
  double floor = 0;
  for (int64_t stage = 0; stage < stages; ++stage) {
    const StageGpus own(of, stage);
    const double part = own.samples();
    const StageSums all = SumsOf(chunks, stage, stages);
    // Forward passes send to the next stage, backward passes to the one before.
    const SomeGpus::Devices next = gpus.OfStage((stage + 1) % stages, stages);
    const SomeGpus::Devices last = gpus.OfStage((stage + stages - 1) % stages, stages);
    const auto transfer = [&](const ChunkTable::Chunk::Sent& sent, const SomeGpus::Devices& to) {
      return gpus.Transfers((sent.samples * part + sent.others) / cut, own.devices(), to);
    };
    double work = 0, backward = 0;  // of the stage; of its chunks the last backward pass
    for (auto c = static_cast<size_t>(stage); c < times.size(); c += static_cast<size_t>(stages)) {
      const ChunkTable::Chunk& chunk = chunks.chunks[c];
      times[c] = TimesOf(of, chunk, own, sums);
      times[c].there = transfer(chunk.sent_forward, next);
      times[c].back = transfer(chunk.sent_backward, last);
      backward += times[c].backward;
      double longest = 0;
      for (const DeviceId device : own.each_sort()) {
        const size_t kind = gpus.Kind(device);
        longest =
            std::max(longest, (chunk.forward[kind] + chunk.backward[kind]) * own.Share(device));
      }
      work += longest;
    }
    floor = std::max(floor, m * work);
    const double held = HeldBy(rewriting, stage);
    const double gathered =
        of.degree > 1 ? GatheredBy(of, all.again) / static_cast<double>(stages) : 0;
    const double of_parameters = table.parameters > 0 ? all.parameters / table.parameters : 0;
    double update = 0;
    for (const DeviceId device : own.each_sort()) {
      const double alone =
          gpus.Divided(table.update, device, of_parameters / cut, of_parameters / cut) +
          of_parameters * table.update.launches * gpus.Launch(device);
      update = std::max(update, alone * gpus.Slower(device, own.devices()));
      TakeMemory(gpus, device,
                 (all.parameters + all.state + all.gradients + all.cast + 2 * all.largest) / cut +
                     own.Share(device) * (all.kept * held + all.peak) + part * gathered * held,
                 estimate);
    }
    SomeGpus::Devices over;
    for (size_t i = 0; i < own.devices().size(); i += static_cast<size_t>(of.degree)) {
      over.push_back(own.devices()[i]);
    }
    const auto tensors = static_cast<double>(std::max<int64_t>(1, all.tensors));
    const double one =
        gpus.Collective(CollectiveKind::kAllReduce, all.gradients / cut / tensors, over);
    tails.push_back(update + one + gpus.Beside(backward, (tensors - 1) * one) - backward);
  }
  const std::vector<double> ends = PipelineClock(rewriting, times).Run(orders.Of(rewriting));
  double time = 0;
  for (size_t stage = 0; stage < ends.size(); ++stage)
    time = std::max(time, ends[stage] + tails[stage]);
  estimate.time = RoundedNanos(time);
  estimate.floor = RoundedNanos(floor);
}

}  // namespace placewright
