#include "search/proof/routes.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "search/problem/connections.h"
#include "search/problem/op_graph.h"

namespace placewright {
namespace {

using DeviceSet = std::vector<uint64_t>;  // 64 a word

bool Contains(const DeviceSet& set, DeviceId device) {
  return (set[device.index() / 64] >> (device.index() % 64) & 1) != 0;
}

class RouteProof {
 public:
  RouteProof(const Problem& problem, const OpGraph& graph)
      : problem_(problem), graph_(graph), connections_(problem, graph) {
    for (const ColocationGroup& group : problem.groups) left_.push_back(group.allowed);
    queued_.assign(left_.size(), 0);
  }

  Status Prove() {
    PW_RETURN_IF_ERROR(DropUnreachedByHomes());
    for (ColocationGroupId group : problem_.group_ids()) Queue(group);
    while (!queue_.empty()) {
      const ColocationGroupId group = queue_.back();
      queue_.pop_back();
      queued_[group] = 0;
      for (Connections::EdgeId e : connections_.Touching(group)) {
        const Connections::Edge& edge = connections_.edges()[e];
        if (group == edge.to) {
          Keep(edge.from, DevicesAcross(edge.to, &Connections::Reaching));
        } else {
          Keep(edge.to, DevicesAcross(edge.from, &Connections::Reached));
        }
        if (left_[edge.from].empty() || left_[edge.to].empty()) return NoRoute(edge);
      }
    }
    return Ok();
  }

 private:
  using Row = std::span<const uint64_t> (Connections::*)(DeviceId) const;

  void Queue(ColocationGroupId group) {
    if (!queued_[group]) queue_.push_back(group);
    queued_[group] = 1;
  }

  // All that the devices left to a group reach, or that reach them.
  DeviceSet DevicesAcross(ColocationGroupId group, Row row_of) const {
    DeviceSet all(connections_.words(), 0);
    for (DeviceId device : left_[group]) {
      const std::span<const uint64_t> row = (connections_.*row_of)(device);
      for (size_t w = 0; w < row.size(); ++w) all[w] |= row[w];
    }
    return all;
  }

  void Keep(ColocationGroupId group, const DeviceSet& set) {
    const size_t dropped =
        std::erase_if(left_[group], [&](DeviceId device) { return !Contains(set, device); });
    if (dropped > 0) Queue(group);
  }

  Status DropUnreachedByHomes() {
    for (ExecOpId op : graph_.exec_ops()) {
      for (const OpInput& input : graph_.Inputs(op)) {
        if (!input.home_device.valid()) continue;
        std::vector<DeviceId>& left = left_[graph_.group_of[op]];
        std::erase_if(left, [&](DeviceId device) {
          return !connections_.Connected(input.home_device, device);
        });
        if (left.empty()) return NoRouteFromHome(op, input);
      }
    }
    return Ok();
  }

  std::string OpName(ExecOpId op) const {
    return Printable(problem_.graph->op(problem_.sim_graph.op_of[op]).name, 80);
  }

  Error NoRouteFromHome(ExecOpId op, const OpInput& input) const {
    const SimGraph& sim_graph = problem_.sim_graph;
    const StorageId storage = sim_graph.slice_storage[input.crossing];
    const Graph& graph = *problem_.graph;
    return MakeError(
        ErrorCode::kInfeasible,
        "op " + OpName(op) + " reads " +
            Printable(graph.tensor(graph.storage(storage).first).name, 80) +
            ", whose home is given as " +
            Printable(problem_.cluster->device(input.home_device).name, 80) +
            ", and no device that may run the op's group and reaches all else that it needs has a "
            "route from there",
        "op " + OpName(op), kRemedy);
  }

  // Names an op of the one group that reads from the other, and what it reads from.
  Error NoRoute(const Connections::Edge& edge) const {
    const auto first_op = [&](ColocationGroupId group) {
      return Printable(problem_.graph->op(problem_.groups[group].ops.front()).name, 80);
    };
    std::string maker = first_op(edge.from), reader = first_op(edge.to);
    for (ExecOpId op : graph_.exec_ops()) {
      if (graph_.group_of[op] != edge.to) continue;
      for (const OpInput& input : graph_.Inputs(op)) {
        if (graph_.SourceOf(input) != edge.from) continue;
        if (input.producer.valid()) maker = OpName(input.producer);
        reader = OpName(op);
      }
    }
    return MakeError(ErrorCode::kInfeasible,
                     "no device that may run op " + maker + " has a route to one that may run op " +
                         reader +
                         ", which reads from it or its group, given what their groups exchange "
                         "with others",
                     "op " + reader, kRemedy);
  }

  static constexpr const char* kRemedy =
      "Add a link or a route to the cluster, or let one of the ops run on further devices.";

  const Problem& problem_;
  const OpGraph& graph_;
  const Connections connections_;
  GroupDevices left_;                     // not ruled out
  std::vector<ColocationGroupId> queue_;  // groups whose devices have become fewer
  IdVector<ColocationGroupId, char> queued_;
};

}  // namespace

Status CheckNotProvenDisconnected(const Problem& problem) {
  if (FullyConnected(*problem.cluster)) return Ok();
  const OpGraph graph = BuildOpGraph(problem);
  return RouteProof(problem, graph).Prove();
}

}  // namespace placewright
