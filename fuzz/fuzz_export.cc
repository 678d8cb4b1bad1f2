// A graph of any format, placed by a draw from its own bytes and simulated, through every writer of
// the table of exports. What is written and has a reader is read back: the same placement.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/request/export_formats.h"
#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "formats/aten/reader.h"
#include "formats/dnn_partitioning/workload_graph.h"
#include "formats/dnn_partitioning/workload_reader.h"
#include "formats/graphdef/devices.h"
#include "formats/input.h"
#include "formats/pipedream/profile_graph.h"
#include "formats/plan/plan_json.h"
#include "search/evaluation/plan_result.h"
#include "sim/placement_check.h"
#include "sim/saturation_check.h"
#include "simulated_plan.h"

namespace placewright {
namespace {

// Stops at a broken promise; the fuzzer keeps the input.
void Require(bool holds, std::string_view what, std::string_view detail = "") {
  if (holds) return;
  fprintf(stderr, "broken: %.*s %.*s\n", static_cast<int>(what.size()), what.data(),
          static_cast<int>(detail.size()), detail.data());
  std::abort();
}

// Readers of graphs take files: one for this process, in memory where the system has that.
std::string WriteInput(std::string_view bytes) {
  namespace fs = std::filesystem;
  static const std::string path = [] {
    const fs::path memory = "/dev/shm";
    const fs::path folder = fs::exists(memory) ? memory : fs::temp_directory_path();
    return (folder / ("fuzz_export." + std::to_string(getpid()))).string();
  }();
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

uint64_t SeedOf(std::string_view bytes) {
  uint64_t seed = bytes.size();
  for (const char c : bytes) seed = seed * 1099511628211u + static_cast<uint8_t>(c);
  return seed;
}

// The file's own devices and times, or a preset and modelled times.
Status Equip(PlanInputs& plan, Random& random) {
  LoadedGraph& graph = plan.graph;
  if (graph.cluster) {
    plan.plan.cluster.path = kClusterInGraph;
    plan.cluster.cluster = *graph.cluster;
    plan.costs = *graph.costs;
    return Ok();
  }
  const char* const presets[] = {"2xV100", "4xP100", "tag-testbed"};
  PW_ASSIGN(plan.cluster, LoadCluster(std::string("preset:") + presets[random.Below(3)]));
  if (graph.times) {
    plan.costs = GivenTimes(*graph.times, plan.cluster.cluster);
    return Ok();
  }
  PW_ASSIGN(plan.costs, ModelCosts(graph.graph, plan.cluster.cluster, {}, nullptr));
  return Ok();
}

// Each group on any of its devices, or neighbours together, or all on the first.
Result<Placement> Draw(const PlanInputs& plan, Random& random) {
  const Cluster& cluster = plan.cluster.cluster;
  PW_ASSIGN(const Problem problem,
            BuildProblem(plan.graph.graph, cluster, plan.costs, {}, SchedulingPolicy::kFifo));
  const uint64_t way = random.Below(3);
  GroupPlacement device_of;
  for (ColocationGroupId group : problem.group_ids()) {
    const std::vector<DeviceId>& allowed = problem.groups[group].allowed;
    const size_t chosen = way == 0   ? random.Below(allowed.size())
                          : way == 1 ? group.index() * allowed.size() / problem.groups.size()
                                     : 0;
    device_of.push_back(allowed[chosen]);
  }
  Placement placement = ExpandGroups(problem, device_of);
  PW_RETURN_IF_ERROR(CheckPlacementLegal(problem.sim_graph, plan.graph.graph, cluster, placement));
  Simulator simulator(problem.sim_graph);
  const SimResult& result = simulator.Run(placement, {SchedulingPolicy::kFifo, true, false});
  PW_RETURN_IF_ERROR(
      CheckNotSaturated(problem.sim_graph, plan.graph.graph, cluster, placement, result));
  return placement;
}

void RequireSame(const PlanInputs& plan, const Placement& placement,
                 const Result<NamedPlacement>& named, std::string_view format) {
  Require(named.ok(), format, named.ok() ? "" : named.error().ToString());
  const auto again = ResolvePlacement(named.value(), plan.graph.graph, plan.cluster.cluster);
  Require(again.ok(), format, again.ok() ? "" : again.error().ToString());
  for (const OpId op : plan.graph.graph.ops()) {
    if (plan.graph.graph.op(op).is_view) continue;
    Require(again.value()[op] == placement[op], format, "another placement");
  }
}

void ReadBack(const PlanInputs& plan, const Placement& placement, std::string_view format,
              const std::string& text) {
  const Graph& graph = plan.graph.graph;
  if (format == "graphdef") {
    RequireSame(plan, placement, PlacementOfGraphDef(text, graph, plan.cluster.cluster), format);
    return;
  }
  if (format == "pipedream") {
    const auto staged = ReadPipeDream(text);
    Require(staged.ok(), format, "does not read back");
    Require(PlacementOfStages(staged.value(), graph, plan.cluster.cluster).ok(), format, "stages");
    return;
  }
  const auto document = ParseJson(text);
  Require(document.ok(), format, "is no JSON");
  if (format == "aten") {
    auto file = ReadAtenFile(text);
    Require(file.ok() && file.value().placement.has_value(), format, "does not read back");
    RequireSame(plan, placement, *file.value().placement, format);
  } else if (format == "dnn-partitioning") {
    const auto split = ReadSplit(document.value());
    Require(split.ok(), format, "does not read back");
    RequireSame(plan, placement,
                PlacementOfSplit(*plan.graph.Details<PipelineWorkload>(), split.value()), format);
  }
}

Status Export(std::string_view bytes) {
  Random random(SeedOf(bytes));
  PlanInputs plan;
  GraphInputOptions options;
  options.assume_dimensions = true;
  PW_ASSIGN(plan.graph, LoadGraph(WriteInput(bytes), options));
  PW_RETURN_IF_ERROR(Equip(plan, random));
  PW_ASSIGN(const Placement placement, Draw(plan, random));
  tests::SimulatedPlan simulated = tests::Simulate(plan.graph.graph, plan.cluster.cluster,
                                                   plan.costs, placement, SchedulingPolicy::kFifo);
  const std::string cluster_path = plan.plan.cluster.path;
  plan.plan = std::move(simulated.plan);
  plan.plan.cluster.path = cluster_path;
  plan.document = PlanToJson(plan.plan);
  plan.schedule = {std::move(simulated.schedule), placement};
  for (const ExportFormat& format : ExportFormats()) {
    std::string text;
    std::vector<std::string> notes;
    const auto sink = [&](std::string_view piece) {
      text += piece;
      return Ok();
    };
    const Status written = format.write(plan, placement, sink, &notes);
    if (written.ok()) {
      ReadBack(plan, placement, format.name, text);
    } else {
      Require(written.error().code == ErrorCode::kNotExpressible, format.name,
              written.error().ToString());
    }
  }
  return Ok();
}

}  // namespace
}  // namespace placewright

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)placewright::Export({reinterpret_cast<const char*>(data), size});
  return 0;
}
