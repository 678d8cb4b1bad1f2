// Makes the runs of a study's table that plan steps which may be split (StudyMethod::kStrategies), and those that read what
// a training came to (kFit).
#ifndef PLACEWRIGHT_BENCH_HARNESS_RUNS_STRATEGY_RUNS_H_
#define PLACEWRIGHT_BENCH_HARNESS_RUNS_STRATEGY_RUNS_H_

#include <optional>
#include <string>

#include "base/result.h"
#include "base/stop.h"
#include "bench/harness/tables/run_store.h"
#include "bench/harness/tables/tables.h"

namespace placewright {

// The key of such a cell's run from that seed.
RunKey StrategyKeyOf(const StudyTable& table, size_t model, const StudyMethod& method,
                     uint64_t seed);

// Its policy, whatever the seed.
std::string StrategyPolicyOf(const StudyModel& model, const StudyMethod& method);

// None: its policy is neither in `kept` nor with the program; what is missing is `missing`. Errors: those of reading the
// graph, the policy and the planner.
Result<std::optional<StudyRun>> MakeStrategyRun(const StudyMethod& method, const RunKey& key,
                                                const std::string& kept, const StopToken& stop,
                                                std::string* missing);

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_RUNS_STRATEGY_RUNS_H_
