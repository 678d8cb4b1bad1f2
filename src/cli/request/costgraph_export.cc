#include "cli/request/costgraph_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cluster/cluster_builder.h"
#include "formats/costs/costgraph_writer.h"
#include "sim/placement_check.h"
#include "sim/plain_step.h"
#include "sim/program_sequences.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

// Readers of the form keep no more values (docs/formats/costgraph.md), of which an op has about ten
// beside its times.
constexpr size_t kMaxValues = 10'000'000, kValuesOfOp = 10, kValuesOfRoute = 6;

Status CheckSize(size_t ops, const Cluster& cluster) {
  const size_t devices = cluster.device_count();
  const size_t values = ops * (devices + kValuesOfOp) + devices * devices * kValuesOfRoute;
  if (values <= kMaxValues) return Ok();
  return MakeError(
      ErrorCode::kNotExpressible,
      fmt::format("{} ops on {} devices are {} values, and readers of cost graphs take {}", ops,
                  devices, values, kMaxValues),
      "", "Plan for fewer devices, or export to another format.");
}

// Memory that is no tensors': what lies there all the time, and the largest workspace.
Bytes OtherMemory(const DeviceResult& device) {
  return Bytes(SaturatingAdd(device.workspace.count, device.runtime_context.count));
}

// Devices with the memory that is left to tensors, links and routes: all that a cost graph knows.
Result<Cluster> BareCluster(const Cluster& cluster, const SimResult& result) {
  ClusterBuilder builder(cluster.name());
  PW_ASSIGN(const int32_t kind, builder.AddKind({.name = "given"}));
  for (const DeviceId id : cluster.devices()) {
    const Device& device = cluster.device(id);
    const Bytes other = OtherMemory(result.devices[id.index()]);
    const Bytes left(std::max<int64_t>(0, device.capacity.count - other.count));
    PW_RETURN_IF_ERROR(builder.AddDevice({.name = device.name, .kind = kind, .capacity = left}));
  }
  for (const LinkId id : cluster.links()) PW_RETURN_IF_ERROR(builder.AddLink(cluster.link(id)));
  for (const DeviceId from : cluster.devices()) {
    for (const DeviceId to : cluster.devices()) {
      if (from == to || !cluster.Connected(from, to)) continue;
      PW_RETURN_IF_ERROR(builder.AddRoute(from, to, cluster.route(from, to).links));
    }
  }
  return std::move(builder).Build();
}

NamedSequences NameSequences(const Sequences& sequences, const PlanInputs& plan) {
  NamedSequences named;
  for (const DeviceId id : IdRange<DeviceId>(sequences.size())) {
    if (!sequences[id]) continue;
    std::vector<std::string> ops;
    for (const OpId op : *sequences[id]) ops.push_back(plan.graph.graph.op(op).name);
    named.emplace_back(plan.cluster.cluster.device(id).name, std::move(ops));
  }
  return named;
}

SimResult Simulated(const SimGraph& sim_graph, const Placement& placement, SchedulingPolicy policy,
                    const Sequences& sequences) {
  Simulator simulator(sim_graph);
  return simulator.Run(placement, {.policy = policy, .schedule = true, .sequences = &sequences});
}

// In the form of the simulator's public vectors.
Json Expected(const SimResult& result, SchedulingPolicy policy) {
  Json numbers = {{"step_time_ns", result.step_time.count},
                  {"peak_memory_bytes", Json::array()},
                  {"over_bytes", Json::array()},
                  {"end_ns", Json::array()}};
  for (const DeviceResult& device : result.devices) {
    numbers["peak_memory_bytes"].push_back(device.peak.count);
    numbers["over_bytes"].push_back(device.over.count);
  }
  for (const OpSpan& op : result.schedule->ops) numbers["end_ns"].push_back(op.end.count);
  Json expected;
  expected[std::string(ToString(policy))] = std::move(numbers);
  return expected;
}

void NoteForms(const PlainStep& plain, std::vector<std::string>* notes) {
  const auto note = [&](int64_t count, std::string_view what) {
    if (count > 0) notes->push_back(fmt::format("{}: {}", what, FormatCount(count)));
  };
  note(plain.writes, "writes in place, of which orders of ops are left");
  note(plain.parts, "parts of tensors that cross to another device, each a tensor of its own");
  note(plain.new_versions,
       "content written in place that crosses to another device, each a tensor beside the old "
       "content");
  note(plain.arrivals,
       "copies whose arrival a write in place waits for, each said by an op of no time in a "
       "collective of "
       "its own");
}

