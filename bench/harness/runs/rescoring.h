// Whether the order of a table's winners is one of the cost model's details: the placements of its
// runs, simulated again under perturbed costs. One simulator selects the placements and judges them.
#ifndef PLACEWRIGHT_BENCH_HARNESS_RUNS_RESCORING_H_
#define PLACEWRIGHT_BENCH_HARNESS_RUNS_RESCORING_H_

#include "base/stop.h"
#include "bench/harness/tables/table_result.h"
#include "cli/terminal/console.h"

namespace placewright {

// Fills in ClaimResult::holds of claims about best steps that have runs: under each of `draws` draws,
// in which every op takes 0.8 to 1.2 times as long (uniform, one factor for all devices), the
// geometric mean of the ratios of the winners that the claim pairs (of several models that of their
// geometric means), and the share of draws in which it lies on the side of 1 on which it lies without;
// a draw under which one of them does not fit any more is none of these. Claims without a pair that
// fits, and those that the budget does not reach, stay without; models of which one placement never
// fitted are left out, as in the claim. A model whose
// runs are of another recording (LibTorch's versions differ) is named in a note, and its claims stay without, too.
// Errors: those of reading the graphs; kField (a stored placement that may not be).
Status RescoreWinners(const StudyTable& table, int draws, const Budget& budget, Console& console,
                      TableResult& result);

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_RUNS_RESCORING_H_
