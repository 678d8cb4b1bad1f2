#include "plan/sequence.h"

#include <fmt/format.h>

#include "base/text.h"

namespace placewright {
namespace {

class Resolver {
 public:
  Resolver(const Graph& graph, const Cluster& cluster, const Placement& placement)
      : graph_(graph), cluster_(cluster), placement_(placement), listed_(graph.op_count(), 0) {}

  Result<Sequences> Resolve(const NamedSequences& named) {
    Sequences sequences;
    if (named.empty()) return sequences;
    sequences.resize(cluster_.device_count());
    for (const auto& [name, ops] : named) {
      const std::string place = "sequence." + Printable(name, 80);
      PW_ASSIGN(const DeviceId device, Find(name, place));
      if (sequences[device]) {
        return MakeError(ErrorCode::kDuplicateName, "the device has two sequences", place);
      }
      PW_ASSIGN(sequences[device], List(device, ops, place));
    }
    return sequences;
  }

 private:
  Result<DeviceId> Find(const std::string& name, const std::string& place) const {
    std::vector<std::string> names;
    for (const DeviceId id : cluster_.devices()) {
      if (cluster_.device(id).name == name) return id;
      names.push_back(cluster_.device(id).name);
    }
    return MakeError(
        ErrorCode::kUnknownName,
        fmt::format("no device is called \"{}\"{}", Printable(name, 80), DidYouMean(name, names)),
        place);
  }

  Result<std::vector<OpId>> List(DeviceId device, const std::vector<std::string>& names,
                                 const std::string& place) {
    std::vector<OpId> ops;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string item = fmt::format("{}[{}]", place, i);
      const OpId op = graph_.FindOp(names[i]);
      if (!op.valid()) {
        return MakeError(ErrorCode::kUnknownName,
                         fmt::format("no op is called \"{}\"", Printable(names[i], 80)), item);
      }
      PW_RETURN_IF_ERROR(CheckItem(op, device, item));
      ops.push_back(op);
    }
    for (const OpId op : graph_.ops()) {
      if (placement_[op] != device || !HasTurn(op) || listed_[op]) continue;
      return MakeError(ErrorCode::kPlanMismatch,
                       fmt::format("op \"{}\" lies on the device and is not listed",
                                   Printable(graph_.op(op).name, 80)),
                       place, kRemedy);
    }
    return ops;
  }

  Status CheckItem(OpId op, DeviceId device, const std::string& item) {
    const std::string name = Printable(graph_.op(op).name, 80);
    if (listed_[op]) {
      return MakeError(ErrorCode::kDuplicateName, fmt::format("op \"{}\" is listed twice", name),
                       item, "Remove one of them.");
    }
    listed_[op] = 1;
    if (placement_[op] != device) {
      return MakeError(
          ErrorCode::kPlanMismatch,
          fmt::format("op \"{}\" lies on {}", name,
                      Printable(cluster_.device(placement_[op]).name, 80)),
          item, "A sequence belongs to one placement: leave it out, or give the placement's own.");
    }
    if (HasTurn(op)) return Ok();
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("op \"{}\" is {}, which no device runs in turn", name,
                                 graph_.op(op).is_view ? "a view" : "a member of a collective"),
                     item, kRemedy);
  }

  bool HasTurn(OpId op) const {
    return !graph_.op(op).is_view && !graph_.collective_of(op).valid();
  }

  static constexpr const char* kRemedy =
      "List every op of the device once, without views and members of collectives.";

  const Graph& graph_;
  const Cluster& cluster_;
  const Placement& placement_;
  IdVector<OpId, char> listed_;
};

}  // namespace

Result<Sequences> ResolveSequences(const NamedSequences& named, const Graph& graph,
                                   const Cluster& cluster, const Placement& placement) {
  return Resolver(graph, cluster, placement).Resolve(named);
}

Error SequenceDeadlock(const Graph& graph, const Cluster& cluster, const Placement& placement,
                       OpId op) {
  const std::string device = Printable(cluster.device(placement[op]).name, 80);
  return MakeError(ErrorCode::kPlanInvalid,
                   fmt::format("the sequences make the ops wait for one another: it is the turn of "
                               "op \"{}\" on {}, which never becomes ready",
                               Printable(graph.op(op).name, 80), device),
                   "sequence." + device,
                   "List ops behind those of other devices that they wait for.");
}

}  // namespace placewright
