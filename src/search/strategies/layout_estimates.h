// What a strategy without a pipeline is estimated to take: LayoutFamily says how it shares out samples and parameters.
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_LAYOUT_ESTIMATES_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_LAYOUT_ESTIMATES_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "search/strategies/some_gpus.h"
#include "search/strategies/step_table.h"
#include "search/strategies/strategy_space.h"

namespace placewright {

struct LayoutFamily {
  std::string_view algorithm;
  bool shards = false, in_hosts = false, gathers_anew = false;
  enum Split : uint8_t { kSamples, kWidths, kHeadsOfTokens, kTokens, kExperts } split = kSamples;
  bool by_speed = false;  // --set shares=speed, or a name of its own
  bool by_work = false;   // --set tokens=work
};
inline constexpr std::array<LayoutFamily, 20> kLayoutFamilies = {{
    {.algorithm = "data-parallel"},
    {.algorithm = "data-parallel-p", .by_speed = true},
    {.algorithm = "zero-2", .shards = true},
    {.algorithm = "zero-2", .shards = true, .by_speed = true},
    {.algorithm = "hybrid-zero-2", .shards = true, .in_hosts = true},
    {.algorithm = "hybrid-zero-2", .shards = true, .in_hosts = true, .by_speed = true},
    {.algorithm = "fsdp", .shards = true, .gathers_anew = true},
    {.algorithm = "fsdp", .shards = true, .gathers_anew = true, .by_speed = true},
    {.algorithm = "hsdp", .shards = true, .in_hosts = true, .gathers_anew = true},
    {.algorithm = "hsdp", .shards = true, .in_hosts = true, .gathers_anew = true, .by_speed = true},
    {.algorithm = "tensor", .split = LayoutFamily::kWidths},
    {.algorithm = "2d", .shards = true, .gathers_anew = true, .split = LayoutFamily::kWidths},
    {.algorithm = "2d",
     .shards = true,
     .in_hosts = true,
     .gathers_anew = true,
     .split = LayoutFamily::kWidths},
    {.algorithm = "ulysses", .shards = true, .split = LayoutFamily::kHeadsOfTokens},
    {.algorithm = "ulysses",
     .shards = true,
     .in_hosts = true,
     .split = LayoutFamily::kHeadsOfTokens},
    {.algorithm = "context", .shards = true, .split = LayoutFamily::kTokens},
    {.algorithm = "context", .shards = true, .in_hosts = true, .split = LayoutFamily::kTokens},
    {.algorithm = "context", .shards = true, .split = LayoutFamily::kTokens, .by_work = true},
    {.algorithm = "context",
     .shards = true,
     .in_hosts = true,
     .split = LayoutFamily::kTokens,
     .by_work = true},
    {.algorithm = "experts", .shards = true, .split = LayoutFamily::kExperts},
}};

// `degree`: GPUs that have parts of a sample, one if none is split. Precondition: it divides the GPUs, and a micro-batch has
// a sample for each group. Sets time, floor, memory and capacity.
void EstimateLayout(const LayoutFamily& family, int64_t degree, const SomeGpus& gpus,
                    const StepFacts& facts, const StepTable& table, StrategyEstimate& estimate);

// Bytes of all samples that tensor parallelism adds: what attention and perceptrons read is gathered of all tokens, and
// kept for the gradients of their weights, or where layers are computed again for one layer at a time.
double GatheredTokens(const StepTable& table, const Rewriting& rewriting, int64_t degree);

// The fullest device decides: `bytes` beside what it has for its runtime.
void TakeMemory(const SomeGpus& gpus, DeviceId device, double bytes, StrategyEstimate& estimate);
Nanos RoundedNanos(double nanos);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_LAYOUT_ESTIMATES_H_
