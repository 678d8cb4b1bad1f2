#include "formats/plan/plan_files.h"

#include <placewright/planning/plan_files.h>

#include <utility>

#include "formats/input.h"
#include "formats/plan/plan_json.h"
#include "transforms/transforms.h"

namespace placewright {

Result<StepFile> ReadStepFile(const std::string& path, const ReadGraphOptions& options) {
  PW_ASSIGN(
      LoadedGraph loaded,
      LoadGraph(path, {.batch = options.batch,
                       .dimensions = options.dimensions,
                       .prove_batch = options.prove_batch,
                       .transforms = TransformsFor(options.rewriting, options.mixed_precision)}));
  if (loaded.cluster || loaded.costs || loaded.times) {
    Error error = MakeError(
        ErrorCode::kUsage, "the file holds times of its own, which are no part of a graph", "",
        "Plan it with the program `placewright plan`, or give PlanStep the graph with its costs.");
    error.file = path;
    return error;
  }
  return StepFile{
      std::move(loaded.graph), {loaded.path, loaded.sha256}, options, std::move(loaded.notes)};
}

Result<ClusterFile> ReadClusterFile(const std::string& path_or_preset) {
  PW_ASSIGN(LoadedCluster loaded, LoadCluster(path_or_preset));
  return ClusterFile{std::move(loaded.cluster), {loaded.path, loaded.sha256}};
}

Result<Graph> ReadGraph(const std::string& path, const ReadGraphOptions& options) {
  PW_ASSIGN(StepFile read, ReadStepFile(path, options));
  return std::move(read.graph);
}

Result<Cluster> ReadCluster(const std::string& path_or_preset) {
  PW_ASSIGN(ClusterFile read, ReadClusterFile(path_or_preset));
  return std::move(read.cluster);
}

void NameFiles(const StepFile& step, const ClusterFile& cluster, Plan& plan) {
  plan.graph = step.file;
  plan.cluster = cluster.file;
  plan.batch_option = step.options.batch.value_or(0);
  plan.dimensions = step.options.dimensions;
}

Status WritePlan(const PlannedStep& planned, const Graph& graph, const Cluster& cluster,
                 const std::string& path) {
  if (!planned.costs) {
    return MakeError(ErrorCode::kUsage, "the plan was made without what its files hold", "",
                     "Plan with PlanRequest::keep_files.");
  }
  const Plan& plan = planned.plan;
  PW_RETURN_IF_ERROR(CheckPathsUtf8(plan.graph.path, plan.cluster.path, path));
  Cluster machines = cluster;
  for (const Plan::LinkFigures& link : plan.links) {
    const LinkId id = machines.FindLink(link.name);
    if (!id.valid()) {
      return MakeError(ErrorCode::kPlanMismatch, "the cluster has no link " + link.name);
    }
    machines.SetLink(id, link.bandwidth, link.latency, "measured");
  }
  return WritePlanFiles(plan, *planned.costs, planned.schedule,
                        planned.compiled ? *planned.compiled : graph, machines, path,
                        planned.compiled_text);
}

std::string PlanToText(const Plan& plan) { return PlanToJson(plan).dump(); }

}  // namespace placewright
