#include "formats/dnn_partitioning/workload_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "cluster/cluster_builder.h"
#include "formats/dnn_partitioning/workload_scale.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

constexpr size_t kLongestName = 4096;
constexpr size_t kMaxTimes = size_t{1} << 25;  // nodes times devices
constexpr const char* kFormat = "dnn-partitioning";
constexpr const char* kMemorySuffix = "/memory";

std::string AcceleratorName(int64_t i) { return fmt::format("accelerator{}", i + 1); }
std::string CpuName(int64_t i) { return fmt::format("cpu{}", i + 1); }

int64_t WholeNanos(double time) { return static_cast<int64_t>(time * kNanosPerWorkloadUnit + 0.5); }

std::vector<std::string> NamesOf(const PipelineWorkload& workload) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const WorkloadNode& node : workload.nodes) {
    const bool good = !node.name.empty() && node.name.size() <= kLongestName &&
                      taken.insert(node.name).second &&
                      taken.insert(node.name + kMemorySuffix).second;
    if (!good) break;
    names.push_back(node.name);
  }
  if (names.size() == workload.nodes.size()) return names;
  names.clear();
  for (const WorkloadNode& node : workload.nodes) names.push_back(fmt::format("node{}", node.id));
  return names;
}

class Converter {
 public:
  explicit Converter(const PipelineWorkload& workload)
      : workload_(workload), scale_(ScaleOf(workload)) {}

  Result<CostGraph> Convert() {
    const int64_t max = static_cast<int64_t>(kMaxDevices);
    if (workload_.accelerators > max || workload_.cpus > max - workload_.accelerators ||
        workload_.accelerators + workload_.cpus == 0) {
      return MakeError(ErrorCode::kClusterInvalid,
                       fmt::format("{} accelerators and {} CPUs; from 1 to {} devices are possible",
                                   workload_.accelerators, workload_.cpus, kMaxDevices),
                       "maxFPGAs");
    }
    const auto devices = static_cast<size_t>(workload_.accelerators + workload_.cpus);
    if (workload_.nodes.size() > kMaxTimes / devices) {
      return MakeError(ErrorCode::kFileTooLarge,
                       fmt::format("{} nodes on {} devices are more than {} times",
                                   workload_.nodes.size(), devices, kMaxTimes),
                       "nodes");
    }
    PW_ASSIGN(Graph graph, MakeGraph());
    PW_ASSIGN(Cluster cluster, MakeCluster(graph));
    return CostGraph{std::move(graph), std::move(cluster), MakeCosts(), std::nullopt, {}};
  }

 private:
  Result<Graph> MakeGraph() const;
  Result<Cluster> MakeCluster(const Graph& graph) const;
  Status AddDevices(ClusterBuilder& builder, const Graph& graph) const;
  CostTable MakeCosts() const;

  const PipelineWorkload& workload_;
  const WorkloadScale scale_;
};