void NoteMemory(const Cluster& cluster, const SimResult& original,
                std::vector<std::string>* notes) {
  std::vector<std::string> other;
  for (const DeviceId id : cluster.devices()) {
    const Bytes bytes = OtherMemory(original.devices[id.index()]);
    if (bytes.count == 0) continue;
    other.push_back(fmt::format("{} on {}", FormatBytes(bytes), cluster.device(id).name));
  }
  if (other.empty()) return;
  constexpr size_t kNamed = 4;
  if (other.size() > kNamed) {
    const size_t more = other.size() - kNamed;
    other.resize(kNamed);
    other.push_back(fmt::format("{} more", more));
  }
  notes->push_back(fmt::format("memory_bytes is without workspace and runtime context: {}",
                               fmt::join(other, ", ")));
}

// By how much the file's step is not the plan's.
void NoteDifferences(const Cluster& cluster, const SimResult& original, const SimResult& result,
                     std::vector<std::string>* notes) {
  if (result.step_time != original.step_time) {
    notes->push_back(fmt::format("the step of the file takes {} ns, the plan's {} ns",
                                 result.step_time.count, original.step_time.count));
  }
  for (const DeviceId id : cluster.devices()) {
    const Bytes before = original.devices[id.index()].tensor_peak;
    const Bytes after = result.devices[id.index()].tensor_peak;
    if (before == after) continue;
    notes->push_back(
        fmt::format("tensors on {} take {} bytes at their peak in the file, {} in the plan",
                    cluster.device(id).name, after.count, before.count));
  }
}

}  // namespace

Status WriteCostGraphPlan(const PlanInputs& plan, const Placement& placement, const TextSink& sink,
                          std::vector<std::string>* notes) {
  const Graph& graph = plan.graph.graph;
  const Cluster& cluster = plan.cluster.cluster;
  PW_RETURN_IF_ERROR(CheckSize(graph.op_count(), cluster));
  const SimGraph sim_graph = BuildSimGraph(graph, cluster, plan.costs);
  PW_RETURN_IF_ERROR(CheckPlacementLegal(sim_graph, graph, cluster, placement));
  const SchedulingPolicy policy = plan.plan.policy;
  const SimResult original = Simulated(sim_graph, placement, policy, plan.sequences);
  PW_ASSIGN(PlainStep plain, MakePlainStep(sim_graph, graph, plan.costs, placement));
  PW_ASSIGN(Cluster bare, BareCluster(cluster, original));
  NoteForms(plain, notes);
  NoteMemory(cluster, original, notes);

  CostGraph file{std::move(plain.graph), std::move(bare), std::move(plain.costs), {}};
  file.placement = NamePlacement(plain.placement, file.graph, file.cluster);
  file.sequences = NameSequences(plan.sequences, plan);
  // The order of the program is known of the step alone: the file has its ops' as sequences, and of whatever has
  // none, collectives, the order in which they are ready.
  const bool program = policy == SchedulingPolicy::kProgram;
  if (program) {
    PW_RETURN_IF_ERROR(CheckProgramOrder(sim_graph, graph));
    Sequences all = ProgramSequences(sim_graph, placement);
    for (const DeviceId id : IdRange<DeviceId>(plan.sequences.size())) {
      if (plan.sequences[id]) all[id] = plan.sequences[id];
    }
    file.sequences = NameSequences(all, plan);
    notes->push_back("the order of the program is stated by sequences");
  }
  const SchedulingPolicy of_file = program ? SchedulingPolicy::kFifo : policy;
  const Sequences sequences =
      file.sequences.empty()
          ? Sequences()
          : ResolveSequences(file.sequences, file.graph, file.cluster, plain.placement).Take();
  const SimResult result = Simulated(BuildSimGraph(file.graph, file.cluster, file.costs),
                                     plain.placement, of_file, sequences);
  NoteDifferences(cluster, original, result, notes);
  Json document = CostGraphToJson(file);
  document["expected"] = Expected(result, of_file);
  return sink(FormatDocument(document));
}

}  // namespace placewright
