#include "formats/pipedream/profile_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

constexpr const char* kBackward = ".backward";
constexpr const char* kParameters = ".parameters";
constexpr const char* kAnchor = ".backward.anchor";

Nanos WholeNanos(double ms) { return Nanos(static_cast<int64_t>(ms * 1e6 + 0.5)); }

Bytes WholeBytes(double size) {  // rounded up
  const auto whole = static_cast<int64_t>(size);
  return Bytes(static_cast<double>(whole) < size ? whole + 1 : whole);
}

bool Trains(const PipeDreamProfile& profile) {
  return std::any_of(profile.layers.begin(), profile.layers.end(), [](const ProfileLayer& layer) {
    return !layer.left_out && layer.backward_ms > 0;
  });
}

class Converter {
 public:
  explicit Converter(const PipeDreamProfile& profile)
      : profile_(profile),
        trains_(Trains(profile)),
        builder_("PipeDream profile", "pipedream"),
        forward_(profile.layers.size()),
        backward_(profile.layers.size()) {}

  Result<ProfileGraph> Convert() {
    PW_RETURN_IF_ERROR(DeclareTensors());
    PW_RETURN_IF_ERROR(DeclareGradients());
    for (size_t i = 0; i < profile_.layers.size(); ++i) {
      if (!profile_.layers[i].left_out) PW_RETURN_IF_ERROR(AddOp(i, false));
    }
    if (times_.empty()) return MakeError(ErrorCode::kField, "the profile has nothing but inputs");
    for (size_t i = 0; trains_ && i < profile_.layers.size(); ++i) {
      if (!profile_.layers[i].left_out) PW_RETURN_IF_ERROR(AddOp(i, true));
    }
    PW_ASSIGN(Graph graph, std::move(builder_).Build());
    return ProfileGraph{std::move(graph), std::move(times_)};
  }

 private:
  struct Tensors {
    std::vector<TensorId> inputs, outputs;
  };

  Status DeclareTensors() {
    for (size_t i = 0; i < profile_.layers.size(); ++i) {
      const ProfileLayer& layer = profile_.layers[i];
      if (layer.left_out) continue;
      PW_ASSIGN(const TensorId parameters,
                builder_.AddInput(layer.id + kParameters, TensorKind::kParameter, DType::kOpaque,
                                  {}, WholeBytes(layer.parameter_bytes)));
      PW_ASSIGN(
          const TensorId activation,
          builder_.DeclareTensor(layer.id, DType::kOpaque, {}, WholeBytes(layer.activation_bytes)));
      forward_[i] = {{parameters}, {activation}};
      if (!trains_) continue;
      // Ops of tied states share a group: of the parameters the forward op's, of an empty one this.
      PW_ASSIGN(const TensorId anchor,
                builder_.AddInput(layer.id + kAnchor, TensorKind::kBuffer, DType::kOpaque, {}));
      builder_.Tie(parameters, anchor);
      backward_[i] = {{parameters, anchor, activation}, {}};
    }
    return Ok();
  }

  Status DeclareGradients() {
    for (const auto& [from, to] : profile_.edges) {
      const ProfileLayer &source = profile_.layers[from], &reader = profile_.layers[to];
      if (source.left_out || reader.left_out) continue;
      forward_[to].inputs.push_back(forward_[from].outputs.front());
      if (!trains_) continue;
      PW_ASSIGN(const TensorId gradient,
                builder_.DeclareTensor(fmt::format("{} -- {}", source.id, reader.id),
                                       DType::kOpaque, {}, WholeBytes(source.activation_bytes)));
      backward_[to].outputs.push_back(gradient);
      backward_[from].inputs.push_back(gradient);
    }
    return Ok();
  }

  Status AddOp(size_t i, bool backward) {
    const ProfileLayer& layer = profile_.layers[i];
    Tensors& tensors = backward ? backward_[i] : forward_[i];
    OpSpec spec;
    spec.name = backward ? layer.id + kBackward : layer.id;
    spec.type = "layer";
    spec.phase = backward ? Phase::kBackward : Phase::kForward;
    spec.inputs = std::move(tensors.inputs);
    times_.push_back(WholeNanos(backward ? layer.backward_ms : layer.forward_ms));
    return builder_.AddOpWithDeclaredOutputs(std::move(spec), std::move(tensors.outputs));
  }

  const PipeDreamProfile& profile_;
  const bool trains_;
  GraphBuilder builder_;
  std::vector<Tensors> forward_, backward_;
  IdVector<OpId, Nanos> times_;
};

// The device of every layer that was not left out, else invalid.
std::vector<DeviceId> DevicesOfLayers(const PipeDreamProfile& profile, const Graph& graph,
                                      const Placement& placement) {
  std::vector<DeviceId> devices(profile.layers.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    const OpId op = profile.layers[i].left_out ? OpId() : graph.FindOp(profile.layers[i].id);
    if (op.valid()) devices[i] = placement[op];
  }
  return devices;
}

using Crossings = std::set<std::pair<DeviceId, DeviceId>>;  // from, to: some edge leads there

