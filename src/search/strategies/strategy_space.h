// The strategies for a step on a cluster, and what each is estimated to take: from tables of the step (step_table.h) and
// the times of collectives (cost/communication.h), in microseconds, before anything is rewritten or compiled.
//
//   time    K (F + B) + update + what communication is not hidden: a pass hides as much of it as it takes itself, slowed
//           down by it, but for the first gather and the last sum. F, B: a micro-batch of the slowest device, products in
//           equal parts; with every micro-batch launches, what a product takes however small, casts of gradients; on
//           equal GPUs the slowest of them
//   memory  shares of parameters, state and gradients, what is gathered of others, and the activations of a micro-batch
//           at the moment of the step, in the order of the program, that holds the largest sum
//   floor   the time without communication and launches: what is computed again is in it, a pipeline's bubble is not
//
// of a pipeline of p stages, m micro-batches, v chunks a stage:
//
//   time    the passes one after the other, as the schedule has them (transforms/pipeline_schedule.h), with what crosses
//           between stages, and behind a stage's last pass what sums of gradients are not hidden, and its update
//   memory  of stage i min(m, p - i) micro-batches' activations, p of zb-h1
//
// Estimates rank strategies; plans are what the best of them come to when simulated. Left out: links that two collectives
// or transfers share, what a pass waits for besides (a mask made of all samples, say).
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_STRATEGY_SPACE_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_STRATEGY_SPACE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/strategy.h"
#include "search/problem/layout_problem.h"

namespace placewright {

// What of a rewriting is stated, and kept.
struct StatedRewriting {
  std::optional<int64_t> micro_batches{};
  std::optional<std::vector<std::string>> recompute{};
};

struct StrategyEstimate {
  Strategy strategy;
  Nanos time, floor;
  Bytes memory, capacity;  // of the fullest device
  Nanos layer_optimum;     // of LayerProgram, where it chose stages or layers; zero: it did not
  std::string why_not;     // it is none for this step and cluster
  bool Fits() const { return why_not.empty() && memory <= capacity; }
};

// Of the step as it was recorded.
// The families of layout_estimates.h with every degree, every number of micro-batches that divides the batch and leaves
// each part a sample, and each set of recomputation; 1f1b, interleaved and zb-h1, and these in tensor groups (3d), with
// every number of stages that divides the devices or is that of the hosts besides. On all GPUs, on each kind with those
// that are faster, and on one host (some_gpus.h); where kinds differ in equal shares, and in shares by speed. Micro-batches
// of batch norms compute another step: only where they are stated.
// Estimates are handed out with the fastest of those that fit first, then the others by memory, then those that are none.
class StrategyEstimator {
 public:
  // `problem` is of no rewriting, and outlives it. Errors: kInfeasible (no device supports every op).
  static Result<StrategyEstimator> Make(const LayoutProblem& problem,
                                        const StatedRewriting& stated);
  StrategyEstimator(StrategyEstimator&&) noexcept;
  ~StrategyEstimator();

  // Of all but pipelines, in less than half of the time that all take. Once.
  std::vector<StrategyEstimate> Unpipelined();
  // These and pipelines. Once, behind Unpipelined.
  std::vector<StrategyEstimate> All();

 private:
  class Impl;
  explicit StrategyEstimator(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_STRATEGY_SPACE_H_
