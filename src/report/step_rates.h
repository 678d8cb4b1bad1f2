// How fast a step is in the units that users of GPUs speak: tokens or samples a second, MFU, GPU-hours.
#ifndef PLACEWRIGHT_REPORT_STEP_RATES_H_
#define PLACEWRIGHT_REPORT_STEP_RATES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "cost/precision.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "plan/step_lanes.h"

namespace placewright {

// Of a step in the words of its batch, which one has the same for all plans.
struct StepWork {
  int64_t samples = 0;   // 0: not known
  int64_t sequence = 0;  // tokens of a sample; 0: the step has no sequence
  // Of products (2 a multiply-accumulate), attention without mask included. What the backward pass
  // computes again is not counted: ops that no gradient reaches (checkpoints), and the scores of fused attention.
  double flops = 0;
};

// The sequence: of the longest input of integers [batch, sequence] in which an embedding looks up each.
StepWork WorkOfStep(const Graph& graph);

struct StepRates {
  StepWork work;
  Nanos step_time;
  int64_t gpus = 0;  // that run an op
  // What of the step its FLOPs would take at the peak of these GPUs together, each op's at the
  // precision that it multiplies in: work.flops / (step time * peak) where there is one precision. None
  // without products or GPUs, and where the peak of one is not known.
  std::optional<double> mfu;
  double peak_flops = 0;  // of the GPUs together a second, over the products' precisions
  // From the first op's start to the last op's end, the share of time in which a device that runs ops
  // runs none, on the average. None with fewer than two devices.
  std::optional<double> idle;

  double SamplesPerSecond() const;
  double TokensPerSecond() const;
  double GpuHours() const;                  // of a step
  double GpuHoursPerMillionTokens() const;  // 0 without a sequence
};

struct RatedStep {
  const Graph& original;  // whose FLOPs count
  const Graph& step;      // compiled of it, or itself
  const Placement& placement;
  const Schedule& schedule;
  Nanos step_time;
  const Cluster& cluster;
  FloatPrecision precision = FloatPrecision::kPyTorch;
  const StepLanes* lanes = nullptr;  // of a step in lanes
};
StepRates RatesOf(const RatedStep& of);

// Where step times come from: "given", "measured", "modelled", or "given and modelled".
std::string SourceOfTimes(const CostShares& shares);

// "2,100,512 tokens/s, 262,564 a GPU; MFU 31.2%; 0.0011 GPU-hours a million tokens (modelled)"; an
// empty text where the step uses no GPU or nothing of it is known. `idle`: the bubble, too.
std::string DescribeRates(const StepRates& rates, const std::string& source, bool idle);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_STEP_RATES_H_
