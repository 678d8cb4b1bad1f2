// What a recorded step takes, from the step, its named axes and its costs alone: what StrategyEstimates reckon with. A step
// with recomputation has a table of its own, since what is computed again is in its ops and what is kept in its lifetimes.
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_STEP_TABLE_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_STEP_TABLE_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "search/layouts/model_structure.h"
#include "search/problem/layout_problem.h"

namespace placewright {

struct StepTable {
  // Ops that take time. On every device, of all samples: the time without launches.
  struct Work {
    explicit Work(size_t devices = 0) : nanos(devices, 0), by_width(devices, 0) {}
    IdVector<DeviceId, double> nanos;
    IdVector<DeviceId, double> by_width;  // of them, of ops that heads or inner widths split
    double launches = 0;
  };
  // A work by what divides it: samples (of the forward and the backward pass), nothing, shards of parameters.
  Work forward, backward, once, update;

  // Bytes alive at some moment of the step in the order of the program, beside what is there for the whole step.
  struct Moment {
    double samples = 0;  // what the batch divides
    double widths = 0;   // of that, what heads or inner widths divide, too
    double others = 0;   // gradients of parameters, casts of them, temporaries of the update
  };
  std::vector<Moment> moments;  // none is nowhere above another one
  double Peak(double per_sample_part, double per_width_part, double per_other_part) const;
  // Of the activations that a forward pass leaves behind: what its backward pass reads.
  double kept = 0;

  double parameters = 0, gradients = 0, state = 0;  // bytes; state: of the optimizer
  double by_width = 0;                      // of the parameters, what heads or inner widths divide
  double in_layers = 0, largest_layer = 0;  // of the parameters
  int64_t layers = 0;
  std::map<int64_t, int64_t>
      sizes;  // of parameters that have gradients: how many have so many bytes

  // What heads and inner widths make partial sums of, by pass: bytes of all samples, and of how many tensors.
  struct Sums {
    double bytes = 0;
    int64_t tensors = 0;
  };
  Sums forward_sums, backward_sums;
  // Read and made by attention in one operator in the forward pass, of all samples.
  double attention_bytes = 0;
  int64_t attentions = 0;
};

// The same of the chunks that a pipeline cuts the step into.
struct ChunkTable {
  struct Chunk {
    IdVector<DeviceId, double> forward, backward, weights;  // ns; of weights: part of `backward`
    double launches = 0;
    double
        kept = 0,
        peak =
            0;  // bytes that samples divide: kept for the backward pass; at the highest, these included
    double parameters = 0, gradients = 0, state = 0;
    int64_t tensors = 0;  // that have gradients
  };
  std::vector<Chunk> chunks;
};

// `step`: the problem's graph, or what WithRecomputation makes of it. Complexity: O(ops + edges), and of one moment for
// every other one.
StepTable MakeStepTable(const LayoutProblem& problem, const Graph& step,
                        const ModelStructure& structure);
// `pipeline`: stages and chunks. Errors: those of PipelineChunks.
Result<ChunkTable> MakeChunkTable(const LayoutProblem& problem, const Graph& step,
                                  const Transform& pipeline);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_STEP_TABLE_H_