// Devices of layers so that every one stands before those it passes data to, by id among equals;
// shorter where the pipeline comes back.
std::vector<DeviceId> OrderOfDevices(std::set<DeviceId> ready, const Crossings& crossings,
                                     size_t device_count) {
  IdVector<DeviceId, int32_t> waits_for(device_count, 0);
  for (const auto& [from, to] : crossings) ++waits_for[to];
  std::erase_if(ready, [&](DeviceId device) { return waits_for[device] > 0; });
  std::vector<DeviceId> order;
  while (!ready.empty()) {
    const DeviceId device = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(device);
    for (auto it = crossings.lower_bound({device, DeviceId()});
         it != crossings.end() && it->first == device; ++it) {
      if (--waits_for[it->second] == 0) ready.insert(it->second);
    }
  }
  return order;
}

// Gives layers without a stage the one of a neighbour that has one, readers first; else 0.
void FollowNeighbours(const PipeDreamProfile& profile, std::vector<int64_t>& stages) {
  const std::vector<int64_t> placed = stages;
  for (const bool readers : {true, false}) {
    const auto neighbours = profile.Neighbours(readers);
    for (size_t i = 0; i < stages.size(); ++i) {
      for (const int32_t other : neighbours[i]) {
        if (stages[i] < 0) stages[i] = placed[other];
      }
    }
  }
  for (int64_t& stage : stages) stage = std::max<int64_t>(stage, 0);
}

}  // namespace

Result<ProfileGraph> ProfileToGraph(const PipeDreamProfile& profile) {
  return Converter(profile).Convert();
}

std::vector<std::string> ProfileNotes(const PipeDreamProfile& profile) {
  std::vector<std::string> notes;
  const auto dropped = std::count_if(profile.layers.begin(), profile.layers.end(),
                                     [](const ProfileLayer& layer) { return layer.left_out; });
  notes.push_back(fmt::format(
      "a PipeDream profile: its times hold on every device but CPUs beside accelerators{}",
      Trains(profile) ? "; neither gradients of parameters nor the optimizer are in it"
                      : "; no layer has a backward time, so this is inference"));
  if (dropped > 0) {
    notes.push_back(fmt::format(
        "left out as PipeDream does: {} (Input... at the source, __getitem__... at a sink)",
        dropped == 1 ? "1 layer" : fmt::format("{} layers", dropped)));
  }
  return notes;
}

Result<std::vector<int64_t>> StagesOf(const PipeDreamProfile& profile, const Graph& graph,
                                      const Placement& placement, const Cluster& cluster) {
  const std::vector<DeviceId> devices = DevicesOfLayers(profile, graph, placement);
  Crossings crossings;
  std::set<DeviceId> used;
  for (const DeviceId device : devices) {
    if (device.valid()) used.insert(device);
  }
  for (const auto& [from, to] : profile.edges) {
    const DeviceId source = devices[from], reader = devices[to];
    if (source.valid() && reader.valid() && source != reader) crossings.emplace(source, reader);
  }
  const std::vector<DeviceId> order = OrderOfDevices(used, crossings, cluster.device_count());
  for (const DeviceId device : order) used.erase(device);
  if (!used.empty()) {
    return MakeError(ErrorCode::kNotExpressible,
                     fmt::format("the pipeline comes back to a device it has left ({} or one that "
                                 "feeds it), so that no stages follow each other",
                                 Printable(cluster.device(*used.begin()).name, 80)),
                     "", "Plan with fewer devices, or export to another format.");
  }
  IdVector<DeviceId, int64_t> stage_of(cluster.device_count(), -1);
  for (size_t stage = 0; stage < order.size(); ++stage) {
    stage_of[order[stage]] = static_cast<int64_t>(stage);
  }
  std::vector<int64_t> stages(profile.layers.size(), -1);
  for (size_t i = 0; i < stages.size(); ++i) {
    if (devices[i].valid()) stages[i] = stage_of[devices[i]];
  }
  FollowNeighbours(profile, stages);
  return stages;
}

Result<NamedPlacement> PlacementOfStages(const PipeDreamProfile& staged, const Graph& graph,
                                         const Cluster& cluster) {
  std::vector<std::string> accelerators, all = cluster.DeviceNames();
  for (const DeviceId id : cluster.devices()) {
    if (cluster.kind(id).device_class != DeviceClass::kCpu) {
      accelerators.push_back(cluster.device(id).name);
    }
  }
  const std::vector<std::string>& devices = accelerators.empty() ? all : accelerators;
  NamedPlacement placement;
  for (const ProfileLayer& layer : staged.layers) {
    if (layer.left_out) continue;
    if (!layer.stage) {
      return MakeError(ErrorCode::kSplitIncomplete, "the layer has no stage_id",
                       Printable(layer.id, 80), "Give every layer a stage.");
    }
    const auto stage = static_cast<size_t>(*layer.stage);
    if (stage >= devices.size()) {
      return MakeError(
          ErrorCode::kSplitDevices,
          fmt::format("stage {} is beyond the cluster's {} devices", stage, devices.size()),
          Printable(layer.id, 80), "Give a cluster with a device for every stage.");
    }
    placement.emplace_back(layer.id, devices[stage]);
    const std::string backward = layer.id + kBackward;
    if (graph.FindOp(backward).valid()) placement.emplace_back(backward, devices[stage]);
  }
  return placement;
}

}  // namespace placewright
