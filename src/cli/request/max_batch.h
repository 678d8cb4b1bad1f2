// `plan --max-batch`: the largest batch at which a step fits.
#ifndef PLACEWRIGHT_CLI_REQUEST_MAX_BATCH_H_
#define PLACEWRIGHT_CLI_REQUEST_MAX_BATCH_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "cli/request/distributed.h"
#include "cli/terminal/console.h"
#include "cli/terminal/options.h"
#include "formats/text/json.h"
#include "planning/batch_trials.h"
#include "search/planner.h"

namespace placewright {

struct MaxBatchRequest {
  InputOptions input;  // without a batch
  const SearchOptions& search;
  const SpaceOptions& space;
  const Planner& asked;  // tried alone where it makes one plan
  StopToken stop;
  // The fastest strategy for each batch, in one micro-batch: layers may be computed again. (Micro-batches would make any
  // batch fit.) Of a step that may be rewritten; of others plans of it as it is.
  bool strategies = false;
};

// Says each trial on standard error. Errors: kBatchScaling where nothing proves how the graph's sizes follow
// the batch; kInfeasible or kNothingFound where batch 1 does not fit; kInterrupted; those of reading the graph and of the
// planner.
Result<MaxBatch> FindMaxBatch(const MaxBatchRequest& request, Console& console);

// For an error at a batch that does not fit: the largest one below it that does, as far as `limit` reaches.
struct SmallerBatch {
  int64_t batch = 0;
  bool largest =
      false;  // all batches up to the next were looked at as FindMaxBatch does; else time was over
  std::string algorithm;  // whose plan fits
};
// Silent. Nothing where none was found, or nothing proves how sizes follow the batch.
std::optional<SmallerBatch> FindSmallerBatch(const MaxBatchRequest& request, int64_t batch,
                                             std::chrono::seconds limit, Console& console);

// "57; at 58 no plan that fits was found"
std::string DescribeMaxBatch(const LargestBatch& found);
// "batch 56: 812 samples/s (horovod; 57: 790), by quick plans"
std::string DescribeBestRate(const MaxBatch& found);
// {batch, best_rate{batch, samples_per_second, algorithm}, rates[as best_rate], trials[{batch, verdict, reason, seconds}]}
Json MaxBatchToJson(const MaxBatch& found);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_MAX_BATCH_H_
