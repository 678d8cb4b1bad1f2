#include "study/traversal/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cluster/catalogue.h"
#include "cluster/cluster_builder.h"
#include "cost/cost_model.h"
#include "formats/input.h"
#include "graph/graph_builder.h"
#include "study/traversal/sketch.h"

namespace placewright {
namespace {

constexpr std::array kFamilies{GraphFamily::kCifar10, GraphFamily::kPtb, GraphFamily::kNmt,
                               GraphFamily::kReal};
constexpr std::array<std::string_view, 4> kNames{"cifar10", "ptb", "nmt", "real"};

// What one chip of a K80 does in a microsecond in layers of this size, about (a tenth of what it is
// sold for), and what it takes to begin an op.
constexpr double kFlopsPerMicrosecond = 0.4e6, kBytesPerMicrosecond = 120e3;
constexpr double kLaunchMicroseconds = 12;

// How often the bytes of an op's output go to or from memory: kernels of depthwise convolutions are
// far from what the chip can do.
double PassesOf(const std::string& type) {
  if (type == "variable" || type == "input" || type == "constant") return 0;
  if (type == "depthwise") return 12;
  if (type == "norm" || type == "pool") return 4;
  return 2;
}

// `times` its forward work.
int64_t Nanoseconds(const SketchNode& node, double times) {
  const double work =
      std::max(node.flops / kFlopsPerMicrosecond,
               PassesOf(node.type) * static_cast<double>(node.bytes) / kBytesPerMicrosecond);
  return static_cast<int64_t>(std::floor((kLaunchMicroseconds + times * work) * 1000 + 0.5));
}

template <class T>
T Checked(Result<T> result) {
  if (!result.ok()) CheckFailed(__FILE__, __LINE__, result.error().ToString());
  return std::move(result).Take();
}
void Checked(const Status& status) {
  if (!status.ok()) CheckFailed(__FILE__, __LINE__, status.error().ToString());
}

OutputSpec Bytes4(std::string name, int64_t bytes) {
  OutputSpec output;
  output.name = std::move(name);
  output.shape = {bytes / 4};
  return output;
}

struct TimedGraph {
  Graph graph;
  std::vector<std::pair<std::string, int64_t>> times;  // by op, ns
};

// Each node's forward op, then, backwards, the ops that give gradients of their inputs from those of
// their outputs. What is given (variables, batches) has none: gradients of variables stay where they
// are made.
TimedGraph BuildGraph(const Sketch& sketch, const std::string& name) {
  const std::vector<SketchNode>& nodes = sketch.nodes();
  GraphBuilder builder(name, "family");
  TimedGraph made;
  std::vector<TensorId> outputs;
  for (const SketchNode& node : nodes) {
    OpSpec spec;
    spec.name = node.name;
    spec.type = node.type;
    for (const int32_t input : node.inputs) {
      spec.inputs.push_back(outputs[static_cast<size_t>(input)]);
    }
    spec.outputs = {Bytes4(node.name + ":0", node.bytes)};
    outputs.push_back(Checked(builder.AddOp(std::move(spec))).front());
    made.times.emplace_back(node.name, Nanoseconds(node, 1));
  }
  std::vector<std::vector<TensorId>> gradients(nodes.size());  // by node, of its output
  const auto given = [](const SketchNode& node) { return node.inputs.empty(); };
  for (size_t i = nodes.size(); i-- > 0;) {
    const SketchNode& node = nodes[i];
    if (given(node)) continue;
    OpSpec spec;
    spec.name = node.name + "/gradient";
    spec.type = node.type + "_backward";
    spec.phase = Phase::kBackward;
    spec.inputs = gradients[i];
    spec.inputs.push_back(outputs[i]);
    std::vector<int32_t> wanted;
    for (const int32_t input : node.inputs) {
      const SketchNode& from = nodes[static_cast<size_t>(input)];
      if (given(from)) continue;
      spec.outputs.push_back(Bytes4(fmt::format("{}:{}", spec.name, wanted.size()), from.bytes));
      wanted.push_back(input);
    }
    const std::string op = spec.name;
    const std::vector<TensorId> results = Checked(builder.AddOp(std::move(spec)));
    for (size_t k = 0; k < results.size(); ++k) {
      gradients[static_cast<size_t>(wanted[k])].push_back(results[k]);
    }
    builder.Colocate(node.name, op);
    made.times.emplace_back(op, Nanoseconds(node, 2));
  }
  made.graph = Checked(std::move(builder).Build());
  return made;
}

Cluster EqualDevices(int devices) {
  ClusterBuilder builder("placeto");
  DeviceKind kind;
  kind.name = "equal";
  const int32_t kind_index = Checked(builder.AddKind(kind));
  for (int d = 0; d < devices; ++d) {
    Device device;
    device.name = fmt::format("/device:GPU:{}", d);
    device.kind = kind_index;
    device.capacity = Bytes(12'000'000'000);
    Checked(builder.AddDevice(device));
  }
  for (int from = 0; from < devices; ++from) {
    for (int to = 0; to < devices; ++to) {
      if (from == to) continue;
      Link link;
      link.name = fmt::format("{}>{}", from, to);
      link.bandwidth = BytesPerSecond(7'600'000'000);
      link.latency = Nanos(25'000);
      link.source = "given";
      const LinkId id = Checked(builder.AddLink(link));
      Checked(builder.AddRoute(DeviceId(from), DeviceId(to), {id}));
    }
  }
  return Checked(std::move(builder).Build());
}

}  // namespace

std::span<const GraphFamily> AllGraphFamilies() { return std::span(kFamilies).first(3); }

std::span<const GraphFamily> StudiedFamilies() { return kFamilies; }

std::string_view ToString(GraphFamily family) { return kNames[static_cast<size_t>(family)]; }

CostGraph MakeFamilyGraph(GraphFamily family, int index, int devices) {
  PW_CHECK(family != GraphFamily::kReal && index >= 0 && index < kFamilySize && devices >= 1);
  TimedGraph made =
      BuildGraph(SketchOf(family, index), fmt::format("{} {}", ToString(family), index));
  CostGraph result{std::move(made.graph), EqualDevices(devices), {}, std::nullopt};
  result.costs = CostTable(result.graph.op_count(), static_cast<size_t>(devices));
  for (const OpId op : result.graph.ops()) {
    const auto& [name, time] = made.times[op.index()];
    PW_CHECK(result.graph.op(op).name == name);
    for (int d = 0; d < devices; ++d) result.costs.SetTime(op, DeviceId(d), Nanos(time));
    result.costs.SetSource(op, CostSource::kGiven);
  }
  return result;
}

std::span<const std::string_view> RealGraphFiles() {
  static constexpr std::array<std::string_view, 6> kFiles{
      "alexnet_b4_sgd.json.gz",   "tiny_rnnlm_1x64_b2_t3_sgd.json.gz",
      "vgg19_b96_sgd.json.gz",    "tiny_bert_l2_b2_s64_adam.json.gz",
      "resnet50_b32_sgd.json.gz", "mobilenet_v3_large_b64_sgd.json.gz"};
  return kFiles;
}

GroupGraphStatistics RealGraphStatistics(int index) {
  struct Counted {
    int64_t nodes, edges, diameter;
  };
  static constexpr std::array<Counted, 6> kCounted{{{64, 94, 24},
                                                    {98, 176, 13},
                                                    {123, 179, 49},
                                                    {204, 292, 27},
                                                    {504, 692, 52},
                                                    {604, 818, 74}}};
  const auto& [nodes, edges, diameter] = kCounted[static_cast<size_t>(index)];
  return {nodes, edges, static_cast<double>(edges) / static_cast<double>(nodes), diameter, true};
}

Result<CostGraph> LoadRealGraph(const std::string& folder, int index, int devices) {
  const std::string_view file = RealGraphFiles()[static_cast<size_t>(index)];
  PW_ASSIGN(LoadedGraph loaded, LoadGraph((std::filesystem::path(folder) / file).string()));
  PW_ASSIGN(const Cluster host, MakePreset("2xP100-16GB"));
  PW_ASSIGN(const CostTable modelled, ModelCosts(loaded.graph, host, {}));
  const DeviceId gpu = host.FindDevice("host0/gpu0");
  IdVector<OpId, Nanos> times(loaded.graph.op_count(), Nanos(0));
  for (const OpId op : loaded.graph.ops()) {
    if (modelled.Supports(op, gpu)) times[op] = modelled.time(op, gpu);
  }
  CostGraph result{std::move(loaded.graph), EqualDevices(devices), {}, std::nullopt};
  result.costs = GivenTimes(times, result.cluster);
  return result;
}

}  // namespace placewright
