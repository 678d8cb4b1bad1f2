#include "search/proof/infeasibility.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "search/evaluation/group_placement.h"
#include "search/problem/candidate_devices.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"
#include "search/proof/enumeration.h"
#include "search/proof/fixed_memory.h"
#include "search/proof/memory_advice.h"
#include "search/proof/memory_cut.h"
#include "search/proof/minimal_memory.h"
#include "sim/placement_check.h"

namespace placewright {
namespace {

// A proof that nothing fits.
struct Shortage {
  int64_t at_least = 0;  // bytes that are missing in all
  std::string message, place;
  std::string needed;  // the necessary change, in words
};

std::string DeviceNames(const Problem& problem, const std::vector<DeviceId>& devices) {
  std::string names;
  for (size_t i = 0; i < devices.size() && i < 8; ++i) {
    names += (i > 0 ? ", " : "") + problem.cluster->device(devices[i]).name;
  }
  if (devices.size() > 8) names += ", ...";
  return names;
}

// What a device lacks for its runtime context alone: it must have that before it offers anything.
int64_t ContextLacks(const Problem& problem, DeviceId device) {
  const SimGraph& sim_graph = problem.sim_graph;
  return std::max<int64_t>(0, sim_graph.runtime_context[device] - sim_graph.capacity[device]);
}

using Capacities = IdVector<DeviceId, int64_t>;

std::optional<Shortage> ProveGroup(const Problem& problem, const Capacities& capacity,
                                   ColocationGroupId group, const GroupMemory& minimal) {
  const MinMemory& need = minimal[group];
  DeviceId best = problem.groups[group].allowed.front();
  for (DeviceId device : problem.groups[group].allowed) {
    if (capacity[device] > capacity[best]) best = device;
  }
  if (need.bytes <= capacity[best]) return std::nullopt;
  const int64_t missing = need.bytes - capacity[best] + ContextLacks(problem, best);
  const int64_t persistent = problem.groups[group].persistent.count;
  std::string why = persistent > 0 ? FormatSize(persistent) + " of parameters and state" : "";
  if (need.op.valid()) {
    why += why.empty() ? "" : ", and ";
    why += "the inputs, outputs and workspace of op " +
           Printable(problem.graph->op(problem.sim_graph.op_of[need.op]).name, 80);
  }
  const std::string& name = problem.cluster->device(best).name;
  return Shortage{missing,
                  "no device can hold " + GroupName(problem, group) + ": it needs " +
                      FormatSize(need.bytes) + " at once on one device (" + why +
                      "), and the most that a device it may use offers to tensors is " +
                      FormatSize(capacity[best]) + " on " + name + KeptInReserve(problem, best) +
                      LargestGroup(problem, minimal),
                  "op " + Printable(problem.graph->op(problem.groups[group].ops.front()).name, 80),
                  "At least " + FormatSize(missing) + " more is needed on " + name +
                      ", or a device with " + FormatSize(need.bytes) + " free for tensors"};
}

// On every device that the group may use, what must lie there in any case leaves it too little.
std::optional<Shortage> ProveBesideFixed(const Problem& problem, const Capacities& capacity,
                                         const FixedMemory& fixed, ColocationGroupId group,
                                         const GroupMemory& minimal) {
  int64_t missing = kMaxQuantity, needed = 0;
  DeviceId best;
  for (DeviceId device : problem.groups[group].allowed) {
    const int64_t room = capacity[device];
    // The two may share storages: only an upper limit of what is needed, but at hand.
    if (SaturatingAdd(minimal[group].bytes, fixed.bytes[device]) <= room) {
      return std::nullopt;
    }
    const int64_t need = MinMemoryBesideFixed(problem, fixed, group, device);
    if (need <= room) return std::nullopt;
    const int64_t more = need - room + ContextLacks(problem, device);
    if (best.valid() && more >= missing) continue;
    missing = more;
    needed = need;
    best = device;
  }
  const std::string name = Printable(problem.cluster->device(best).name, 80);
  const int64_t room = capacity[best];
  return Shortage{missing,
                  "no device can hold " + GroupName(problem, group) +
                      " beside what must lie there" + ": " + name + " would need " +
                      FormatSize(needed) + " at once, " + FormatSize(fixed.bytes[best]) +
                      " of it for parameters and state whose home is given or whose ops may run " +
                      "there only, and offers " + FormatSize(room) + " to tensors" +
                      KeptInReserve(problem, best) + LargestGroup(problem, minimal),
                  "op " + Printable(problem.graph->op(problem.groups[group].ops.front()).name, 80),
                  "At least " + FormatSize(missing) + " more is needed on " + name};
}

// `needed` bytes must lie on `devices` together.
std::optional<Shortage> ProveTotal(const Problem& problem, const Capacities& capacity,
                                   int64_t needed, const std::vector<DeviceId>& devices,
                                   const std::string& what, const GroupMemory& minimal) {
  int64_t available = 0;
  for (DeviceId device : devices) {
    available = SaturatingAdd(available, capacity[device]);
  }
  if (devices.empty() || needed <= available) return std::nullopt;
  const bool one = devices.size() == 1;
  int64_t missing = kMaxQuantity;  // added where the runtime context has the smallest lack
  for (DeviceId device : devices) {
    missing = std::min(missing, needed - available + ContextLacks(problem, device));
  }
  return Shortage{missing,
                  what + " need " + FormatSize(needed) + " at once, but " +
                      DeviceNames(problem, devices) + (one ? " offers " : " together offer ") +
                      FormatSize(available) + " to tensors" + LargestGroup(problem, minimal),
                  "",
                  "At least " + FormatSize(missing) + " more is needed" +
                      (one ? " on " + DeviceNames(problem, devices) : " on these devices") +
                      " or on a further one"};
}

// Where every group may lie on one device only there is one placement, and simulating it decides.
std::optional<Shortage> ProveOnlyPlacement(const Problem& problem, Evaluator& evaluator,
                                           const GroupMemory& minimal) {
  GroupPlacement device_of;
  for (const ColocationGroup& group : problem.groups) {
    if (group.allowed.size() != 1) return std::nullopt;
    device_of.push_back(group.allowed.front());
  }
  const Placement placement = ExpandGroups(problem, device_of);
  if (!CheckPlacementLegal(problem.sim_graph, *problem.graph, *problem.cluster, placement).ok()) {
    return std::nullopt;  // planners say why
  }
  const Evaluation result = evaluator.EvaluateOne(placement);
  if (result.feasible) return std::nullopt;
  const int64_t missing = result.TotalOver().count;
  return Shortage{missing,
                  "every op may run on one device only, and simulated in " +
                      std::string(ToString(problem.policy)) + " order this only placement " +
                      DescribeOverflow(problem, result) + LargestGroup(problem, minimal),
                  "", "At least " + FormatSize(missing) + " more is needed"};
}

// Where anything may lie at all: devices that some group may use, and homes that the file gives.
std::vector<DeviceId> UsableDevices(const Problem& problem) {
  std::set<DeviceId> usable;
  for (const ColocationGroup& group : problem.groups) {
    usable.insert(group.allowed.begin(), group.allowed.end());
  }
  for (DeviceId home : problem.sim_graph.fixed_home) {
    if (home.valid()) usable.insert(home);
  }
  return {usable.begin(), usable.end()};
}

// Groups that are confined to the same devices, and what persists with them or has its home there,
// must fit on these.
std::optional<Shortage> ProveConfined(const Problem& problem, const Capacities& capacity,
                                      const GroupMemory& minimal) {
  std::map<std::vector<DeviceId>, int64_t> confined;
  for (const ColocationGroup& group : problem.groups) {
    int64_t& sum = confined[group.allowed];
    sum = SaturatingAdd(sum, group.persistent.count);
  }
  const SimGraph& sim_graph = problem.sim_graph;
  for (StorageId s : sim_graph.storage_ids()) {
    if (!sim_graph.fixed_home[s].valid()) continue;
    int64_t& sum = confined[{sim_graph.fixed_home[s]}];
    sum = SaturatingAdd(sum, sim_graph.storage_bytes[s]);
  }
  for (const auto& [devices, unused] : confined) {
    if (devices.size() == problem.cluster->device_count()) continue;  // no confinement
    int64_t needed = 0;
    for (const auto& [others, bytes] : confined) {
      if (std::includes(devices.begin(), devices.end(), others.begin(), others.end())) {
        needed = SaturatingAdd(needed, bytes);
      }
    }
    if (auto shortage =
            ProveTotal(problem, capacity, needed, devices,
                       "the parameters and state of the ops that may run only there, and those "
                       "whose home the file gives there,",
                       minimal)) {
      return shortage;
    }
  }
  return std::nullopt;
}

// The first proof that succeeds, the strongest argument first.
std::optional<Shortage> ProveShortage(const Problem& problem, Evaluator& evaluator) {
  const OpGraph graph = BuildOpGraph(problem);
  const Capacities capacity = TensorCapacity(problem.sim_graph);
  const GroupMemory minimal = MinMemoryOfGroups(problem);
  std::vector<ColocationGroupId> order;
  for (ColocationGroupId group : problem.group_ids()) order.push_back(group);
  std::stable_sort(order.begin(), order.end(), [&](ColocationGroupId a, ColocationGroupId b) {
    return minimal[a].bytes > minimal[b].bytes;
  });
  for (ColocationGroupId group : order) {
    if (auto shortage = ProveGroup(problem, capacity, group, minimal)) return shortage;
  }
  if (auto shortage = ProveConfined(problem, capacity, minimal)) return shortage;
  const std::vector<DeviceId> all = UsableDevices(problem);
  const int64_t persistent = TotalPersistent(problem);
  if (auto shortage = ProveTotal(problem, capacity, persistent, all,
                                 "parameters, optimizer state, buffers and constants", minimal)) {
    return shortage;
  }
  const FixedMemory fixed = FindFixedMemory(problem);
  for (ColocationGroupId group : order) {
    if (auto shortage = ProveBesideFixed(problem, capacity, fixed, group, minimal)) {
      return shortage;
    }
  }
  for (const MemoryCut& cut : LargestCuts(problem, graph, 16, 1)) {
    const std::string op = Printable(problem.graph->op(problem.sim_graph.op_of[cut.op]).name, 80);
    auto shortage = ProveTotal(problem, capacity, SaturatingAdd(persistent, cut.live_bytes), all,
                               FormatSize(persistent) + " of parameters and state and " +
                                   FormatSize(cut.live_bytes) + " of activations that op " + op +
                                   " or a later one still reads when it starts",
                               minimal);
    if (shortage) return shortage;
  }
  return ProveOnlyPlacement(problem, evaluator, minimal);
}

}  // namespace

Status CheckNotProvenInfeasible(const Problem& problem, Evaluator& evaluator,
                                const PlanSource& plans) {
  const std::optional<Shortage> shortage = ProveShortage(problem, evaluator);
  if (!shortage) return CheckNotProvenInfeasibleByEnumeration(problem, evaluator, plans);
  return MakeError(ErrorCode::kInfeasible, shortage->message, shortage->place,
                   shortage->needed + "; " +
                       DescribeMemoryAdvice(problem, FindMemoryAdvice(problem, evaluator, plans,
                                                                      shortage->at_least)) +
                       ReserveAdvice(problem, shortage->at_least));
}

}  // namespace placewright
