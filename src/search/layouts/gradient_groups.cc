#include "search/layouts/gradient_groups.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace placewright {
namespace {

class GradientFollower {
 public:
  explicit GradientFollower(const Graph& graph)
      : graph_(graph),
        of_(graph.group_count()),
        computes_(graph.group_count(), false),
        is_parameters_(graph.group_count(), false),
        lies_with_(graph.storage_count()) {}

  IdVector<GroupId, GroupId> Follow() {
    FindReadByUpdates();
    for (const OpId id : graph_.ops()) {
      if (graph_.op(id).phase != Phase::kOptimizer) computes_[graph_.group(id)] = true;
    }
    const auto order = graph_.topological_order();
    for (auto it = order.rbegin(); it != order.rend(); ++it) FollowBack(*it);
    for (const OpId op : order) FollowOn(op);
    return std::move(of_);
  }

 private:
  bool Counts(OpId op) const {
    const GroupId group = graph_.group(op);
    return !computes_[group] && !is_parameters_[group];
  }
  GroupId& LiesWith(TensorId tensor) { return lies_with_[graph_.tensor(tensor).storage]; }
  bool HasShapeOf(TensorId a, TensorId b) const {
    return graph_.tensor(a).shape == graph_.tensor(b).shape;
  }

  // What an update reads of its parameter's shape, and does not keep.
  void FindReadByUpdates() {
    for (const StorageId id : graph_.storages()) {
      const TensorId parameter = graph_.storage(id).first;
      const OpId home = graph_.home_op(id);
      if (graph_.storage(id).kind != TensorKind::kParameter || !home.valid()) continue;
      const GroupId group = graph_.group(home);
      is_parameters_[group] = true;
      parameters_.push_back({group, parameter});
    }
    std::sort(parameters_.begin(), parameters_.end());
    for (const OpId id : graph_.ops()) {
      const GroupId group = graph_.group(id);
      if (!is_parameters_[group] || graph_.op(id).phase != Phase::kOptimizer) continue;
      for (const TensorId input : graph_.op(id).inputs) {
        const OpId maker = graph_.tensor(input).producer;
        if (!maker.valid() || (graph_.group(maker) == group && !IsOfBackward(input))) continue;
        if (IsLikeParameterOf(group, input)) LiesWith(input) = group;
      }
    }
  }

  // Of a gradient that is clipped in place the update's group is its own.
  bool IsOfBackward(TensorId tensor) const {
    const OpId first = graph_.storage(graph_.tensor(tensor).storage).versions.front().writer;
    return first.valid() && graph_.op(first).phase == Phase::kBackward;
  }
  bool IsLikeParameterOf(GroupId group, TensorId tensor) const {
    auto at =
        std::lower_bound(parameters_.begin(), parameters_.end(), Parameter{group, TensorId(0)});
    for (; at != parameters_.end() && at->group == group; ++at) {
      if (HasShapeOf(at->tensor, tensor)) return true;
    }
    return false;
  }

  // From the update to the gradient.
  void FollowBack(OpId id) {
    if (!Counts(id)) return;
    const Op& op = graph_.op(id);
    for (const TensorId output : op.outputs) {
      const GroupId with = LiesWith(output);
      if (!with.valid()) continue;
      of_[graph_.group(id)] = with;
      for (const TensorId input : op.inputs) {
        if (HasShapeOf(input, output)) LiesWith(input) = with;
      }
    }
  }

  // What is made of that alone beside: squares, their sum.
  void FollowOn(OpId id) {
    if (!Counts(id) || of_[graph_.group(id)].valid()) return;
    const Op& op = graph_.op(id);
    GroupId with;
    for (const TensorId input : op.inputs) {
      if (graph_.tensor(input).shape.empty()) continue;
      if (!LiesWith(input).valid()) return;
      with = LiesWith(input);
    }
    if (!with.valid()) return;
    for (const TensorId output : op.outputs) {
      const bool is_number = graph_.tensor(output).shape.empty();
      if (!is_number && !HasShapeOf(output, op.inputs.front())) return;
      if (!is_number) LiesWith(output) = with;
    }
    of_[graph_.group(id)] = with;
  }

  struct Parameter {
    GroupId group;
    TensorId tensor;
    friend auto operator<=>(const Parameter&, const Parameter&) = default;
  };

  const Graph& graph_;
  IdVector<GroupId, GroupId> of_;
  IdVector<GroupId, bool> computes_;  // forward or backward
  IdVector<GroupId, bool> is_parameters_;
  IdVector<StorageId, GroupId> lies_with_;
  std::vector<Parameter> parameters_;  // in this order
};

}  // namespace

IdVector<GroupId, GroupId> GroupsOfGradients(const Graph& graph) {
  return GradientFollower(graph).Follow();
}

}  // namespace placewright
