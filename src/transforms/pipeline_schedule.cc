#include "transforms/pipeline_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/text.h"

namespace placewright {
namespace {

using Sequence = std::vector<PipelineItem>;

Error Refused(std::string message, std::string remedy) {
  return MakeError(ErrorCode::kTransform, std::move(message), "pipeline", std::move(remedy));
}

Sequence Gpipe(int32_t stage, int32_t batches) {
  Sequence sequence;
  for (const PipelinePass pass : {PipelinePass::kForward, PipelinePass::kBackward}) {
    for (int32_t batch = 0; batch < batches; ++batch) sequence.push_back({stage, batch, pass});
  }
  return sequence;
}

// `ahead` forward passes, then one of each in turn, then what is left; the k-th of either as the functions have it.
template <class Forward, class Backward>
Sequence InTurn(int32_t passes, int32_t ahead, const Forward& forward, const Backward& backward) {
  Sequence sequence;
  ahead = std::min(ahead, passes);
  for (int32_t k = 0; k < ahead; ++k) sequence.push_back(forward(k));
  for (int32_t k = 0; k < passes; ++k) {
    if (ahead + k < passes) sequence.push_back(forward(ahead + k));
    sequence.push_back(backward(k));
  }
  return sequence;
}

Sequence OneForwardOneBackward(int32_t stage, const PipelineShape& shape) {
  return InTurn(
      shape.micro_batches, shape.stages - 1 - stage,
      [&](int32_t k) {
        return PipelineItem{stage, k, PipelinePass::kForward};
      },
      [&](int32_t k) {
        return PipelineItem{stage, k, PipelinePass::kBackward};
      });
}

Sequence Interleaved(int32_t stage, const PipelineShape& shape) {
  const int32_t p = shape.stages, v = shape.chunks;
  const auto item = [&](int32_t k, PipelinePass pass) {
    const int32_t turn = k % (p * v) / p;
    const int32_t chunk = pass == PipelinePass::kForward ? turn : v - 1 - turn;
    return PipelineItem{chunk * p + stage, k / (p * v) * p + k % p, pass};
  };
  return InTurn(
      shape.micro_batches * v, 2 * (p - 1 - stage) + (v - 1) * p,
      [&](int32_t k) { return item(k, PipelinePass::kForward); },
      [&](int32_t k) { return item(k, PipelinePass::kBackward); });
}

// Gradients of weights as late as the peak of 1f1b's first stage allows.
Sequence ZeroBubbleH1(int32_t stage, const PipelineShape& shape) {
  Sequence sequence;
  int32_t weights = 0, backward = 0;
  for (const PipelineItem& item : OneForwardOneBackward(stage, shape)) {
    sequence.push_back(item);
    if (item.pass != PipelinePass::kBackward || ++backward <= stage) continue;
    sequence.push_back({stage, weights++, PipelinePass::kWeights});
  }
  while (weights < shape.micro_batches) {
    sequence.push_back({stage, weights++, PipelinePass::kWeights});
  }
  return sequence;
}

std::string Describe(const PipelineItem& item) {
  constexpr std::array<std::string_view, 3> kPasses = {"forward", "backward", "weights"};
  return fmt::format("the {} pass of micro-batch {} over chunk {}",
                     kPasses[static_cast<size_t>(item.pass)], item.micro_batch + 1, item.chunk + 1);
}

class Merger {
 public:
  Merger(const std::vector<Sequence>& sequences, const PipelineShape& shape)
      : sequences_(sequences), last_(shape.stages * shape.chunks - 1), next_(sequences.size()) {}

  Result<Sequence> Merge() {
    // In rounds, as if all passes took equally long, so that the order is close to that in time.
    while (true) {
      Sequence round;
      for (size_t stage = 0; stage < sequences_.size(); ++stage) {
        if (Done(stage) || !IsReady(sequences_[stage][next_[stage]])) continue;
        round.push_back(sequences_[stage][next_[stage]++]);
      }
      if (round.empty()) break;
      done_.insert(round.begin(), round.end());
      merged_.insert(merged_.end(), round.begin(), round.end());
    }
    std::vector<std::string> waiting;
    for (size_t stage = 0; stage < sequences_.size(); ++stage) {
      if (!Done(stage)) waiting.push_back(Describe(sequences_[stage][next_[stage]]));
    }
    if (waiting.empty()) return std::move(merged_);
    return Refused(
        fmt::format("the order deadlocks: {} wait for one another", fmt::join(waiting, ", ")),
        fmt::format("The schedules are {}.", fmt::join(kPipelineSchedules, ", ")));
  }

 private:
  bool Done(size_t stage) const { return next_[stage] == sequences_[stage].size(); }
  bool Has(int32_t chunk, int32_t micro_batch, PipelinePass pass) const {
    return done_.contains({chunk, micro_batch, pass});
  }
  bool IsReady(const PipelineItem& item) const {
    switch (item.pass) {
      case PipelinePass::kForward:
        return item.chunk == 0 || Has(item.chunk - 1, item.micro_batch, PipelinePass::kForward);
      case PipelinePass::kBackward:
        return Has(item.chunk, item.micro_batch, PipelinePass::kForward) &&
               (item.chunk == last_ ||
                Has(item.chunk + 1, item.micro_batch, PipelinePass::kBackward));
      case PipelinePass::kWeights:
        return Has(item.chunk, item.micro_batch, PipelinePass::kBackward);
    }
    return false;
  }

  const std::vector<Sequence>& sequences_;
  const int32_t last_;
  std::vector<size_t> next_;
  std::set<PipelineItem> done_;
  Sequence merged_;
};

}  // namespace

Result<std::vector<Sequence>> PipelineSequences(std::string_view schedule,
                                                const PipelineShape& shape) {
  const bool known = std::find(kPipelineSchedules.begin(), kPipelineSchedules.end(), schedule) !=
                     kPipelineSchedules.end();
  if (!known) {
    return Refused(fmt::format("there is no pipeline schedule \"{}\"", Printable(schedule, 40)),
                   fmt::format("The schedules are {}.", fmt::join(kPipelineSchedules, ", ")));
  }
  const bool interleaved = schedule == "interleaved";
  if (interleaved != (shape.chunks > 1)) {
    return Refused(fmt::format("{} has {} a stage", schedule,
                               interleaved ? "two chunks or more" : "one chunk"),
                   "Chunks are of the schedule interleaved: two or more.");
  }
  if (interleaved && shape.micro_batches % shape.stages != 0) {
    return Refused(fmt::format("interleaved takes micro-batches in groups of {}, one for each "
                               "stage, and {} is no multiple of that",
                               shape.stages, shape.micro_batches),
                   "Give another number of --micro-batches, or 1f1b.");
  }
  std::vector<Sequence> sequences;
  for (int32_t stage = 0; stage < shape.stages; ++stage) {
    sequences.push_back(schedule == "gpipe"  ? Gpipe(stage, shape.micro_batches)
                        : schedule == "1f1b" ? OneForwardOneBackward(stage, shape)
                        : interleaved        ? Interleaved(stage, shape)
                                             : ZeroBubbleH1(stage, shape));
  }
  return sequences;
}

Result<Sequence> MergeSequences(const std::vector<Sequence>& sequences,
                                const PipelineShape& shape) {
  return Merger(sequences, shape).Merge();
}

}  // namespace placewright
