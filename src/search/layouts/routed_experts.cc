#include "search/layouts/routed_experts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sharding/routing.h"

namespace placewright {
namespace {

class RowGroups {
 public:
  RowGroups(const Graph& graph, const NamedAxes& axes, AxisId axis,
            const IdVector<GroupId, std::vector<OpId>>& ops_of)
      : graph_(graph),
        axes_(axes),
        axis_(axis),
        ops_of_(ops_of),
        with_(graph.group_count(), false),
        summed_(graph.storage_count(), false) {}

  IdVector<GroupId, bool> Find(const std::vector<std::vector<OpId>>& regions) {
    for (const std::vector<OpId>& region : regions) {
      const bool by_axis = std::any_of(region.begin(), region.end(),
                                       [&](OpId op) { return axes_.SplitBy(op, axis_).valid(); });
      if (!by_axis) continue;
      for (const OpId op : region) {
        with_[graph_.group(op)] = true;
        NoteSums(op);
      }
      for (const OpId op : region) {
        for (const OpId beside : ops_of_[graph_.group(op)]) Look(beside);
      }
    }
    while (!next_.empty()) {
      const std::vector<GroupId> now(next_.begin(), next_.end());
      next_.clear();
      for (const GroupId group : now) {
        if (with_[group]) continue;
        const bool sums_up = SumsUp(group);
        if (!sums_up && !Feeds(group)) continue;
        with_[group] = true;
        for (const OpId op : ops_of_[group]) {
          for (const TensorId output : graph_.op(op).outputs) {
            const StorageId storage = graph_.tensor(output).storage;
            summed_[storage] = summed_[storage] || sums_up;
          }
        }
        for (const OpId op : ops_of_[group]) Look(op);
      }
    }
    return std::move(with_);
  }

 private:
  // What each device has is its experts' part of a sum.
  void NoteSums(OpId op) {
    for (size_t i = 0; i < graph_.op(op).outputs.size(); ++i) {
      const TensorId output = graph_.op(op).outputs[i];
      if (axes_.verdict(op, axis_, i) == PartVerdict::kSum) {
        summed_[graph_.tensor(output).storage] = true;
      }
    }
  }

  // Its neighbours may belong to it.
  void Look(OpId id) {
    for (const TensorId input : graph_.op(id).inputs) {
      const OpId producer = graph_.tensor(input).producer;
      if (producer.valid() && !with_[graph_.group(producer)]) next_.insert(graph_.group(producer));
    }
    for (const OpId reader : graph_.consumers(id)) {
      if (!with_[graph_.group(reader)]) next_.insert(graph_.group(reader));
    }
  }

  struct Traffic {
    Bytes read, made;
  };
  // What the group reads that others make, and the storages that it makes. Parameters and inputs are somewhere already.
  std::optional<Traffic> TrafficOf(GroupId group) const {
    std::set<StorageId> read, made;
    for (const OpId id : ops_of_[group]) {
      const Op& op = graph_.op(id);
      for (const TensorId output : op.outputs) {
        if (!op.is_view) made.insert(graph_.tensor(output).storage);
      }
      const OpRule* const rule = axes_.rule(id);
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (rule != nullptr && IsUnread(*rule, i)) continue;
        read.insert(graph_.tensor(op.inputs[i]).storage);
      }
    }
    Traffic traffic;
    for (const StorageId storage : made) {
      read.erase(storage);
      traffic.made = traffic.made + graph_.storage(storage).bytes;
    }
    for (const StorageId storage : read) {
      if (graph_.storage(storage).kind != TensorKind::kActivation) return std::nullopt;
      traffic.read = traffic.read + graph_.storage(storage).bytes;
    }
    if (made.empty()) return std::nullopt;
    return traffic;
  }

  // All that it makes is read there, and is more than it reads.
  bool Feeds(GroupId group) const {
    for (const OpId op : ops_of_[group]) {
      for (const OpId reader : graph_.consumers(op)) {
        if (graph_.group(reader) != group && !with_[graph_.group(reader)]) return false;
      }
    }
    const std::optional<Traffic> traffic = TrafficOf(group);
    return traffic && traffic->read < traffic->made;
  }

  // It reads such sums alone, is linear in them, and makes less of them.
  bool SumsUp(GroupId group) const {
    for (const OpId id : ops_of_[group]) {
      const Op& op = graph_.op(id);
      if (op.is_view) continue;
      const OpRule* const rule = axes_.rule(id);
      const bool linear = rule != nullptr && op.inputs.size() == 1 && op.writes.empty() &&
                          std::find(rule->linear.begin(), rule->linear.end(),
                                    std::vector<int32_t>{0}) != rule->linear.end();
      if (!linear || !summed_[graph_.tensor(op.inputs[0]).storage]) return false;
    }
    const std::optional<Traffic> traffic = TrafficOf(group);
    return traffic && traffic->made < traffic->read;
  }

  const Graph& graph_;
  const NamedAxes& axes_;
  const AxisId axis_;
  const IdVector<GroupId, std::vector<OpId>>& ops_of_;
  IdVector<GroupId, bool> with_;
  IdVector<StorageId, bool> summed_;
  std::set<GroupId> next_;
};

}  // namespace

RoutedExperts::RoutedExperts(const Graph& graph, const NamedAxes& axes)
    : graph_(graph),
      axes_(axes),
      regions_(FindRoutedRows(graph).regions),
      ops_of_(graph.group_count()) {
  if (regions_.empty()) return;
  for (const OpId op : graph.ops()) ops_of_[graph.group(op)].push_back(op);
}

IdVector<GroupId, bool> RoutedExperts::GroupsOf(AxisId axis) const {
  return RowGroups(graph_, axes_, axis, ops_of_).Find(regions_);
}

}  // namespace placewright
