// The largest batch at which a step fits, by trials: doubling from a first one, then bisection.
//
// What is promised: a plan is at hand for the batch that is found, and the batch above it was tried, too,
// without one. Whether a step fits need not be monotone in its batch (shares are rounded, allocations come in
// granules, and a trial may not find a plan that there is), so that a larger batch may fit that was not tried.
// With b the result and s the start there are about 2 |log2(b / s)| + log2(b) trials at most.
#ifndef PLACEWRIGHT_PLANNING_LARGEST_BATCH_H_
#define PLACEWRIGHT_PLANNING_LARGEST_BATCH_H_

#include <placewright/base/result.h>
#include <placewright/base/stop.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

enum class BatchVerdict : uint8_t {
  kFits,        // a plan was found
  kProvenNot,   // no plan of the space fits
  kNotFound,    // no plan was found
  kNotPossible  // there is no step at that batch: a size that is out of range, say
};
std::string_view ToString(
    BatchVerdict verdict);  // "fits", "proven-not", "not-found", "not-possible"

struct BatchTrial {
  int64_t batch = 0;
  BatchVerdict verdict = BatchVerdict::kNotFound;
  std::string reason;  // the planner whose plan fits, or what is in the way
  double seconds = 0;
};

struct LargestBatch {
  int64_t batch = 0;               // 0: none fits
  std::vector<BatchTrial> trials;  // in their order
  bool interrupted = false;        // batch is the largest until then

  // The trial at the smallest batch above `batch` that did not fit; nullptr: none was tried.
  const BatchTrial* Above() const;
};

// `start` and `max` at least 1. Errors: those of `trial`.
Result<LargestBatch> FindLargestBatch(int64_t start, int64_t max,
                                      const std::function<Result<BatchTrial>(int64_t batch)>& trial,
                                      const StopToken& stop = {});

// How many samples a second a step makes at a batch, with the fastest plan that quick means find.
struct BatchRate {
  int64_t batch = 0;
  double samples_per_second = 0;
  std::string algorithm;
};

// The rates at the batches where the best may be: the largest, its largest multiple of `devices` (which then have equal
// shares), and trials that fitted, the largest first until two in a row are no faster than what was found before.
// `rate`: none where no plan is found. Errors: those of `rate`. With b the result about log2(b) calls at most.
Result<std::vector<BatchRate>> FindBatchRates(
    const LargestBatch& found, int64_t devices,
    const std::function<Result<std::optional<BatchRate>>(int64_t batch)>& rate,
    const StopToken& stop = {});

// Of equal rates the one at the smaller batch. `rates` has one at least.
const BatchRate& BestRate(const std::vector<BatchRate>& rates);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_LARGEST_BATCH_H_
