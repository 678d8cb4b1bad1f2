// Published weak scaling of data parallelism: how much faster a training step's samples are done by
// several GPUs than by few, with the same samples on each GPU.
#ifndef PLACEWRIGHT_BENCH_SCALING_ROWS_H_
#define PLACEWRIGHT_BENCH_SCALING_ROWS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "cost/precision.h"
#include "torch_api/capture_service.h"

namespace placewright::bench {

// What is published for one number of GPUs.
struct Throughput {
  std::string_view cluster;  // preset
  int32_t gpus = 1;          // the first ones
  double per_second = 0;     // samples
  // Gradients of so many batches are accumulated before an update, and reduced after each of them.
  int32_t batches = 1;
};

struct ScalingRow {
  std::string_view model;  // of the zoo
  std::map<std::string, double> values;
  int64_t batch = 0;  // on each GPU
  // As the framework was set: mixed precision, or float32 in this precision.
  CapturePrecision amp = CapturePrecision::kAsIs;
  FloatPrecision precision = FloatPrecision::kFp32;
  Bytes fusion;  // gradients are reduced together up to so many bytes; 0: each by itself
  Throughput few, many;
  std::string_view source;  // key of docs/results/scaling.md
  // Why its prediction differs by more than 10 points: a key of the same section; else empty.
  std::string_view beyond{};
  bool quick = false;  // of those that ./test predicts

  double Published() const {
    return many.per_second / few.per_second * few.gpus / static_cast<double>(many.gpus);
  }
};

std::span<const ScalingRow> ScalingRows();

}  // namespace placewright::bench

#endif  // PLACEWRIGHT_BENCH_SCALING_ROWS_H_
