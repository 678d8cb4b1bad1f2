// A table as the runs fill it: the best steps of each cell, and a verdict for each claim.
#ifndef PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLE_RESULT_H_
#define PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLE_RESULT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "bench/harness/tables/run_store.h"
#include "bench/harness/tables/tables.h"
#include "bench/harness/tables/verdict.h"

namespace placewright {

struct CellResult {
  std::vector<const StudyRun*> runs;  // by seed; nullptr where a run is still to come
  // Of those that are there, after the model's samples: what the cell shows, of most tables the best step.
  std::vector<std::optional<double>> best;
  // The same by seed, nothing where the run, or that which it is compared with, is still to come.
  std::vector<std::optional<std::optional<double>>> by_seed;
  // Geometric mean of `best`, of moves and figures, which may be 0, the arithmetic one; none without a run or where one of
  // them found nothing that fits. Its 95% interval, of two runs or more.
  std::optional<double> mean;
  double low = 0, high = 0;
  // Of moves until a step is faster: of the runs that are there, how many came to one, and the median of all.
  size_t solved = 0;
  double median = 0;
  // Of a run that was longer than the others: after all of its samples.
  std::optional<double> longer;
  int64_t longer_samples = 0;
  int64_t samples = 0;  // on the model itself
  std::optional<double>
      invalid;  // the share of samples that do not fit, averaged over the runs; none without any
  bool complete = false;  // every run is there

  bool nothing_fits() const { return !best.empty() && !mean; }
};

// A mean step so many times that of the best plan known is far above it. Where on all models of a claim every learned
// method of the table, and the two that it compares, are far above, methods stop before they find what there is to be
// found, and which of them is ahead then is no verdict on them: kIndistinct.
inline constexpr double kFarAbove = 1.1;

struct ClaimResult {
  PairedRatio ratio;  // p is that of the claim's margin
  Verdict verdict = Verdict::kUndecided;
  // Share of draws of perturbed costs under which the ratio lies on the same side of 1 (--rescore).
  std::optional<double> holds;
  // What is left out, in pairs (StudyClaim): as `less` never came near to
  // `more`, or found nothing that fits. No claim with such holds.
  size_t censored = 0, misfits = 0;
};

// Of one model, with the geometric means over its seeds (StudySpeedUp).
struct SpeedUpResult {
  double samples = 0, seconds = 0;  // times sooner
  size_t n = 0, never = 0;  // seeds; those from which `less` never came near, which are left out
};

struct TableResult {
  std::vector<std::vector<CellResult>> cells;  // [model][method]
  // [model]: the best step that a run of any cell found, however long, or another planner's plan has.
  std::vector<std::optional<double>> best_known;
  std::vector<ClaimResult> claims;
  std::vector<SpeedUpResult> speed_ups;  // [model]; empty: the table states none
};

// The runs of `less` and `more` of one model, of one seed each, where both are there. What plans at once
// has one run, which is paired with every seed of the other.
using RunPair = std::pair<const StudyRun*, const StudyRun*>;
std::vector<RunPair> PairsOfRuns(const StudyTable& table, const StudyClaim& claim,
                                 const std::vector<CellResult>& cells);

// `run_of(model, method, seed)` may be nullptr.
using RunOf = std::function<const StudyRun*(size_t model, size_t method, uint64_t seed)>;
TableResult Summarize(const StudyTable& table, const RunOf& run_of);

// What a claim measures of one run (StudyClaim); none where nothing fitted. `target`: of kSamples.
std::optional<double> Measured(const StudyRun& run, StudyClaim::Measure measure, int64_t samples,
                               double target);

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLE_RESULT_H_
