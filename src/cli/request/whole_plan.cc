#include "cli/request/whole_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/text.h"
#include "formats/aten/writer.h"
#include "formats/cost_store/measured_reader.h"
#include "formats/text/file.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

using Spans = IdVector<DeviceId, std::vector<std::pair<Nanos, Nanos>>>;

// When each device begins and ends its ops, in the order of time.
Spans SpansByDevice(const Graph& graph, const Placement& placement, const Schedule& schedule,
                    size_t devices) {
  Spans spans(devices);
  for (const OpId op : graph.ops()) {
    if (graph.op(op).is_view) continue;
    spans[placement[op]].emplace_back(schedule.ops[op].start, schedule.ops[op].end);
  }
  for (auto& of_device : spans) std::sort(of_device.begin(), of_device.end());
  return spans;
}

// Which device stands for each.
Result<IdVector<DeviceId, DeviceId>> FirstsOf(const Plan& plan, const Cluster& cluster) {
  IdVector<DeviceId, DeviceId> first;
  for (const DeviceId device : cluster.devices()) first.push_back(device);
  std::vector<char> seen(cluster.device_count(), 0);
  for (size_t i = 0; i < plan.lanes.size(); ++i) {
    DeviceId stands;
    for (const std::string& name : plan.lanes[i]) {
      const DeviceId device = cluster.FindDevice(name);
      const std::string place = fmt::format("lanes[{}]", i);
      if (!device.valid()) {
        return MakeError(ErrorCode::kPlanInvalid,
                         fmt::format("the cluster has no device {}", Printable(name, 120)), place);
      }
      if (std::exchange(seen[device.index()], 1) != 0) {
        return MakeError(ErrorCode::kPlanInvalid, Printable(name, 120) + " is in two classes",
                         place);
      }
      if (!stands.valid()) stands = device;
      first[device] = stands;
    }
  }
  return first;
}

Status CheckLanes(const PlanInputs& in_lanes, const StepOfPlan& step, const SimResult& replay) {
  const Cluster& cluster = in_lanes.cluster.cluster;
  PW_ASSIGN(const auto first, FirstsOf(in_lanes.plan, cluster));
  PW_ASSIGN(const Placement placement,
            ResolvePlacement(in_lanes.plan.placement, in_lanes.graph.graph, cluster));
  const Spans stated = SpansByDevice(in_lanes.graph.graph, placement, in_lanes.schedule.schedule,
                                     cluster.device_count());
  const Spans found =
      SpansByDevice(*step.graph, step.placement, *replay.schedule, cluster.device_count());
  for (const DeviceId device : cluster.devices()) {
    if (first[device] != device || stated[device].empty()) continue;
    if (found[device] == stated[device]) continue;
    return MakeError(
        ErrorCode::kPlanMismatch,
        fmt::format("{} runs at other times than the plan's schedule says: costs come out "
                    "otherwise than when it was made",
                    cluster.device(device).name),
        "schedule", "Make the plan again.");
  }
  for (const DeviceId device : cluster.devices()) {
    if (found[device] == stated[first[device]]) continue;
    return MakeError(ErrorCode::kPlanInvalid,
                     fmt::format("{} does not do what {} does, which stands for it",
                                 cluster.device(device).name, cluster.device(first[device]).name),
                     "lanes", "Make the plan again.");
  }
  return Ok();
}

// The plan's document where it has that field: a document without the word, which may be of millions of ops, is not parsed.
std::optional<Json> ReadWith(std::string_view field, const std::string& plan_path) {
  const Result<std::string> text = ReadFile(plan_path);
  if (!text.ok() || text.value().find(fmt::format("\"{}\"", field)) == std::string::npos) {
    return std::nullopt;
  }
  Result<Json> document = ParseJson(text.value());
  if (!document.ok() || !document.value().is_object() || !document.value().contains(field)) {
    return std::nullopt;
  }
  return document.Take();
}

// The plan with paths that hold from every folder.
Plan WithOpenPaths(Plan plan, const std::string& plan_path, const PlanInputOptions& options) {
  const std::vector<std::string> files = FilesOf(plan, plan_path);
  const auto open = [](const std::string& path) {
    return std::filesystem::absolute(path).string();
  };
  plan.graph.path = open(options.graph.value_or(files.front()));
  const bool preset = plan.cluster.path.starts_with(kPresetPrefix);
  if (!preset) plan.cluster.path = open(options.cluster.value_or(files[1]));
  return plan;
}

// The step of all devices, and its plan as one of all devices.
struct Simulated {
  StepAgain again;
  Schedule schedule;
};

