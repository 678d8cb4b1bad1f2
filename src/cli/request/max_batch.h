// `plan --max-batch`: the largest batch at which a step fits.
#ifndef PLACEWRIGHT_CLI_REQUEST_MAX_BATCH_H_
#define PLACEWRIGHT_CLI_REQUEST_MAX_BATCH_H_

#include <optional>
#include <string>

#include "base/result.h"
#include "base/stop.h"
#include "cli/request/distributed.h"
#include "cli/terminal/console.h"
#include "cli/terminal/options.h"
#include "formats/text/json.h"
#include "planning/largest_batch.h"
#include "search/planner.h"

namespace placewright {

struct MaxBatchRequest {
  InputOptions input;  // without a batch
  const SearchOptions& search;
  const SpaceOptions* space;  // nullptr: ops are placed whole
  const Planner& asked;       // tried alone where it makes one plan
  StopToken stop;
};

struct MaxBatch {
  LargestBatch found;  // batch at least 1
  PlannerResult plan;  // at that batch, one that fits
};

// Says each trial on standard error. Errors: kBatchScaling where nothing proves how the graph's sizes follow
// the batch; kInfeasible or kNothingFound where batch 1 does not fit; kInterrupted; those of reading the graph and of the
// planner.
Result<MaxBatch> FindMaxBatch(const MaxBatchRequest& request, Console& console);

// What a search over layouts is to start from: the trials' plan, where it took such a search to find that the batch
// fits, as one within the time may come to nothing; else nothing.
std::vector<DistributionSpec> StartsOf(const MaxBatch& found);
// The batch was chosen by a plan that fits: the result of the search at that batch becomes that plan where it is no
// better, and keeps what the search did (its moves, baselines, notes).
void TakeTrialsPlan(const MaxBatch& found, PlannerResult& result);

// "57; at 58 no plan that fits was found"
std::string DescribeMaxBatch(const LargestBatch& found);
// {batch, trials[{batch, verdict, reason, seconds}]}
Json MaxBatchToJson(const LargestBatch& found);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_MAX_BATCH_H_
