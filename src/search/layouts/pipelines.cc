#include "search/layouts/pipelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/text.h"
#include "plan/sharing_out.h"
#include "search/agent_settings.h"
#include "search/evaluation/plan_result.h"
#include "search/layouts/layout_devices.h"
#include "search/layouts/tensor_parallel.h"
#include "transforms/pipeline.h"
#include "transforms/pipeline_schedule.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

// It adds up what several chunks made of the gradient of a weight that all of them read.
bool AddsGradients(const Graph& step, OpId op) {
  const auto readers = step.consumers(op);
  return step.op(op).phase == Phase::kBackward && step.op(op).type == "aten.add.Tensor" &&
         !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
           return step.op(reader).phase == Phase::kOptimizer;
         });
}

Error Usage(std::string message, std::string remedy) {
  return MakeError(ErrorCode::kUsage, std::move(message), "", std::move(remedy));
}

// Of a step that no GPU runs as a whole, where there are GPUs.
Status CheckGpusServe(const LayoutProblem& problem) {
  const std::string why = WhyNoGpuServes(problem.graph, problem.cluster, problem.costs);
  if (why.empty()) return Ok();
  return MakeError(ErrorCode::kInfeasible,
                   "no GPU supports every op of the step, so that none can hold a stage: " + why,
                   "",
                   "Record the step in another type (float16, float32), take other GPUs, or "
                   "--algo auto, which places such ops on CPUs.");
}

}  // namespace

std::pair<int64_t, int64_t> RunOfStage(const std::vector<std::vector<DeviceId>>& hosts,
                                       int64_t stage, int64_t stages) {
  const auto devices_before = [&](int64_t host) {
    return std::accumulate(hosts.begin(), hosts.begin() + host, int64_t{0},
                           [](int64_t sum, const auto& one) { return sum + std::ssize(one); });
  };
  if (std::ssize(hosts) == stages) return {devices_before(stage), devices_before(stage + 1)};
  const int64_t all = devices_before(std::ssize(hosts));
  return {stage * all / stages, (stage + 1) * all / stages};
}

Result<StageDevices> DevicesOfStages(const LayoutProblem& problem, std::string_view gpus,
                                     int64_t stages) {
  const DeviceTimes times = TimesOf(problem);
  PW_RETURN_IF_ERROR(CheckGpusServe(problem));
  PW_ASSIGN(const std::vector<DeviceId> usable, DevicesToSplitOver(problem, times, gpus));
  StageDevices found;
  std::vector<DeviceId> devices;
  int64_t of_host = 0;
  const auto hosts = UsableGroups(problem.cluster.host_groups(), usable);
  for (const std::vector<DeviceId>& host : hosts) {
    devices.insert(devices.end(), host.begin(), host.end());
    of_host = std::gcd(of_host, static_cast<int64_t>(host.size()));
  }
  const auto count = static_cast<int64_t>(devices.size());
  if (count < stages) {
    return MakeError(ErrorCode::kClusterUnsuited,
                     fmt::format("{} stages need as many devices, and there are {}", stages, count),
                     ClusterPlace(problem.cluster),
                     "Take fewer stages (--stages), or more devices.");
  }
  for (int64_t stage = 0; stage < stages; ++stage) {
    const auto [from, to] = RunOfStage(hosts, stage, stages);
    found.of_stage.emplace_back(devices.begin() + from, devices.begin() + to);
    of_host = std::gcd(of_host, to - from);
  }
  found.of_host = of_host;
  return found;
}

Result<int64_t> TensorDegreeOf3d(const LayoutProblem& problem, const ModelStructure& structure,
                                 const StageDevices& devices, int64_t stated) {
  if (devices.of_host == 1) {
    return MakeError(ErrorCode::kClusterUnsuited,
                     "3d needs GPUs of one host that are as many in every stage and on every host",
                     ClusterPlace(problem.cluster),
                     "Take 1f1b, or other --stages, or --set gpus=KIND+HOST.");
  }
  const int64_t heads = structure.attends() ? CommonSize(problem.axes, structure.heads) : 0;
  return ChooseDegree({"3d", "tensor", "heads of attention", heads, devices.of_host, stated});
}

