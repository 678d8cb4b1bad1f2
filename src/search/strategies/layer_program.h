// Dynamic programming over the layers of a model: which of them each stage of a pipeline has, and what is chosen for each
// (to keep its activations, or compute them again), so that a step takes the shortest time in this model:
//
//   time    sum_i T_i + (K - 1) max_i T_i + what crosses between stages
//   memory  of stage i: the sum over the choices of its layers, at most what its devices have
//
// of p stages on groups of devices in their order, K micro-batches, and T_i the times of a micro-batch over the choices of
// the stage's layers, with what it takes to change from one choice to the next. A choice's memory is its state, and its
// activations of as many micro-batches as the schedule holds on that stage (1f1b: min(K, p - i)).
//
// Exact: time grows with every T_i, so that a stage of given layers takes the fastest choices that fit, which are on the
// front of time and memory over its layers; stages are joined on the front of the sum and the largest of their times.
//
// Complexity: O(p L^2 C^2 F) of L layers, C choices, and F points of a front, which `grain` bounds.
// Reference: Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021, sec. 3.3 (1F1B's memory); the
// objective is that of 1f1b without overlap. Its optimum is no bound of a step: collectives and idle devices are not in it.
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_LAYER_PROGRAM_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_LAYER_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace placewright {

struct LayerChoice {
  int64_t time = 0;    // ns of a micro-batch, both passes
  int64_t memory = 0;  // bytes
};

struct LayerProgram {
  int64_t micro_batches = 1;
  std::vector<int64_t> capacity;  // bytes, of each stage
  // By stage, layer, choice: times differ by the stage's devices. Of every layer the same number of choices.
  std::vector<std::vector<std::vector<LayerChoice>>> choices;
  // ns from a layer's choice (row) to the next layer's within a stage; empty: nothing.
  std::vector<std::vector<int64_t>> conversion;
  std::vector<int64_t> crossing;  // ns behind each layer where a stage ends there; empty: nothing
  int64_t grain = 1;              // bytes: memory of a choice counts in so many, rounded up
};

struct LayerSolution {
  int64_t time = 0;
  std::vector<size_t> first;  // layer of each stage, which has at least one
  std::vector<size_t>
      choice;  // of each layer; of equal solutions the later layers have the earlier choices
};

// None: nothing fits, or there are fewer layers than stages.
std::optional<LayerSolution> SolveLayers(const LayerProgram& program);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_LAYER_PROGRAM_H_
