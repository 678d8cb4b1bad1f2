#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "cost/efficiency.h"
#include "cost/instance_costs.h"

namespace placewright {
namespace {

// A lookup in a table of parameters: an ATen embedding, or an ONNX Gather from a parameter matrix.
bool IsParameterLookup(const Graph& graph, const Op& op) {
  if (op.type == "com.microsoft.EmbedLayerNormalization") return true;
  if (op.type != "Gather" || op.inputs.empty()) return false;
  const Tensor& table = graph.tensor(op.inputs[0]);
  return table.kind == TensorKind::kParameter && table.shape.size() == 2;
}

bool TouchesStrings(const Graph& graph, const Op& op) {
  const auto is_string = [&](TensorId id) { return graph.tensor(id).dtype == DType::kString; };
  return std::any_of(op.inputs.begin(), op.inputs.end(), is_string) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), is_string);
}

bool SupportsOp(const Graph& graph, const Op& op, const DeviceKind& kind,
                const std::string& profile) {
  if (!Supports(op.type, kind, profile)) return false;
  if (kind.device_class == DeviceClass::kCpu) return true;
  if (TouchesStrings(graph, op)) return false;
  return profile != "tf1" || !IsParameterLookup(graph, op);
}

// `instances`: nullptr where every op may be on every device.
void SetModelledTimes(const Graph& graph, const Cluster& cluster, const CostOptions& options,
                      const StepInstances* instances, OpId id, const Work& work, CostTable& table) {
  const Op& op = graph.op(id);
  const DType dtype = ComputeDType(graph, id);
  const auto time_on = [&](const DeviceKind& kind) {
    if (op.is_view) return Nanos(0);
    if (!SupportsOp(graph, op, kind, options.profile)) return CostTable::kUnsupported;
    Work asked = work;
    asked.flops *= TimesOfProducts(op.type, dtype, kind);
    const Nanos time = RooflineTime(asked, dtype, kind, options.precision);
    const bool scaled = instances != nullptr && !instances->slower.empty();
    return scaled ? ScaledTime(time, instances->slower[id]) : time;
  };
  if (instances != nullptr) {
    const DeviceId device = instances->devices[id];
    table.SetTime(id, device, time_on(cluster.kind(device)));
    return;
  }
  for (size_t kind = 0; kind < table.column_count(); ++kind) {
    table.SetColumnTime(id, kind, time_on(cluster.kinds()[kind]));
  }
}

IdVector<DeviceId, size_t> KindsOfDevices(const Cluster& cluster) {
  IdVector<DeviceId, size_t> kinds;
  for (const DeviceId device : cluster.devices()) {
    kinds.push_back(static_cast<size_t>(cluster.device(device).kind));
  }
  return kinds;
}

bool GlobOrAny(const std::string& pattern, std::string_view text) {
  return pattern.empty() || GlobMatch(pattern, text);
}

Error MatchesNothing(const CostOverride& line, const Graph& graph, const Cluster& cluster,
                     bool op_matched) {
  std::vector<std::string> candidates;
  std::string wanted, what;
  if (op_matched) {
    wanted = line.device.empty() ? line.kind : line.device;
    what = line.device.empty() ? "device kind" : "device";
    for (const DeviceKind& kind : cluster.kinds()) {
      if (line.device.empty()) candidates.push_back(kind.name);
    }
    if (!line.device.empty()) candidates = cluster.DeviceNames();
  } else {
    wanted = line.op.empty() ? line.type : line.op;
    what = line.op.empty() ? "type of a computing op" : "computing op";
    std::set<std::string> names;
    for (OpId id : graph.ops()) {
      const Op& op = graph.op(id);
      if (!op.is_view) names.insert(line.op.empty() ? std::string(op.type) : op.name);
    }
    candidates.assign(names.begin(), names.end());
  }
  return MakeError(ErrorCode::kField,
                   "the override matches nothing: no " + what + " is like \"" + Printable(wanted) +
                       "\"" + DidYouMean(wanted, candidates),
                   line.place, "Remove the entry or fix its pattern.");
}

