// Where a pipeline is cut and which layers are computed again: dynamic programming (layer_program.h) over what each layer
// takes on the GPUs of each stage, of one kind or of several. A stage of slow GPUs or with the head has fewer layers; one
// that holds the activations of many micro-batches, as the first of 1f1b, computes more of them again.
//
// What is reckoned with: passes, launches and collectives of tensor groups of each layer, the state of its parameters, and
// its activations of as many micro-batches as the schedule holds. An interleaved schedule has a stage for every chunk, with
// its part of the memory, and v (m - p) + p micro-batches: v m chunks run one after the other, behind p - 1. Not reckoned
// with: sums of gradients, and transfers that other boundaries do not have.
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_PIPELINE_STAGES_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_PIPELINE_STAGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "search/strategies/layer_program.h"
#include "search/strategies/pipeline_estimates.h"
#include "search/strategies/step_table.h"

namespace placewright {

struct StageChoice {
  std::vector<int64_t> layers;  // of each chunk
  std::vector<bool> again;      // of each layer: it is computed again
  Nanos optimum;                // of LayerProgram
};

class PipelineStages {
 public:
  // A chunk of a table is a layer: all are kept, or all are computed again. `again`: nullptr, nothing may be. Both outlive
  // it.
  PipelineStages(const ChunkTable& kept, const ChunkTable* again) : kept_(kept), again_(again) {}

  // The step, had every stage work in proportion to its speed, with the wait of the schedule (pipeline_schedule.h), of
  // which zb-h1 has no less than a third.
  Nanos Floor(const PipelineOnGpus& of) const;
  // Of LayerProgram, with all layers kept, were memory no limit. None: there are fewer layers than stages.
  std::optional<Nanos> Fastest(const PipelineOnGpus& of) const;
  // For `share` of the memory. `fastest`: that of Fastest, where layers may be computed again to come near it. None: nothing
  // fits.
  std::optional<StageChoice> Choose(const PipelineOnGpus& of, double share,
                                    std::optional<Nanos> fastest = std::nullopt) const;
  // The chunks that a choice makes: they send what the layers at their ends send.
  ChunkTable Joined(const StageChoice& choice) const;

 private:
  LayerProgram MakeProgram(const PipelineOnGpus& of, double share, bool may_recompute) const;

  const ChunkTable& kept_;
  const ChunkTable* const again_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_PIPELINE_STAGES_H_