Result<Graph> Converter::MakeGraph() const {
  GraphBuilder builder("dnn-partitioning workload", kFormat);
  const std::vector<std::string> names = NamesOf(workload_);
  std::vector<std::vector<TensorId>> inputs(names.size()), outputs(names.size());
  std::unordered_map<int64_t, TensorId> first_of_class;
  for (size_t i = 0; i < names.size(); ++i) {
    const WorkloadNode& node = workload_.nodes[i];
    if (node.size == 0 && !node.color_class) continue;
    PW_ASSIGN(const TensorId memory,
              builder.AddInput(names[i] + kMemorySuffix, TensorKind::kParameter, DType::kOpaque, {},
                               scale_.OfSize(node.size)));
    inputs[i].push_back(memory);
    if (!node.color_class) continue;
    const auto [first, is_new] = first_of_class.emplace(*node.color_class, memory);
    if (!is_new) builder.Tie(first->second, memory);
  }
  for (const WorkloadEdge& edge : workload_.edges) {
    std::vector<TensorId>& made = outputs[edge.from];
    if (made.empty()) {
      PW_ASSIGN(const TensorId output,
                builder.DeclareTensor(names[edge.from], DType::kOpaque, {},
                                      scale_.OfActivation(workload_.output_cost[edge.from])));
      made.push_back(output);
    }
    inputs[edge.to].push_back(made.front());
  }
  for (size_t i = 0; i < names.size(); ++i) {
    OpSpec spec;
    spec.name = names[i];
    spec.type = "node";
    spec.phase = workload_.nodes[i].backward ? Phase::kBackward : Phase::kForward;
    std::sort(inputs[i].begin(), inputs[i].end());
    inputs[i].erase(std::unique(inputs[i].begin(), inputs[i].end()), inputs[i].end());
    spec.inputs = std::move(inputs[i]);
    PW_RETURN_IF_ERROR(builder.AddOpWithDeclaredOutputs(std::move(spec), std::move(outputs[i])));
  }
  Result<Graph> graph = std::move(builder).Build();
  if (!graph.ok() && graph.error().place.empty()) graph.error().place = "edges";
  return graph;
}

// A CPU has room for everything: it has no limit.
Status Converter::AddDevices(ClusterBuilder& builder, const Graph& graph) const {
  int64_t everything = 1;
  for (const StorageId id : graph.storages()) {
    everything = SaturatingAdd(everything, RoundUpToGranule(graph.storage(id).bytes).count);
  }
  DeviceKind accelerator, cpu;
  accelerator.name = accelerator.architecture = "accelerator";
  cpu.name = cpu.architecture = "cpu";
  cpu.device_class = DeviceClass::kCpu;
  accelerator.source = cpu.source = "dnn-partitioning workload";
  accelerator.memory = scale_.limit;
  cpu.memory = Bytes(everything);
  for (const DeviceKind& kind : {accelerator, cpu}) {
    const bool is_cpu = kind.device_class == DeviceClass::kCpu;
    const int64_t count = is_cpu ? workload_.cpus : workload_.accelerators;
    if (count == 0) continue;
    PW_ASSIGN(const int32_t index, builder.AddKind(kind));
    for (int64_t i = 0; i < count; ++i) {
      PW_RETURN_IF_ERROR(builder.AddDevice(
          {is_cpu ? CpuName(i) : AcceleratorName(i), index, 0, kind.memory, Bytes(0)}));
    }
  }
  return Ok();
}

Result<Cluster> Converter::MakeCluster(const Graph& graph) const {
  ClusterBuilder builder("accelerators and CPUs of the workload");
  PW_RETURN_IF_ERROR(AddDevices(builder, graph));
  const auto add = [&](std::string name, int64_t bandwidth) {
    return builder.AddLink({std::move(name), BytesPerSecond(bandwidth), Nanos(0), "given"});
  };
  struct Links {
    LinkId out, in, through;  // to the host, from it; to the host and on to another accelerator
  };
  std::vector<Links> links;  // of a CPU only `out`, which is to other CPUs
  for (int64_t i = 0; i < workload_.accelerators; ++i) {
    const std::string name = AcceleratorName(i);
    Links& own = links.emplace_back();
    PW_ASSIGN(own.out, add(name + ">host", scale_.bandwidth));
    PW_ASSIGN(own.in, add("host>" + name, scale_.bandwidth));
    PW_ASSIGN(own.through, add(name + ">accelerators", scale_.bandwidth / 2));
  }
  for (int64_t i = 0; i < workload_.cpus; ++i) {
    PW_ASSIGN(links.emplace_back().out, add(CpuName(i) + ">cpus", kMaxQuantity));
  }
  const auto accelerators = static_cast<size_t>(workload_.accelerators);
  for (size_t from = 0; from < links.size(); ++from) {
    for (size_t to = 0; to < links.size(); ++to) {
      if (from == to) continue;
      std::vector<LinkId> route;
      if (from < accelerators || to >= accelerators) route.push_back(links[from].out);
      if (from < accelerators && to < accelerators) route.push_back(links[from].through);
      if (to < accelerators) route.push_back(links[to].in);
      PW_RETURN_IF_ERROR(builder.AddRoute(DeviceId(from), DeviceId(to), std::move(route)));
    }
  }
  return std::move(builder).Build();
}