namespace {

// A step whose micro-batches are in a pipeline's order, and the devices of its stages.
struct Stages {
  StageDevices devices;
  IdVector<GroupId, int32_t> stage_of;
};

// `schedule`: "" any.
Result<Stages> FindStages(const LayoutProblem& problem, std::string_view planner,
                          std::string_view schedule, std::string_view gpus) {
  const Graph& graph = problem.graph;
  const Transform* const pipeline = PipelineOf(graph.transforms());
  if (pipeline == nullptr || (!schedule.empty() && pipeline->schedule != schedule)) {
    return Usage(fmt::format("{} needs a step whose micro-batches are in {} order", planner,
                             schedule.empty() ? "a pipeline's" : "its"),
                 fmt::format("Ask for it with --pipeline {} --stages N --micro-batches M.",
                             schedule.empty() ? "1f1b" : schedule));
  }
  if (problem.policy != SchedulingPolicy::kProgram) {
    return Usage("a pipeline's schedule is the order of the program", "Leave --order out.");
  }
  PW_ASSIGN(const auto chunk_of, PipelineChunks(graph, *pipeline));
  Stages found;
  PW_ASSIGN(found.devices, DevicesOfStages(problem, gpus, pipeline->stages));
  for (const int32_t chunk : ChunkByGroup(graph, chunk_of)) {
    // Chunks are dealt to the stages in turn: interleaved ones are several rounds.
    found.stage_of.push_back(static_cast<int32_t>(chunk % pipeline->stages));
  }
  return found;
}

// `parts`: of the samples of a micro-batch, in a stage.
Status CheckMicroBatch(const LayoutProblem& problem, int64_t parts) {
  const int64_t samples = problem.axes.samples();
  if (parts == 1 || samples >= parts) return Ok();
  if (samples == 0) return problem.axes.WhyNoBatch();
  return Usage(fmt::format("a micro-batch of {} samples is shared out to {} parts of a stage",
                           samples, parts),
               "Take fewer --micro-batches, more --stages or a larger --batch.");
}

}  // namespace

IdVector<GroupId, int32_t> ChunkByGroup(const Graph& step,
                                        const IdVector<OpId, int32_t>& chunk_of) {
  IdVector<GroupId, int32_t> forward(step.group_count(), -1), any(step.group_count(), 0);
  for (const OpId op : step.ops()) {
    const GroupId group = step.group(op);
    any[group] = std::max(any[group], chunk_of[op]);
    // A weight that several chunks read is updated where the last of its gradients is made.
    if (AddsGradients(step, op)) {
      for (const OpId addend : step.producers(op)) {
        any[group] = std::max(any[group], chunk_of[addend]);
      }
    }
    if (step.op(op).phase != Phase::kForward) continue;
    forward[group] = std::max(forward[group], chunk_of[op]);
  }
  // What is colocated with ops of the forward pass, as their backward, is where the forward pass is.
  for (size_t i = 0; i < step.group_count(); ++i) {
    const GroupId group(i);
    if (forward[group] >= 0) any[group] = forward[group];
  }
  return any;
}

Result<StepPlan> LayOutPipeline(const LayoutProblem& problem, std::string_view schedule,
                                std::string_view gpus) {
  PW_ASSIGN(const Stages stages, FindStages(problem, schedule, schedule, gpus));
  StepPlan plan;
  plan.switches.local_batch_norm = problem.local_batch_norm;
  const TensorCut by_samples = {AxisId(), problem.axes.batch()};
  for (const std::vector<DeviceId>& own : stages.devices.of_stage) {
    PW_RETURN_IF_ERROR(CheckMicroBatch(problem, static_cast<int64_t>(own.size())));
    plan.layouts.layouts.push_back(LayoutOfCut(problem.axes, by_samples, own, 1));
  }
  for (const int32_t stage : stages.stage_of) {
    plan.layouts.of_group.push_back(LayoutId(static_cast<size_t>(stage)));
  }
  return plan;
}

