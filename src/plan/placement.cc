#include "plan/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace placewright {
namespace {

// Messages list this many offenders and count the rest.
constexpr size_t kListed = 3;

std::string Quoted(std::string_view name) { return fmt::format("\"{}\"", Printable(name, 80)); }

std::string FirstFew(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kListed); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", Quoted(names[i]));
  }
  if (names.size() > kListed) text += fmt::format(" and {} more", names.size() - kListed);
  return text;
}

std::vector<std::string> OpNames(const Graph& graph) {
  std::vector<std::string> names;
  names.reserve(graph.op_count());
  for (OpId op : graph.ops()) names.push_back(graph.op(op).name);
  return names;
}

Error UnknownOps(const std::vector<std::string>& names, const Graph& graph) {
  return MakeError(
      ErrorCode::kUnknownName,
      fmt::format("the placement names {} op{} that the graph \"{}\" does not have: "
                  "{}{}",
                  names.size(), names.size() == 1 ? "" : "s", Printable(graph.name(), 80),
                  FirstFew(names), DidYouMean(names.front(), OpNames(graph))),
      "placement");
}

// The device that a left-out view takes: of its colocation group's first placed op; else of the
// first placed reader of its storage (that is where a parameter read only through views lives).
class ViewFiller {
 public:
  ViewFiller(const Graph& graph, const Placement& placement)
      : of_group_(graph.group_count()), of_storage_(graph.storage_count()) {
    for (OpId op : graph.ops()) {
      if (!placement[op].valid()) continue;
      DeviceId& device = of_group_[graph.group(op)];
      if (!device.valid()) device = placement[op];
      for (TensorId input : graph.op(op).inputs) {
        DeviceId& reader = of_storage_[graph.tensor(input).storage];
        if (!reader.valid()) reader = placement[op];
      }
    }
  }

  DeviceId DeviceOf(const Graph& graph, OpId view) const {
    const DeviceId of_group = of_group_[graph.group(view)];
    if (of_group.valid()) return of_group;
    for (TensorId input : graph.op(view).inputs) {
      const DeviceId reader = of_storage_[graph.tensor(input).storage];
      if (reader.valid()) return reader;
    }
    return DeviceId(0);  // it has no reader: any device does
  }

 private:
  IdVector<GroupId, DeviceId> of_group_;
  IdVector<StorageId, DeviceId> of_storage_;
};

// Views of one group must agree even if only their storages' readers decide.
void FillViews(const Graph& graph, Placement& placement) {
  const ViewFiller filler(graph, placement);
  IdVector<GroupId, DeviceId> chosen(graph.group_count());
  for (OpId op : graph.ops()) {
    if (placement[op].valid() || !graph.op(op).is_view) continue;
    DeviceId& device = chosen[graph.group(op)];
    if (!device.valid()) device = filler.DeviceOf(graph, op);
    placement[op] = device;
  }
}

}  // namespace

Result<Placement> ResolvePlacement(const NamedPlacement& named, const Graph& graph,
                                   const Cluster& cluster) {
  Placement placement(graph.op_count());
  std::vector<std::string> unknown;
  OpId next(size_t{0});  // mostly ops are named in the graph's order
  for (const auto& [op_name, device_name] : named) {
    const bool is_next = next.index() < graph.op_count() && graph.op(next).name == op_name;
    const OpId op = is_next ? next : graph.FindOp(op_name);
    if (op.valid()) next = OpId(op.index() + 1);
    if (!op.valid()) {
      unknown.push_back(op_name);
      continue;
    }
    const DeviceId device = cluster.FindDevice(device_name);
    if (!device.valid()) {
      return MakeError(
          ErrorCode::kUnknownName,
          fmt::format("the cluster \"{}\" has no device {}{}", Printable(cluster.name(), 80),
                      Quoted(device_name), DidYouMean(device_name, cluster.DeviceNames())),
          fmt::format("placement[{}]", Quoted(op_name)));
    }
    if (placement[op].valid()) {
      return MakeError(ErrorCode::kDuplicateName,
                       fmt::format("the op {} is placed twice", Quoted(op_name)),
                       fmt::format("placement[{}]", Quoted(op_name)));
    }
    placement[op] = device;
  }
  if (!unknown.empty()) return UnknownOps(unknown, graph);
  std::vector<std::string> missing;
  for (OpId op : graph.ops()) {
    if (!placement[op].valid() && !graph.op(op).is_view) missing.push_back(graph.op(op).name);
  }
  if (!missing.empty()) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("{} of the graph's {} ops have no device: {}", missing.size(),
                                 graph.op_count(), FirstFew(missing)),
                     "placement");
  }
  FillViews(graph, placement);
  return placement;
}

NamedPlacement NamePlacement(const Placement& placement, const Graph& graph,
                             const Cluster& cluster) {
  NamedPlacement named;
  named.reserve(graph.op_count());
  for (OpId op : graph.ops()) {
    named.emplace_back(graph.op(op).name, cluster.device(placement[op]).name);
  }
  return named;
}

}  // namespace placewright
