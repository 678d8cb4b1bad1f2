// What a pipeline is estimated to take: samples of a micro-batch shared out over the GPUs of each stage, or tensor groups
// (3d). Stages may have GPUs of several kinds.
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_PIPELINE_ESTIMATES_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_PIPELINE_ESTIMATES_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "search/strategies/some_gpus.h"
#include "search/strategies/step_table.h"
#include "search/strategies/strategy_space.h"
#include "transforms/pipeline_schedule.h"

namespace placewright {

// A pipeline on some GPUs. `degree`: GPUs of a tensor group, 1: none. Everything outlives it.
struct PipelineOnGpus {
  int64_t degree = 1;
  const SomeGpus& gpus;
  const StepFacts& facts;
  const StepTable& table;
  const Rewriting& rewriting;  // stages, chunks, schedule and micro-batches
  bool chosen_layers = false;  // are computed again: ChunkTable::Chunk::again
};

// The GPUs of one stage, and what each of them does of a micro-batch.
class StageGpus {
 public:
  StageGpus(const PipelineOnGpus& of, int64_t stage);

  const SomeGpus::Devices& devices() const { return devices_; }
  // Of devices that are alike and follow one another the first.
  const SomeGpus::Devices& each_sort() const { return each_sort_; }
  double degree() const { return static_cast<double>(of_.degree); }
  double samples() const { return samples_; }  // of the step's, of a group
  double Share(DeviceId device) const;         // of what all samples take, and keep
  // Collectives of tensor groups that so many sums of partial results make, in a pass.
  double Forward(double sums) const;
  double Backward(double sums) const;

 private:
  double Collective(CollectiveKind kind) const;

  const PipelineOnGpus of_;
  const SomeGpus::Devices devices_;
  SomeGpus::Devices each_sort_;
  double samples_ = 0;
};

// Micro-batches whose activations a stage holds at a time.
double HeldBy(const Rewriting& of, int64_t stage);

// In which order the passes of a schedule run, of its first micro-batches: found once for all pipelines of one shape.
class PipelineOrders {
 public:
  struct Order {
    int64_t micro_batches = 0;
    std::vector<PipelineItem> items;  // none: the schedule is none
  };
  const Order& Of(const Rewriting& rewriting);

 private:
  std::map<std::tuple<std::string, int64_t, int64_t, int64_t>, Order> orders_;
};

// Sets time, floor, memory and capacity. Precondition: the degree divides every stage's GPUs, and a micro-batch has a
// sample for each group.
void EstimatePipeline(const PipelineOnGpus& of, const ChunkTable& chunks, PipelineOrders& orders,
                      StrategyEstimate& estimate);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_PIPELINE_ESTIMATES_H_
