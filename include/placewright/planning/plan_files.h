// Steps and clusters with the files that they were read from, and plans as files that name these:
// what `placewright plan` writes, and the other commands and the checker read.
#ifndef PLACEWRIGHT_PLANNING_PLAN_FILES_H_
#define PLACEWRIGHT_PLANNING_PLAN_FILES_H_

#include <placewright/placewright.h>

#include <string>
#include <vector>

namespace placewright {

// A graph and what was read. `notes`: what of the file the graph does not carry, as sentences.
struct StepFile {
  Graph graph;
  FileReference file;  // the path as given, the hash of the file's bytes
  ReadGraphOptions options;
  std::vector<std::string> notes;
};
// Errors: those of ReadGraph.
Result<StepFile> ReadStepFile(const std::string& path, const ReadGraphOptions& options = {});

struct ClusterFile {
  Cluster cluster;
  FileReference file;  // the path as given, or "preset:4xP100"
};
// Errors: those of ReadCluster.
Result<ClusterFile> ReadClusterFile(const std::string& path_or_preset);

// The plan of a step on a cluster names their files, batch and dimensions from then on.
void NameFiles(const StepFile& step, const ClusterFile& cluster, Plan& plan);

// Writes the plan to `path`, and beside it its costs, its schedule and, where ops are split or
// copied, the compiled step; all of them or none. It was planned with PlanRequest::keep_files, its
// files were named (NameFiles), and `graph` and `cluster` are those that it was planned for. Files
// are named relative to the plan's folder where they lie in or below it. Errors: kUsage (a path
// that is not UTF-8, a plan without what files hold), kFileUnwritable, kPlanMismatch (another graph
// or cluster).
Status WritePlan(const PlannedStep& planned, const Graph& graph, const Cluster& cluster,
                 const std::string& path);

// The plan file's JSON (docs/json.md) in one line. References to files beside it are empty until it
// is written.
std::string PlanToText(const Plan& plan);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_PLAN_FILES_H_