Status Apply(const CostOverride& line, const Graph& graph, const Cluster& cluster,
             const StepInstances* instances, CostTable& table) {
  std::vector<DeviceId> devices;
  for (DeviceId d : cluster.devices()) {
    if (GlobOrAny(line.device, cluster.device(d).name) &&
        GlobOrAny(line.kind, cluster.kind(d).name)) {
      devices.push_back(d);
    }
  }
  bool op_matched = false;
  for (OpId id : graph.ops()) {
    const bool copied = instances != nullptr && !instances->originals.empty();
    const Op* const original = copied ? instances->originals[id] : nullptr;
    const Op& op = original == nullptr ? graph.op(id) : *original;
    if (op.is_view || !GlobOrAny(line.op, op.name) || !GlobOrAny(line.type, op.type)) continue;
    op_matched = true;
    for (DeviceId d : devices) {
      if (instances != nullptr && instances->devices[id] != d) continue;
      table.SetTime(id, d, line.scale > 0 ? ScaledTime(table.time(id, d), line.scale) : line.time);
      table.SetSource(id, d, line.source);
    }
  }
  if (!op_matched || devices.empty()) return MatchesNothing(line, graph, cluster, op_matched);
  return Ok();
}

Result<CostTable> CostsOf(const Graph& graph, const Cluster& cluster, const CostOptions& options,
                          const StepInstances* instances, CostModelReport* report) {
  if (!IsCostProfile(options.profile)) {
    return MakeError(ErrorCode::kField,
                     "there is no cost profile \"" + Printable(options.profile) + "\"" +
                         DidYouMean(options.profile, {"default", "tf1"}),
                     "", "Choose default or tf1.");
  }
  CostTable table = instances == nullptr
                        ? CostTable(graph.op_count(), KindsOfDevices(cluster))
                        : CostTable::OfOneDeviceEach(graph.op_count(), cluster.device_count());
  const bool whole = instances == nullptr || instances->wholes.empty();
  for (OpId id : graph.ops()) {
    const bool stands_for = !whole && instances->wholes[id] != nullptr;
    const Work work = WorkOf(graph, stands_for ? *instances->wholes[id] : graph.op(id));
    table.SetWorkspace(id, work.workspace);
    SetModelledTimes(graph, cluster, options, instances, id, work, table);
  }
  std::optional<MeasuredIndex> made;
  const MeasuredIndex* index = instances == nullptr ? nullptr : instances->measured;
  if (index == nullptr) index = &made.emplace(options.measured, cluster);
  MeasuredUse measured = ApplyMeasured(graph, *index, table, whole ? nullptr : &instances->wholes);
  for (const CostOverride& line : options.overrides) {
    Status applied = Apply(line, graph, cluster, instances, table);
    if (!applied.ok()) return applied.error();
  }
  if (report != nullptr) *report = {UnknownTypes(graph), std::move(measured)};
  return table;
}

}  // namespace

// Exact below 2^53.
Nanos ScaledTime(Nanos time, double scale) {
  if (time == CostTable::kUnsupported) return time;
  const double scaled = static_cast<double>(time.count) * scale;
  if (!(scaled < static_cast<double>(kMaxQuantity))) return Nanos(kMaxQuantity);
  const int64_t whole = static_cast<int64_t>(scaled);
  return Nanos(whole + (static_cast<double>(whole) < scaled ? 1 : 0));
}

std::vector<std::string> UnknownTypes(const Graph& graph) {
  bool typed = false;  // where no tensor has an element type, ops have times instead of types
  for (TensorId id : graph.tensors()) typed = typed || graph.tensor(id).dtype != DType::kOpaque;
  if (!typed) return {};
  std::set<std::string> unknown;
  for (OpId id : graph.ops()) {
    if (!WorkOf(graph, id).known) unknown.emplace(graph.op(id).type);
  }
  return {unknown.begin(), unknown.end()};
}

Result<CostTable> ModelCosts(const Graph& graph, const Cluster& cluster, const CostOptions& options,
                             CostModelReport* report) {
  return CostsOf(graph, cluster, options, nullptr, report);
}

Result<CostTable> ModelInstanceCosts(const Graph& graph, const Cluster& cluster,
                                     const CostOptions& options, const StepInstances& instances,
                                     CostModelReport* report) {
  return CostsOf(graph, cluster, options, &instances, report);
}

}  // namespace placewright