Result<Simulated> SimulateWhole(const std::string& plan_path, const PlanInputOptions& options) {
  PlanInputOptions of_classes = options;
  of_classes.in_lanes = true;
  PW_ASSIGN(const PlanInputs read, LoadPlanInputs(plan_path, of_classes));
  Simulated simulated;
  PW_ASSIGN(simulated.again, CompileAgain(plan_path, options, std::nullopt, /*in_lanes=*/false));
  const StepOfPlan& step = simulated.again.step;
  Simulator simulator(*step.sim_graph);
  const SimResult& replay =
      simulator.Run(step.placement, {.policy = step.compiled->policy, .schedule = true});
  PW_RETURN_IF_ERROR(CheckLanes(read, step, replay).InFile(plan_path));
  PW_RETURN_IF_ERROR(CheckDigest(read.document).InFile(plan_path));
  simulated.schedule = *replay.schedule;
  Plan& plan = simulated.again.plan;
  plan = WithOpenPaths(std::move(plan), plan_path, options);
  plan.lanes.clear();
  plan.placement =
      NamePlacement(step.placement, *step.graph, simulated.again.whole->cluster.cluster);
  return simulated;
}

}  // namespace

bool IsInLanes(const std::string& plan_path) { return ReadWith("lanes", plan_path).has_value(); }

int64_t OpsOfAllDevices(const std::string& plan_path) {
  const std::optional<Json> document = ReadWith("step", plan_path);
  if (!document) return 0;
  const Result<Plan> plan = PlanFromJson(*document);
  if (!plan.ok()) return 0;
  int64_t ops = 0;
  for (const DeviceUse& use : plan.value().devices) ops += use.ops;
  return ops;
}

Result<StepAgain> CompileAgain(const std::string& plan_path, const PlanInputOptions& options,
                               std::optional<SchedulingPolicy> order, bool in_lanes) {
  PW_ASSIGN(PlannedGraph of, LoadPlannedGraph(plan_path, options));
  StepAgain again;
  again.plan = std::move(of.plan);
  auto whole = std::make_unique<Inputs>();
  whole->graph = std::move(of.graph);
  whole->cluster = std::move(of.cluster);
  whole->plan_links = again.plan.links.size();
  whole->policy = order.value_or(again.plan.policy);
  whole->dimensions = again.plan.dimensions;
  CostOptions costs;
  costs.profile = again.plan.cost_profile;
  PW_ASSIGN(costs.precision, ParseFloatPrecision(again.plan.precision));
  whole->precision = costs.precision;
  if (again.plan.cost_store) {
    PW_RETURN_IF_ERROR(
        UseMeasuredTimes(again.plan.cost_store->path, whole->cluster.cluster, costs));
  }
  DistributionSpec spec = again.plan.distribution;
  if (order) spec.switches.order = order;
  PW_ASSIGN(again.problem,
            MakeLayouts(whole->graph.graph, whole->cluster.cluster, costs, whole->policy, {}));
  PW_ASSIGN(again.step, StepOfLayouts(*again.problem, spec, in_lanes).InFile(plan_path));
  again.whole = std::move(whole);
  return again;
}

Result<StepOfAllDevices> CompileWhole(const std::string& plan_path,
                                      const PlanInputOptions& options) {
  PW_ASSIGN(Simulated simulated, SimulateWhole(plan_path, options));
  CompiledStep& compiled = *simulated.again.step.compiled;
  StepOfAllDevices whole;
  PlanInputs& inputs = whole.inputs;
  inputs.plan = std::move(simulated.again.plan);
  inputs.document = PlanToJson(inputs.plan);
  inputs.cluster = std::move(simulated.again.whole->cluster);
  inputs.costs = std::move(compiled.costs);
  inputs.schedule = {std::move(simulated.schedule), compiled.step.placement};
  inputs.graph.graph = std::move(compiled.step.graph);
  whole.step = std::move(compiled.step);
  return whole;
}

Result<WholePlan> WholePlan::Open(const std::string& plan_path, const PlanInputOptions& options) {
  WholePlan whole;
  whole.path_ = plan_path;
  if (!IsInLanes(plan_path)) return whole;
  PW_ASSIGN(Simulated simulated, SimulateWhole(plan_path, options));
  const StepOfPlan& step = simulated.again.step;
  const Cluster& cluster = simulated.again.whole->cluster.cluster;
  PW_ASSIGN(const std::string text, FormatAtenStep(step.compiled->step, *step.original, cluster));
  whole.folder_ = std::make_unique<TemporaryFolder>();
  if (whole.folder_->path().empty()) {
    return MakeError(ErrorCode::kFileUnwritable, "no temporary folder can be made", "",
                     "Set TMPDIR to a folder that can be written.");
  }
  whole.path_ = whole.folder_->path() + "/whole.plan.json";
  PW_RETURN_IF_ERROR(WritePlanFiles(std::move(simulated.again.plan), *step.costs,
                                    simulated.schedule, *step.graph, cluster, whole.path_, text));
  return whole;
}

}  // namespace placewright
