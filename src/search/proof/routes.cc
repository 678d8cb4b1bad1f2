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

bool Contains(const DeviceSet& set, int32_t device) {
  return (set[device / 64] >> (device % 64) & 1) != 0;
}

class RouteProof {
 public:
  RouteProof(const Problem& problem, const OpGraph& graph)
      : problem_(problem), graph_(graph), connections_(problem, graph) {
    for (const ColocationGroup& group : problem.groups) {
      left_.emplace_back();
      for (DeviceId device : group.allowed) left_.back().push_back(device.value());
    }
    queued_.assign(left_.size(), 0);
  }

  Status Prove() {
    PW_RETURN_IF_ERROR(DropUnreachedByHomes());
    for (size_t u = 0; u < left_.size(); ++u) Queue(static_cast<int32_t>(u));
    while (!queue_.empty()) {
      const int32_t group = queue_.back();
      queue_.pop_back();
      queued_[group] = 0;
      for (int32_t e : connections_.Touching(group)) {
        const Connections::Edge& edge = connections_.edges()[e];
        if (group == edge.to) {
          Keep(edge.from, CandidateScope(edge.to, &Connections::Reaching));
        } else {
          Keep(edge.to, CandidateScope(edge.from, &Connections::Reached));
        }
        if (left_[edge.from].empty() || left_[edge.to].empty()) return NoRoute(edge);
      }
    }
    return Ok();
  }

 private:
  using Row = std::span<const uint64_t> (Connections::*)(int32_t) const;

  void Queue(int32_t group) {
    if (!queued_[group]) queue_.push_back(group);
    queued_[group] = 1;
  }

  // All that the devices left to a group reach, or that reach them.
  DeviceSet CandidateScope(int32_t group, Row row_of) const {
    DeviceSet all(connections_.words(), 0);
    for (int32_t device : left_[group]) {
      const std::span<const uint64_t> row = (connections_.*row_of)(device);
      for (size_t w = 0; w < row.size(); ++w) all[w] |= row[w];
    }
    return all;
  }

  void Keep(int32_t group, const DeviceSet& set) {
    const size_t dropped =
        std::erase_if(left_[group], [&](int32_t device) { return !Contains(set, device); });
    if (dropped > 0) Queue(group);
  }

  Status DropUnreachedByHomes() {
    for (int32_t op = 0; op < graph_.ops; ++op) {
      for (const OpInput& input : graph_.Inputs(op)) {
        if (input.home_device < 0) continue;
        std::vector<int32_t>& left = left_[graph_.group_of[op]];
        std::erase_if(left, [&](int32_t device) {
          return !connections_.Connected(input.home_device, device);
        });
        if (left.empty()) return NoRouteFromHome(op, input);
      }
    }
    return Ok();
  }

  std::string OpName(int32_t op) const {
    return Printable(problem_.graph->op(problem_.sim_graph.op_of[op]).name, 80);
  }

  Error NoRouteFromHome(int32_t op, const OpInput& input) const {
    const SimGraph& sim_graph = problem_.sim_graph;
    const int32_t storage = sim_graph.version_storage[sim_graph.slice_version[input.crossing]];
    const Graph& graph = *problem_.graph;
    return MakeError(
        ErrorCode::kInfeasible,
        "op " + OpName(op) + " reads " +
            Printable(graph.tensor(graph.storage(StorageId(storage)).first).name, 80) +
            ", whose home is given as " +
            Printable(problem_.cluster->device(DeviceId(input.home_device)).name, 80) +
            ", and no device that may run the op's group and reaches all else that it needs has a "
            "route from there",
        "op " + OpName(op), kRemedy);
  }

  // Names an op of the one group that reads from the other, and what it reads from.
  Error NoRoute(const Connections::Edge& edge) const {
    const auto first_op = [&](int32_t group) {
      return Printable(problem_.graph->op(problem_.groups[group].ops.front()).name, 80);
    };
    std::string maker = first_op(edge.from), reader = first_op(edge.to);
    for (int32_t op = 0; op < graph_.ops; ++op) {
      if (graph_.group_of[op] != edge.to) continue;
      for (const OpInput& input : graph_.Inputs(op)) {
        const int32_t from =
            input.producer >= 0 ? graph_.group_of[input.producer] : input.home_group;
        if (from != edge.from) continue;
        if (input.producer >= 0) maker = OpName(input.producer);
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
  std::vector<std::vector<int32_t>> left_;  // [group] devices not ruled out
  std::vector<int32_t> queue_;              // groups whose devices have become fewer
  std::vector<char> queued_;                // [group]
};

}  // namespace

Status CheckNotProvenDisconnected(const Problem& problem) {
  if (FullyConnected(*problem.cluster)) return Ok();
  const OpGraph graph = BuildOpGraph(problem);
  return RouteProof(problem, graph).Prove();
}

}  // namespace placewright
