// What a search has found so far, as PlannerRun::result gives it, and its progress reports.
#ifndef PLACEWRIGHT_SEARCH_EVALUATION_RUN_RECORD_H_
#define PLACEWRIGHT_SEARCH_EVALUATION_RUN_RECORD_H_

#include "search/evaluation/plan_result.h"
#include "search/planner.h"

namespace placewright {

struct ScoredPlacement {
  Score score;
  GroupPlacement devices;
};

class RunRecord {
 public:
  // Both must outlive it.
  RunRecord(const Problem& problem, const PlannerOptions& options, std::string_view algorithm)
      : problem_(problem), options_(options) {
    result.algorithm = algorithm;
  }

  // `best` is the best plan after result.iterations; `changed`: another one than last time.
  void Update(const ScoredPlacement& best, bool changed);

  PlannerResult result;

 private:
  void ReportProgress(const ScoredPlacement& best, bool better);

  const Problem& problem_;
  const PlannerOptions& options_;
  Clock::time_point reported_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATION_RUN_RECORD_H_
