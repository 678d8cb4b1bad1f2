// A plan and the files beside it: `foo.plan.json` has its costs in `foo.plan.costs.json` and its
// schedule in `foo.plan.schedule.json`. The plan names all files it depends on with their hashes.
#ifndef PLACEWRIGHT_FORMATS_PLAN_PLAN_FILES_H_
#define PLACEWRIGHT_FORMATS_PLAN_PLAN_FILES_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/input.h"
#include "formats/plan/plan_json.h"
#include "formats/text/json.h"
#include "plan/plan.h"

namespace placewright {

// "a/foo.plan.json" -> "a/foo.plan.costs.json" (suffix "costs"); without ".json" it is appended.
// Gzip where the plan is: "foo.plan.json.gz" -> "foo.plan.costs.json.gz".
std::string PathBeside(const std::string& plan_path, const std::string& suffix);

// Of a distributed plan's compiled step: always gzip.
std::string StepPath(const std::string& plan_path);

// Whether a plan at `plan_path` can name these files, the paths as in WritePlanFiles. Errors:
// kUsage for a path that is not UTF-8, as JSON must be.
Status CheckPathsUtf8(const std::string& graph, const std::string& cluster,
                      const std::string& plan_path);

// Writes the costs, the schedule and the plan, and puts them in place only when all are written,
// the plan last. `plan.graph` and `plan.cluster` carry hashes and paths as the user gave them
// (relative to the current folder); they are stored relative to the plan's folder where the file
// lies in or below it, else absolute. The references to costs and schedule are filled here. Errors:
// kFileUnwritable; an earlier plan of that name is then untouched, and so are its files unless a
// rename failed.
// For a plan with a distribution: `graph` is the compiled step's, whose file `step` is written beside the
// plan, too (`foo.plan.compiled.json.gz`), and costs and schedule that have more than 8 MiB get the ending `.gz`.
Status WritePlanFiles(Plan plan, const CostTable& costs, const Schedule& schedule,
                      const Graph& graph, const Cluster& cluster, const std::string& plan_path,
                      const std::string& step = "");

struct PlanInputs {
  Plan plan;          // of a distributed one also with the placement of the step's ops
  Json document;      // the plan file as it is, digest included
  LoadedGraph graph;  // of a distributed plan the compiled step
  LoadedCluster cluster;
  CostTable costs;
  ScheduleFile schedule;
  Sequences sequences;  // a placement given by hand may have them
};

struct PlanInputOptions {
  // Where the files lie now, if not where the plan says.
  std::optional<std::string> graph, cluster;
  // A plan in lanes (Plan::lanes) is read as its files are, of the first devices alone, without costs.
  bool in_lanes = false;
};

// Reads a plan file alone. Errors: those of the readers, CheckDigest's.
Result<Plan> LoadPlan(const std::string& plan_path);

// kPlanInvalid where a plan document is not as it was written.
Status CheckDigest(const Json& document);

// The files that a plan names, as paths to open: graph, cluster, costs, schedule, step. Presets are none.
std::vector<std::string> FilesOf(const Plan& plan, const std::string& plan_path);

// Reads a plan and every file it names, and compares their hashes. The digest is not looked at, so
// that the checker can name a change with a meaning first. Errors: those of the readers,
// kPlanMismatch naming the file whose content is another; kPlanInvalid (a plan in lanes, unless it is asked for).
Result<PlanInputs> LoadPlanInputs(const std::string& plan_path,
                                  const PlanInputOptions& options = {});

// What a plan was made of: the graph with the plan's transforms, and the cluster as it was planned for.
struct PlannedGraph {
  Plan plan;
  LoadedGraph graph;
  LoadedCluster cluster;
};
// Errors: those of the readers, kPlanMismatch.
Result<PlannedGraph> LoadPlannedGraph(const std::string& plan_path,
                                      const PlanInputOptions& options = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PLAN_PLAN_FILES_H_
