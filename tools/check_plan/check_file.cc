#include <optional>
#include <utility>

#include "check_plan/checker.h"
#include "check_plan/distributed/counted_draws.h"
#include "check_plan/distributed/distribution_check.h"
#include "formats/aten/reader.h"
#include "formats/text/file.h"

namespace placewright::check {
namespace {

// Draws that count alone are made by the checker itself.
Transforms RewritesOf(const Plan& plan) {
  Transforms stated = plan.distribution.transforms.value_or(Transforms());
  return RewriteAlike(stated, {}) ? Transforms() : stated;
}

// The graph that the plan's step was compiled from.
Result<LoadedGraph> LoadOriginal(const Plan& plan, const std::string& plan_path,
                                 const PlanInputOptions& options) {
  GraphInputOptions graph_options;
  if (plan.batch_option > 0) graph_options.batch = plan.batch_option;
  graph_options.dimensions = plan.dimensions;
  graph_options.sha256 = plan.graph.sha256;
  graph_options.transforms = RewritesOf(plan);
  return LoadGraph(options.graph.value_or(FilesOf(plan, plan_path).front()), graph_options);
}

Result<Findings> CheckStepOf(const PlanInputs& inputs, const std::string& plan_path,
                             const PlanInputOptions& options) {
  const Plan& plan = inputs.plan;
  const Cluster& cluster = inputs.cluster.cluster;
  const std::string step_path = FilesOf(plan, plan_path).back();
  PW_ASSIGN(LoadedGraph original, LoadOriginal(plan, plan_path, options));
  if (CountsDraws(inputs.graph.graph) && !CountsDraws(original.graph)) {
    PW_ASSIGN(original.graph, WithDrawsThatCount(original.graph, inputs.graph.graph));
  }
  PW_ASSIGN(const std::string text, ReadFile(step_path));
  PW_ASSIGN(const DistributedStep step,
            ReadAtenStep(text, original.graph, cluster).InFile(step_path));
  return CheckDistribution(original.graph, step, cluster, plan.distribution);
}

}  // namespace

Result<CheckedPlan> LoadAndCheckPlan(const std::string& plan_path,
                                     const PlanInputOptions& options) {
  CheckedPlan checked;
  PW_ASSIGN(checked.inputs, LoadPlanInputs(plan_path, options));
  checked.violation = CheckPlan(checked.inputs);
  if (checked.violation || checked.inputs.plan.space == PlanSpace::kPlaced) return checked;
  PW_ASSIGN(Findings findings, CheckStepOf(checked.inputs, plan_path, options));
  checked.violation = std::move(findings.violation);
  checked.not_proven = std::move(findings.not_proven);
  return checked;
}

}  // namespace placewright::check