CostTable Converter::MakeCosts() const {
  const auto accelerators = static_cast<size_t>(workload_.accelerators);
  const size_t devices = accelerators + static_cast<size_t>(workload_.cpus);
  CostTable costs(workload_.nodes.size(), devices);
  for (size_t i = 0; i < workload_.nodes.size(); ++i) {
    const WorkloadNode& node = workload_.nodes[i];
    costs.SetSource(OpId(i), CostSource::kGiven);
    for (size_t d = 0; d < devices; ++d) {
      if (d < accelerators && !node.runs_on_accelerator) continue;
      const double time = d < accelerators ? node.accelerator_time : node.cpu_time;
      costs.SetTime(OpId(i), DeviceId(d), Nanos(WholeNanos(time)));
    }
  }
  return costs;
}

}  // namespace

Result<CostGraph> WorkloadToCostGraph(const PipelineWorkload& workload) {
  return Converter(workload).Convert();
}

std::vector<std::string> WorkloadNotes(const PipelineWorkload& workload) {
  std::vector<std::string> notes = {
      "a dnn-partitioning workload: its unit of time is taken for a millisecond, an FPGA for an "
      "accelerator, a colour class for a colocation group",
      "transfers overlap with computing here, and each receiver has its own transfer; the "
      "workload's own "
      "objectives are those of `simulate --objective`"};
  const auto refused = std::count_if(workload.nodes.begin(), workload.nodes.end(),
                                     [](const auto& node) { return !node.runs_on_accelerator; });
  const WorkloadScale scale = ScaleOf(workload);
  if (scale.size_factor > 1) {
    notes.push_back(
        fmt::format("its sizes and limit are multiplied by {}: they are small beside the memory of "
                    "activations here, which the workload does not count",
                    scale.size_factor));
  }
  if (refused > 0) notes.push_back(fmt::format("{} nodes run on CPUs only", refused));
  return notes;
}

Result<NamedPlacement> PlacementOfSplit(const PipelineWorkload& workload, const Split& split) {
  PW_ASSIGN(const std::vector<SplitDevice> devices, DevicesOfNodes(workload, split));
  const std::vector<std::string> names = NamesOf(workload);
  NamedPlacement placement;
  for (size_t i = 0; i < devices.size(); ++i) {
    const bool accelerator = devices[i].accelerator;
    const int64_t count = accelerator ? workload.accelerators : workload.cpus;
    if (devices[i].entry >= count) {
      return MakeError(
          ErrorCode::kSplitDevices,
          fmt::format("node {} is on {} {}, the workload has {}", workload.nodes[i].id,
                      accelerator ? "accelerator" : "CPU", devices[i].entry + 1, count),
          fmt::format("{}[{}]", accelerator ? "fpgas" : "cpus", devices[i].entry),
          "Use no entry beyond maxFPGAs and maxCPUs.");
    }
    placement.emplace_back(
        names[i], accelerator ? AcceleratorName(devices[i].entry) : CpuName(devices[i].entry));
  }
  return placement;
}

Split SplitOfPlacement(const PipelineWorkload& workload, const Placement& placement) {
  const auto accelerators = static_cast<size_t>(workload.accelerators);
  Split split;
  split.accelerators.resize(accelerators);
  split.cpus.resize(static_cast<size_t>(workload.cpus));
  for (size_t i = 0; i < workload.nodes.size(); ++i) {
    const size_t device = placement[OpId(i)].index();
    std::vector<int64_t>& entry =
        device < accelerators ? split.accelerators[device] : split.cpus[device - accelerators];
    entry.push_back(workload.nodes[i].id);
  }
  return split;
}

}  // namespace placewright
