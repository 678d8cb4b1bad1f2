#include "search/layouts/pipelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/sharing_out.h"
#include "search/evaluation/plan_result.h"
#include "search/layouts/layout_devices.h"
#include "transforms/pipeline.h"

namespace placewright {
namespace {

const Transform* PipelineOf(const Graph& step) {
  const Transforms& transforms = step.transforms();
  const auto it = std::find_if(transforms.begin(), transforms.end(), [](const Transform& one) {
    return one.kind == Transform::kPipeline;
  });
  return it == transforms.end() ? nullptr : &*it;
}

// The last chunk whose forward pass is of the group, or of a group without one the last of all.
IdVector<GroupId, int32_t> ChunkByGroup(const Graph& step,
                                        const IdVector<OpId, int32_t>& chunk_of) {
  IdVector<GroupId, int32_t> forward(step.group_count(), -1), any(step.group_count(), 0);
  for (const OpId op : step.ops()) {
    const GroupId group = step.group(op);
    any[group] = std::max(any[group], chunk_of[op]);
    if (step.op(op).phase != Phase::kForward) continue;
    forward[group] = std::max(forward[group], chunk_of[op]);
  }
  for (size_t i = 0; i < step.group_count(); ++i) {
    const GroupId group(i);
    if (forward[group] >= 0) any[group] = forward[group];
  }
  return any;
}

Error Usage(std::string message, std::string remedy) {
  return MakeError(ErrorCode::kUsage, std::move(message), "", std::move(remedy));
}

}  // namespace

Result<StepPlan> LayOutPipeline(const LayoutProblem& problem, std::string_view schedule) {
  const Graph& graph = problem.graph;
  const Transform* const pipeline = PipelineOf(graph);
  if (pipeline == nullptr || pipeline->schedule != schedule) {
    return Usage(
        fmt::format("{} needs a step whose micro-batches are in its order", schedule),
        fmt::format("Ask for it with --pipeline {} --stages N --micro-batches M.", schedule));
  }
  if (problem.policy != SchedulingPolicy::kProgram) {
    return Usage("a pipeline's schedule is the order of the program", "Leave --order out.");
  }
  PW_ASSIGN(const auto chunk_of, PipelineChunks(graph, *pipeline));
  PW_ASSIGN(const std::vector<DeviceId> usable, DevicesToSplitOver(problem, TimesOf(problem)));
  std::vector<DeviceId> devices;  // host after host
  for (const auto& host : UsableGroups(problem.cluster.host_groups(), usable)) {
    devices.insert(devices.end(), host.begin(), host.end());
  }
  const auto count = static_cast<int64_t>(devices.size());
  const int64_t stages = pipeline->stages;
  if (count < stages) {
    return Usage(fmt::format("{} stages need as many devices, and there are {}", stages, count),
                 "Take fewer stages (--stages), or more devices.");
  }
  StepPlan plan;
  plan.switches.local_batch_norm = problem.local_batch_norm;
  const int64_t samples = problem.axes.samples();
  for (int64_t stage = 0; stage < stages; ++stage) {
    const std::vector<DeviceId> own(devices.begin() + stage * count / stages,
                                    devices.begin() + (stage + 1) * count / stages);
    const auto parts = static_cast<int64_t>(own.size());
    if (parts == 1) {
      plan.layouts.layouts.push_back(CopiesOn(own));
      continue;
    }
    if (samples == 0) return problem.axes.WhyNoBatch();
    if (samples < parts) {
      return Usage(fmt::format("a micro-batch of {} samples is shared out to {} devices of a stage",
                               samples, parts),
                   "Take fewer --micro-batches, more --stages or a larger --batch.");
    }
    const Interval all = {0, problem.axes.axis(problem.axes.batch()).size};
    Layout layout;
    for (int64_t i = 0; i < parts; ++i) {
      const Interval part = {i * all.length() / parts, (i + 1) * all.length() / parts};
      const std::vector<AxisInterval> box = {{problem.axes.batch(), part}};
      layout.shares.push_back({own[static_cast<size_t>(i)], {box.begin(), box.end()}});
    }
    plan.layouts.layouts.push_back(std::move(layout));
  }
  const auto chunk_by_group = ChunkByGroup(graph, chunk_of);
  for (size_t i = 0; i < graph.group_count(); ++i) {
    plan.layouts.of_group.push_back(
        LayoutId(static_cast<size_t>(chunk_by_group[GroupId(i)] % stages)));
  }
  return plan;
}

PipelinePlanner::PipelinePlanner(std::string_view schedule)
    : schedule_(schedule),
      description_(fmt::format("a pipeline of stages in the order {}, samples shared out in each",
                               schedule)) {}

Result<PlannerResult> PipelinePlanner::Plan(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const {
  PW_RETURN_IF_ERROR(CheckMaySplit(problem, name(), "chooses the devices of every op itself"));
  PW_ASSIGN(StepPlan plan, LayOutPipeline(*problem.layouts, schedule_));
  PW_ASSIGN(const Evaluation evaluation, evaluator.EvaluatePlan(plan));
  return MakeResult(name(), std::move(plan), evaluation, options);
}

}  // namespace placewright