Result<StepPlan> LayOut3d(const LayoutProblem& problem, const MeshOptions& options) {
  const Graph& graph = problem.graph;
  PW_ASSIGN(const Stages stages, FindStages(problem, "3d", "", options.gpus));
  const ModelStructure found = StructureOf(graph, problem.axes);
  PW_ASSIGN(const int64_t degree, TensorDegreeOf3d(problem, found, stages.devices, options.degree));
  StepPlan plan;
  plan.switches.local_batch_norm = problem.local_batch_norm;
  plan.switches.regather = LayerGlobs(graph);
  for (const std::vector<DeviceId>& own : stages.devices.of_stage) {
    PW_RETURN_IF_ERROR(CheckMicroBatch(problem, static_cast<int64_t>(own.size()) / degree));
  }
  const auto cuts = TensorCuts(graph, problem.axes, found, degree, options.sequence);
  // One layout for all groups of a stage that are cut alike.
  std::map<std::pair<int32_t, TensorCut>, LayoutId> layouts;
  for (const GroupId group : IdRange<GroupId>(graph.group_count())) {
    const int32_t stage = stages.stage_of[group];
    const auto [at, added] = layouts.try_emplace({stage, cuts[group]}, plan.layouts.layouts.size());
    if (added) {
      plan.layouts.layouts.push_back(LayoutOfCut(
          problem.axes, cuts[group], stages.devices.of_stage[static_cast<size_t>(stage)], degree));
    }
    plan.layouts.of_group.push_back(at->second);
  }
  return plan;
}

PipelinePlanner::PipelinePlanner(std::string_view schedule, std::vector<std::string> settings)
    : schedule_(schedule),
      settings_(std::move(settings)),
      description_(
          schedule == k3d
              ? "stages in the order of a pipeline, each tensor-parallel inside "
                "(Megatron-LM)"
              : fmt::format("a pipeline of stages in the order {}, samples shared out in each",
                            schedule)) {}

const SettableAlgorithm* PipelinePlanner::settable() const {
  static const std::map<std::string_view, SettableAlgorithm> all = [] {
    std::map<std::string_view, SettableAlgorithm> made;
    const auto add = [&](std::string_view schedule) {
      made[schedule] = {
          std::string(schedule), PipelinePlanner(schedule).description_, {GpusSetting()}};
    };
    for (const std::string_view schedule : kPipelineSchedules) add(schedule);
    add(kZeroBubble);
    made[k3d] = {std::string(k3d), PipelinePlanner(k3d).description_, TensorSettings()};
    return made;
  }();
  return &all.at(schedule_);
}

Result<PlannerResult> PipelinePlanner::Plan(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const {
  PW_RETURN_IF_ERROR(CheckMaySplit(problem, name(), "chooses the devices of every op itself"));
  PW_ASSIGN(const AgentSettings settings, AgentSettings::Parse(*settable(), settings_));
  StepPlan plan;
  if (schedule_ == k3d) {
    const MeshOptions mesh = {.degree = settings.Integer("tensor"),
                              .sequence = settings.Is("sequence", "on"),
                              .gpus = settings.Word("gpus")};
    PW_ASSIGN(plan, LayOut3d(*problem.layouts, mesh));
  } else {
    const std::string_view schedule = schedule_ == kZeroBubble ? "zb-h1" : schedule_;
    PW_ASSIGN(plan, LayOutPipeline(*problem.layouts, schedule, settings.Word("gpus")));
  }
  PW_ASSIGN(const Evaluation evaluation, evaluator.EvaluatePlan(plan));
  return MakeResult(name(), std::move(plan), evaluation, options);
}

}  // namespace placewright
