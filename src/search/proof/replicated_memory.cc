#include "search/proof/replicated_memory.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cost/rows/op_view.h"
#include "search/problem/candidate_devices.h"
#include "search/problem/layout_problem.h"
#include "search/proof/memory_advice.h"
#include "search/proof/memory_cut.h"
#include "search/proof/minimal_memory.h"

namespace placewright {
namespace {

class MemoryInParts {
 public:
  explicit MemoryInParts(const Problem& problem)
      : problem_(problem),
        layouts_(*problem.layouts),
        capacity_(TensorCapacity(problem.sim_graph)) {}

  Status CheckTotal() const;
  Status CheckConfined() const;
  Status CheckWholeOps() const;

 private:
  Status CheckFits(int64_t needed, const std::vector<DeviceId>& devices,
                   const std::string& what) const;
  bool IsSplit(OpId op) const;
  int64_t MinBytesOf(OpId op) const;
  DeviceId LargestDevice(OpId op) const;

  const Problem& problem_;
  const LayoutProblem& layouts_;
  const IdVector<DeviceId, int64_t> capacity_;
};

Error Infeasible(const Problem& problem, std::string message, std::string place, std::string remedy,
                 int64_t missing) {
  return MakeError(ErrorCode::kInfeasible, std::move(message), std::move(place),
                   remedy + ReserveAdvice(problem, missing) + ConstraintAdvice(problem));
}

Status MemoryInParts::CheckFits(int64_t needed, const std::vector<DeviceId>& devices,
                                const std::string& what) const {
  int64_t available = 0;
  std::string names;
  for (size_t i = 0; i < devices.size(); ++i) {
    available = SaturatingAdd(available, capacity_[devices[i]]);
    if (i < 8) names += (i > 0 ? ", " : "") + layouts_.cluster.device(devices[i]).name;
    if (i == 8) names += ", ...";
  }
  if (needed <= available) return Ok();
  const int64_t missing = needed - available;
  return Infeasible(
      problem_,
      what + " need " + FormatSize(needed) + " however they are split, but " + names +
          (devices.size() == 1 ? " offers " : " together offer ") + FormatSize(available) +
          " to tensors",
      "",
      "At least " + FormatSize(missing) + " more is needed on these devices or on a further one",
      missing);
}

Status MemoryInParts::CheckTotal() const {
  std::vector<DeviceId> all;
  for (const DeviceId device : layouts_.cluster.devices()) all.push_back(device);
  return CheckFits(TotalPersistent(problem_), all,
                   "parameters, optimizer state, buffers and constants");
}

// Groups that are confined to the same devices, or to some of them.
Status MemoryInParts::CheckConfined() const {
  std::map<std::vector<DeviceId>, int64_t> confined;
  for (const ColocationGroup& group : problem_.groups) {
    if (group.allowed.size() == layouts_.cluster.device_count()) continue;
    int64_t& sum = confined[group.allowed];
    sum = SaturatingAdd(sum, group.persistent.count);
  }
  for (const auto& [devices, unused] : confined) {
    int64_t needed = 0;
    for (const auto& [others, bytes] : confined) {
      const bool within =
          std::includes(devices.begin(), devices.end(), others.begin(), others.end());
      if (within) needed = SaturatingAdd(needed, bytes);
    }
    PW_RETURN_IF_ERROR(
        CheckFits(needed, devices, "the parameters and state of the ops that may run only there"));
  }
  return Ok();
}

bool MemoryInParts::IsSplit(OpId op) const {
  const OpRule* const rule = layouts_.axes.rule(op);
  if (rule == nullptr) return false;
  return std::any_of(rule->axes.begin(), rule->axes.end(),
                     [](const RuleAxis& axis) { return axis.parts != Parts::kWhole; });
}

// Of every storage the largest tensor: another may be a part of it.
int64_t MemoryInParts::MinBytesOf(OpId id) const {
  const Graph& graph = layouts_.graph;
  const Op& op = graph.op(id);
  std::map<StorageId, int64_t> bytes;
  for (const std::vector<TensorId>* list : {&op.inputs, &op.outputs}) {
    for (const TensorId tensor : *list) {
      const StorageId storage = graph.tensor(tensor).storage;
      if (graph.storage(storage).kind == TensorKind::kInput) continue;
      bytes[storage] = std::max(bytes[storage], TouchedBytes(graph.tensor(tensor)));
    }
  }
  int64_t sum = layouts_.costs.workspace(id).count;
  for (const auto& [storage, largest] : bytes) sum = SaturatingAdd(sum, largest);
  return sum;
}

// Of those that it may use; none: no device supports it.
DeviceId MemoryInParts::LargestDevice(OpId op) const {
  DeviceId largest;
  const bool known = op.index() < problem_.group_of.size();
  for (const DeviceId device : layouts_.cluster.devices()) {
    bool may = layouts_.costs.Supports(op, device);
    if (known && !problem_.constraints.Empty()) {
      const std::vector<DeviceId>& allowed = problem_.groups[problem_.group_of[op]].allowed;
      may = may && std::binary_search(allowed.begin(), allowed.end(), device);
    }
    if (may && (!largest.valid() || capacity_[device] > capacity_[largest])) largest = device;
  }
  return largest;
}

Status MemoryInParts::CheckWholeOps() const {
  const Graph& graph = layouts_.graph;
  for (const OpId op : graph.ops()) {
    if (graph.op(op).is_view || IsSplit(op)) continue;
    const DeviceId device = LargestDevice(op);
    if (!device.valid()) continue;
    const int64_t needed = MinBytesOf(op), available = capacity_[device];
    if (needed <= available) continue;
    const std::string name = Printable(graph.op(op).name, 80);
    return Infeasible(problem_,
                      "op " + name + " cannot be split, and no device can hold it: its inputs, " +
                          "outputs and workspace need " + FormatSize(needed) +
                          " at once, and the most that a device it may use offers to tensors is " +
                          FormatSize(available) + " on " + layouts_.cluster.device(device).name +
                          KeptInReserve(problem_, device),
                      "op " + name,
                      "At least " + FormatSize(needed - available) + " more is needed on " +
                          layouts_.cluster.device(device).name + ", or a device with " +
                          FormatSize(needed) + " free for tensors",
                      needed - available);
  }
  return Ok();
}

}  // namespace

Status CheckNotProvenInfeasibleInParts(const Problem& problem) {
  const MemoryInParts memory(problem);
  PW_RETURN_IF_ERROR(memory.CheckTotal());
  if (!problem.constraints.Empty()) PW_RETURN_IF_ERROR(memory.CheckConfined());
  return memory.CheckWholeOps();
}

}  // namespace placewright
