// In which order the stages of a pipeline run their micro-batches.
//
//   gpipe        all forward passes, then all backward passes (Huang et al., NeurIPS 2019)
//   1f1b         stage i of p: p-1-i forward passes ahead, then one forward and one backward pass in turn (PipeDream-
//                Flush; Narayanan et al., SC 2021, sec. 2.2.1)
//   interleaved  v chunks a stage, chunk c on stage c mod p; 2(p-1-i) + (v-1)p forward passes ahead, micro-batches in
//                groups of p (sec. 2.2.2)
//   zb-h1        1f1b with the gradients of weights apart: at stage i those of a micro-batch follow the i-th backward pass
//                behind its own, and fill the end (Qi et al., "Zero bubble pipeline parallelism", ICLR 2024, sec. 2.3)
//
// On p equal stages without transfers, with F, B and W for a micro-batch of a stage (B without gradients of weights), a
// stage idles for
//   gpipe, 1f1b  (p-1) (F + B + W)
//   interleaved  (p-1) (F + B + W) / v
//   zb-h1        (p-1) (B + max(F - W, 0)): the paper's (p-1) (F + B - W) where W is at most F. With a longer W the first
//                stage still waits (p-1) B for its first backward pass.
// of m (F + B + W) + that.
#ifndef PLACEWRIGHT_TRANSFORMS_PIPELINE_SCHEDULE_H_
#define PLACEWRIGHT_TRANSFORMS_PIPELINE_SCHEDULE_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace placewright {

inline constexpr std::array<std::string_view, 4> kPipelineSchedules = {"gpipe", "1f1b",
                                                                       "interleaved", "zb-h1"};

enum class PipelinePass : uint8_t {
  kForward,
  kBackward,  // with gradients of weights, but for zb-h1
  kWeights
};

// One pass of one micro-batch over one chunk of the model: the chunks follow one another, chunk c on stage c mod p.
struct PipelineItem {
  int32_t chunk = 0, micro_batch = 0;  // from 0
  PipelinePass pass = PipelinePass::kForward;
  friend auto operator<=>(const PipelineItem&, const PipelineItem&) = default;
};

struct PipelineShape {
  int32_t stages = 1, chunks = 1;  // chunks: of a stage; 1 but for interleaved
  int32_t micro_batches = 1;
};

// What each stage runs, in order. Errors: kTransform (an unknown schedule, chunks that it does not have, interleaved
// micro-batches that the stages do not divide).
Result<std::vector<std::vector<PipelineItem>>> PipelineSequences(std::string_view schedule,
                                                                 const PipelineShape& shape);

// One order of all of them that keeps each stage's own and in which each pass comes behind what it needs: the forward
// pass of the chunk before, the backward pass of the chunk behind. Errors: kTransform (a deadlock: named are the passes
// that wait for one another).
Result<std::vector<PipelineItem>> MergeSequences(
    const std::vector<std::vector<PipelineItem>>& sequences, const PipelineShape& shape);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_PIPELINE_SCHEDULE_H_
