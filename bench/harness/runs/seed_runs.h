// Makes the runs of a study's table: plans by methods that plan at once, trainings of learned ones,
// which can be cut short and go on later.
#ifndef PLACEWRIGHT_BENCH_HARNESS_RUNS_SEED_RUNS_H_
#define PLACEWRIGHT_BENCH_HARNESS_RUNS_SEED_RUNS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/stop.h"
#include "bench/harness/tables/run_store.h"
#include "bench/harness/tables/table_result.h"
#include "bench/harness/tables/tables.h"
#include "cli/request/planning.h"
#include "cli/terminal/console.h"

namespace placewright {

// A run that a table wants.
struct WantedRun {
  const StudyMethod* method = nullptr;
  RunKey key;
  RunKey cell;  // the key without what the seed changes: of all runs of a cell
  int64_t samples = 0;
  int64_t judged = 0;  // of those, the first that the table compares: whose best placement is kept
  bool recurrent = false;  // the model
  // What the policy is trained on before, and its name; key.source also says what comes after that.
  std::vector<StudyGraph> before;
  std::string source_before;
  int64_t samples_before = 0;  // of each of these
};

// Of the cell's run from that seed. Errors: those of AgentSettings::Parse.
Result<WantedRun> WantedRunOf(const StudyTable& table, size_t model, size_t method, uint64_t seed);
// All of a table, in the order in which they are made: methods that plan at once, methods with one
// seed but for slow ones, the seeds after 0 one by one, so that pairs are complete early, models with
// one seed, and seed 0, which may be long, with the slow methods.
Result<std::vector<WantedRun>> WantedRuns(const StudyTable& table);
// Of these, in the same order, so many of each cell at most.
std::vector<WantedRun> FirstOfCells(const std::vector<WantedRun>& runs, int seeds);
// Once all of a table are there: more seeds of what undecided claims compare, where the table allows more.
Result<std::vector<WantedRun>> FurtherRuns(const StudyTable& table, const TableResult& result);
// The problem that a run is of. Errors: those of reading the graph.
Result<std::unique_ptr<Planning>> PrepareRun(const RunKey& key);
// Errors: kPlanMismatch (of a graph with other groups), kField (a device where a group may not be).
Result<Placement> PlacementOfRun(const Problem& problem, const StudyRun& run);
// nullptr where the store has no such run.
const StudyRun* FindRun(const RunStore& store, const WantedRun& wanted);

// Makes a run, and adds it to the store. What a training has reached is kept in the folder `kept`
// (now and then, and where the budget ends) and taken up from there. False where the budget ended
// it, or where another process is making it. Errors: those of reading the graph, of opening LibTorch
// and of writing.
Result<bool> MakeRun(const WantedRun& wanted, const std::string& kept, const Budget& budget,
                     RunStore& store, Console& console);

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_RUNS_SEED_RUNS_H_
