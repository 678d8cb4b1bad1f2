// ProveFits: what memory alone rules out.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/text.h"
#include "search/evaluate.h"
#include "search/problem/domain.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"
#include "search/proof/enough.h"
#include "search/proof/enumeration.h"
#include "search/proof/memory_cut.h"
#include "search/proof/needs.h"
#include "search/proof/settled.h"

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
  const StepProgram& program = problem.program;
  return std::max<int64_t>(
      0, program.runtime_context[device.index()] - program.capacity[device.index()]);
}

std::optional<Shortage> ProveUnit(const Problem& problem, const std::vector<int64_t>& capacity,
                                  int32_t unit, const std::vector<UnitNeed>& needs) {
  const UnitNeed& need = needs[unit];
  DeviceId best = problem.units[unit].allowed.front();
  for (DeviceId device : problem.units[unit].allowed) {
    if (capacity[device.index()] > capacity[best.index()]) best = device;
  }
  if (need.bytes <= capacity[best.index()]) return std::nullopt;
  const int64_t missing = need.bytes - capacity[best.index()] + ContextLacks(problem, best);
  const int64_t persistent = problem.units[unit].persistent.count;
  std::string why = persistent > 0 ? FormatSize(persistent) + " of parameters and state" : "";
  if (need.op >= 0) {
    why += why.empty() ? "" : ", and ";
    why += "the inputs, outputs and workspace of op " +
           Printable(problem.graph->op(problem.program.op_of[need.op]).name, 80);
  }
  const std::string& name = problem.cluster->device(best).name;
  return Shortage{missing,
                  "no device can hold " + GroupName(problem, unit) + ": it needs " +
                      FormatSize(need.bytes) + " at once on one device (" + why +
                      "), and the most that a device it may use offers to tensors is " +
                      FormatSize(capacity[best.index()]) + " on " + name +
                      KeptInReserve(problem, best) + LargestGroup(problem, needs),
                  "op " + Printable(problem.graph->op(problem.units[unit].ops.front()).name, 80),
                  "At least " + FormatSize(missing) + " more is needed on " + name +
                      ", or a device with " + FormatSize(need.bytes) + " free for tensors"};
}

// On every device that the unit may use, what must lie there in any case leaves it too little.
std::optional<Shortage> ProveBesideSettled(const Problem& problem,
                                           const std::vector<int64_t>& capacity,
                                           const Settled& settled, int32_t unit,
                                           const std::vector<UnitNeed>& needs) {
  int64_t missing = kMaxQuantity, needed = 0;
  DeviceId best;
  for (DeviceId device : problem.units[unit].allowed) {
    const int64_t room = capacity[device.index()];
    // The two may share storages: only an upper limit of what is needed, but at hand.
    if (SaturatingAdd(needs[unit].bytes, settled.bytes[device.index()]) <= room) {
      return std::nullopt;
    }
    const int64_t need = NeedBesideSettled(problem, settled, unit, device);
    if (need <= room) return std::nullopt;
    const int64_t more = need - room + ContextLacks(problem, device);
    if (best.valid() && more >= missing) continue;
    missing = more;
    needed = need;
    best = device;
  }
  const std::string name = Printable(problem.cluster->device(best).name, 80);
  const int64_t room = capacity[best.index()];
  return Shortage{missing,
                  "no device can hold " + GroupName(problem, unit) + " beside what must lie there" +
                      ": " + name + " would need " + FormatSize(needed) + " at once, " +
                      FormatSize(settled.bytes[best.index()]) +
                      " of it for parameters and state whose home is given or whose ops may run " +
                      "there only, and offers " + FormatSize(room) + " to tensors" +
                      KeptInReserve(problem, best) + LargestGroup(problem, needs),
                  "op " + Printable(problem.graph->op(problem.units[unit].ops.front()).name, 80),
                  "At least " + FormatSize(missing) + " more is needed on " + name};
}

// `needed` bytes must lie on `devices` together.
std::optional<Shortage> ProveTotal(const Problem& problem, const std::vector<int64_t>& capacity,
                                   int64_t needed, const std::vector<DeviceId>& devices,
                                   const std::string& what, const std::vector<UnitNeed>& needs) {
  int64_t available = 0;
  for (DeviceId device : devices) {
    available = SaturatingAdd(available, capacity[device.index()]);
  }
  if (devices.empty() || needed <= available) return std::nullopt;
  const bool one = devices.size() == 1;
  int64_t missing = kMaxQuantity;  // added where the runtime context lacks least
  for (DeviceId device : devices) {
    missing = std::min(missing, needed - available + ContextLacks(problem, device));
  }
  return Shortage{missing,
                  what + " need " + FormatSize(needed) + " at once, but " +
                      DeviceNames(problem, devices) + (one ? " offers " : " together offer ") +
                      FormatSize(available) + " to tensors" + LargestGroup(problem, needs),
                  "",
                  "At least " + FormatSize(missing) + " more is needed" +
                      (one ? " on " + DeviceNames(problem, devices) : " on these devices") +
                      " or on a further one"};
}

