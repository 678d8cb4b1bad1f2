#include "formats/dnn_partitioning/workload_scale.h"

#include <algorithm>

#include "formats/dnn_partitioning/workload_graph.h"

namespace placewright {
namespace {

constexpr double kLargestActivation = 16384;  // bytes, for the largest cost
constexpr int64_t kMaxBandwidth = 1'000'000'000;

// Even, so that half of it is whole.
int64_t LinkBandwidth(const PipelineWorkload& workload) {
  double largest = 0;
  for (const double cost : workload.output_cost) largest = std::max(largest, cost);
  const double nanos = largest * kNanosPerWorkloadUnit;
  if (nanos <= kLargestActivation) return kMaxBandwidth;  // a byte a nanosecond is exact
  const auto bandwidth = static_cast<int64_t>(kLargestActivation * 1e9 / nanos);
  return std::max<int64_t>(2, bandwidth / 2 * 2);
}

// Every activation once, for every size up to a granule, and what rounds the limit down.
int64_t Uncounted(const PipelineWorkload& workload, const WorkloadScale& scale) {
  int64_t bytes = 1;
  for (const double cost : workload.output_cost) {
    bytes = SaturatingAdd(bytes, RoundUpToGranule(Bytes(1)).count);
    bytes = SaturatingAdd(bytes, RoundUpToGranule(scale.OfActivation(cost)).count);
  }
  return bytes;
}

// The largest power of two that keeps sizes and limit below 2^50, or 1.
int64_t LargestFactor(const PipelineWorkload& workload) {
  double max = workload.accelerator_memory;
  for (const WorkloadNode& node : workload.nodes) max += node.size;
  int64_t factor = int64_t{1} << 50;
  while (factor > 1 && max * static_cast<double>(factor) > 0x1p50) factor /= 2;
  return factor;
}

}  // namespace

Bytes WorkloadScale::OfActivation(double cost) const {
  const double nanos = cost * kNanosPerWorkloadUnit;
  return Bytes(static_cast<int64_t>(nanos * static_cast<double>(bandwidth) / 1e9 + 0.5));
}

Bytes WorkloadScale::OfSize(double size) const {
  const double bytes = size * static_cast<double>(size_factor);
  if (bytes >= static_cast<double>(kMaxQuantity)) return Bytes(kMaxQuantity);
  const auto whole = static_cast<int64_t>(bytes);
  return Bytes(static_cast<double>(whole) < bytes ? whole + 1 : whole);
}

WorkloadScale ScaleOf(const PipelineWorkload& workload) {
  constexpr double kLarge = 32;
  WorkloadScale scale;
  scale.bandwidth = LinkBandwidth(workload);
  scale.uncounted = Uncounted(workload, scale);
  const double limit = workload.accelerator_memory;
  if (limit < kLarge * static_cast<double>(scale.uncounted)) {
    scale.size_factor = LargestFactor(workload);
  }
  const double bytes = limit * static_cast<double>(scale.size_factor);
  scale.limit = Bytes(bytes >= static_cast<double>(kMaxQuantity) ? kMaxQuantity
                                                                 : static_cast<int64_t>(bytes));
  if (scale.exact()) scale.limit += Bytes(scale.uncounted);
  return scale;
}

}  // namespace placewright
