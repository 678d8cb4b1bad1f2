#include <optional>
#include <utility>

#include "check_plan/checker.h"
#include "check_plan/distributed/counted_draws.h"
#include "check_plan/distributed/distribution_check.h"
#include "check_plan/transforms/congruence.h"
#include "check_plan/transforms/micro_batches.h"
#include "check_plan/transforms/precision.h"
#include "formats/aten/format.h"

namespace placewright::check {
namespace {

Transforms StatedBy(const Plan& plan) {
  return plan.distribution.transforms.value_or(Transforms());
}

// The graph of the plan's file, rewritten by these. Draws that count alone are made by the checker itself.
Result<LoadedGraph> LoadOriginal(const Plan& plan, const std::string& plan_path,
                                 const PlanInputOptions& options, Transforms transforms) {
  GraphInputOptions graph_options;
  if (plan.batch_option > 0) graph_options.batch = plan.batch_option;
  graph_options.dimensions = plan.dimensions;
  graph_options.sha256 = plan.graph.sha256;
  if (!RewriteAlike(transforms, {})) graph_options.transforms = std::move(transforms);
  return LoadGraph(options.graph.value_or(FilesOf(plan, plan_path).front()), graph_options);
}

Result<LoadedGraph> WithDrawsOf(const Graph& step, LoadedGraph original) {
  if (!CountsDraws(step) || CountsDraws(original.graph)) return original;
  PW_ASSIGN(original.graph, WithDrawsThatCount(original.graph, step));
  return original;
}

bool IsOfCopies(const Transform& one) {
  return one.kind == Transform::kRecompute || one.kind == Transform::kOffload ||
         one.kind == Transform::kSplitBackward;
}

// Where the plan's step computes something again or by two ops, or copies it to the host and back, it is compared with the step that
// does not.
Result<MaybeViolation> CheckCopies(const Plan& plan, const std::string& plan_path,
                                   const PlanInputOptions& options) {
  Transforms others = StatedBy(plan);
  if (std::erase_if(others, IsOfCopies) == 0) return MaybeViolation();
  PW_ASSIGN(const LoadedGraph step, LoadOriginal(plan, plan_path, options, StatedBy(plan)));
  PW_ASSIGN(LoadedGraph without, LoadOriginal(plan, plan_path, options, std::move(others)));
  PW_ASSIGN(without, WithDrawsOf(step.graph, std::move(without)));
  return CheckCongruence(without.graph, step.graph);
}

// The types that it states are the first of what is rewritten.
Transforms TypesOf(const Plan& plan) {
  Transforms types = StatedBy(plan);
  std::erase_if(types, [](const Transform& one) { return one.kind != Transform::kPrecision; });
  return types;
}

Result<MaybeViolation> CheckTypes(const Plan& plan, const std::string& plan_path,
                                  const PlanInputOptions& options) {
  const Transforms types = TypesOf(plan);
  if (types.empty()) return MaybeViolation();
  PW_ASSIGN(const LoadedGraph step, LoadOriginal(plan, plan_path, options, types));
  PW_ASSIGN(LoadedGraph without, LoadOriginal(plan, plan_path, options, {}));
  return CheckPrecision(without.graph, step.graph, types.front().modules);
}

// Where the batch is in micro-batches, the step in these, in the order of its pipeline, is compared with the step before
// any rewriting but types and draws.
Result<MaybeViolation> CheckAccumulation(const Plan& plan, const std::string& plan_path,
                                         const PlanInputOptions& options) {
  int64_t micro_batches = 0;
  Transforms cut;
  for (const Transform& one : StatedBy(plan)) {
    if (!IsOfCopies(one)) cut.push_back(one);
    if (one.kind == Transform::kAccumulate) micro_batches = one.micro_batches;
  }
  if (micro_batches == 0) return MaybeViolation();
  PW_ASSIGN(const LoadedGraph step, LoadOriginal(plan, plan_path, options, std::move(cut)));
  PW_ASSIGN(LoadedGraph without, LoadOriginal(plan, plan_path, options, TypesOf(plan)));
  PW_ASSIGN(without, WithDrawsOf(step.graph, std::move(without)));
  return CheckMicroBatches(without.graph, step.graph, micro_batches);
}

// A graph of millions of ops takes gigabytes, so that the inputs' is never there twice: it is the step's while that is
// compared. `step`: without its graph, or none: as its file has it.
Result<Findings> CheckStepOf(PlanInputs& inputs, std::optional<DistributedStep> step,
                             const std::string& plan_path, const PlanInputOptions& options) {
  const Plan& plan = inputs.plan;
  PW_ASSIGN(LoadedGraph original, LoadOriginal(plan, plan_path, options, StatedBy(plan)));
  PW_ASSIGN(original, WithDrawsOf(inputs.graph.graph, std::move(original)));
  if (!step) {
    PW_ASSIGN(step, StepOfFile(inputs.graph, original.graph, inputs.cluster.cluster)
                        .InFile(FilesOf(plan, plan_path).back()));
  }
  step->graph = std::move(inputs.graph.graph);
  Findings findings =
      CheckDistribution(original.graph, *step, inputs.cluster.cluster, plan.distribution);
  inputs.graph.graph = std::move(step->graph);
  return findings;
}

Result<CheckedPlan> CheckAll(PlanInputs inputs, std::optional<DistributedStep> step,
                             const std::string& plan_path, const PlanInputOptions& options,
                             const CheckProgress& progress) {
  const auto next = [&progress](std::string_view what) {
    if (progress) progress(what);
  };
  CheckedPlan checked;
  checked.inputs = std::move(inputs);
  const Plan& plan = checked.inputs.plan;
  next("checking schedule, memory and figures");
  checked.violation = CheckPlan(checked.inputs);
  if (checked.violation) return checked;
  next("checking what the step was rewritten by");
  PW_ASSIGN(checked.violation, CheckTypes(plan, plan_path, options));
  if (checked.violation) return checked;
  PW_ASSIGN(checked.violation, CheckAccumulation(plan, plan_path, options));
  if (checked.violation) return checked;
  PW_ASSIGN(checked.violation, CheckCopies(plan, plan_path, options));
  if (checked.violation || plan.space == PlanSpace::kPlaced) return checked;
  next("checking that the compiled step is the original one");
  PW_ASSIGN(Findings findings, CheckStepOf(checked.inputs, std::move(step), plan_path, options));
  checked.violation = std::move(findings.violation);
  checked.not_proven = std::move(findings.not_proven);
  return checked;
}

}  // namespace

Result<CheckedPlan> LoadAndCheckPlan(const std::string& plan_path, const PlanInputOptions& options,
                                     const CheckProgress& progress) {
  if (progress) progress("reading the plan's files");
  PW_ASSIGN(PlanInputs inputs, LoadPlanInputs(plan_path, options));
  return CheckAll(std::move(inputs), std::nullopt, plan_path, options, progress);
}

Result<CheckedPlan> CheckPlanInMemory(PlanInputs inputs, DistributedStep step,
                                      const std::string& plan_path, const PlanInputOptions& options,
                                      const CheckProgress& progress) {
  return CheckAll(std::move(inputs), std::move(step), plan_path, options, progress);
}

}  // namespace placewright::check