// Where every unit may lie on one device only there is one placement, and simulating it decides.
std::optional<Shortage> ProveOnlyPlacement(const Problem& problem,
                                           const std::vector<UnitNeed>& needs) {
  std::vector<int32_t> device_of;
  for (const PlacementUnit& unit : problem.units) {
    if (unit.allowed.size() != 1) return std::nullopt;
    device_of.push_back(unit.allowed.front().value());
  }
  const Placement placement = ExpandUnits(problem, device_of);
  if (!VerifyPlacement(problem.program, *problem.graph, *problem.cluster, placement).ok()) {
    return std::nullopt;  // planners say why
  }
  Simulator simulator(problem.program);
  SimOptions options;
  options.order = problem.order;
  const SimResult& result = simulator.Run(placement, options);
  if (result.feasible) return std::nullopt;
  const int64_t missing = result.TotalOver().count;
  return Shortage{missing,
                  "every op may run on one device only, and simulated in " +
                      std::string(ToString(problem.order)) + " order this only placement " +
                      DescribeOverflow(problem, result) + LargestGroup(problem, needs),
                  "", "At least " + FormatSize(missing) + " more is needed"};
}

// Where anything may lie at all: devices that some unit may use, and homes that the file gives.
std::vector<DeviceId> UsableDevices(const Problem& problem) {
  std::set<DeviceId> usable;
  for (const PlacementUnit& unit : problem.units) {
    usable.insert(unit.allowed.begin(), unit.allowed.end());
  }
  for (int32_t home : problem.program.fixed_home) {
    if (home >= 0) usable.insert(DeviceId(home));
  }
  return {usable.begin(), usable.end()};
}

// Units that are confined to the same devices, and what persists with them or has its home there,
// must fit on these.
std::optional<Shortage> ProveConfined(const Problem& problem, const std::vector<int64_t>& capacity,
                                      const std::vector<UnitNeed>& needs) {
  std::map<std::vector<DeviceId>, int64_t> confined;
  for (const PlacementUnit& unit : problem.units) {
    int64_t& sum = confined[unit.allowed];
    sum = SaturatingAdd(sum, unit.persistent.count);
  }
  const StepProgram& program = problem.program;
  for (size_t s = 0; s < program.fixed_home.size(); ++s) {
    if (program.fixed_home[s] < 0) continue;
    int64_t& sum = confined[{DeviceId(program.fixed_home[s])}];
    sum = SaturatingAdd(sum, program.storage_bytes[s]);
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
                       needs)) {
      return shortage;
    }
  }
  return std::nullopt;
}

// The first proof that succeeds, the most telling argument first.
std::optional<Shortage> ProveShortage(const Problem& problem) {
  const OpGraph graph = BuildOpGraph(problem);
  const std::vector<int64_t> capacity = TensorCapacity(problem.program);
  const std::vector<UnitNeed> needs = UnitNeeds(problem);
  std::vector<int32_t> order(needs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return needs[a].bytes > needs[b].bytes; });
  for (int32_t unit : order) {
    if (auto shortage = ProveUnit(problem, capacity, unit, needs)) return shortage;
  }
  if (auto shortage = ProveConfined(problem, capacity, needs)) return shortage;
  const std::vector<DeviceId> all = UsableDevices(problem);
  const int64_t persistent = TotalPersistent(problem);
  if (auto shortage = ProveTotal(problem, capacity, persistent, all,
                                 "parameters, optimizer state, buffers and constants", needs)) {
    return shortage;
  }
  const Settled settled = FindSettled(problem);
  for (int32_t unit : order) {
    if (auto shortage = ProveBesideSettled(problem, capacity, settled, unit, needs)) {
      return shortage;
    }
  }
  for (const MemoryCut& cut : LargestCuts(problem, graph, 16, 1)) {
    const std::string op = Printable(problem.graph->op(problem.program.op_of[cut.op]).name, 80);
    auto shortage = ProveTotal(problem, capacity, SaturatingAdd(persistent, cut.live_bytes), all,
                               FormatSize(persistent) + " of parameters and state and " +
                                   FormatSize(cut.live_bytes) + " of activations that op " + op +
                                   " or a later one still reads when it starts",
                               needs);
    if (shortage) return shortage;
  }
  return ProveOnlyPlacement(problem, needs);
}

}  // namespace

Status ProveFits(const Problem& problem) {
  const std::optional<Shortage> shortage = ProveShortage(problem);
  if (!shortage) return ProveByEnumeration(problem);
  return MakeError(ErrorCode::kInfeasible, shortage->message, shortage->place,
                   shortage->needed + "; " +
                       DescribeEnough(problem, FindEnoughMemory(problem, shortage->at_least)) +
                       ReserveAdvice(problem, shortage->at_least));
}

}  // namespace placewright
