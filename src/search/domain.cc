#include "search/domain.h"

#include <algorithm>
#include <numeric>

namespace placewright {
namespace {

std::vector<int64_t> WorkPerDevice(const StepProgram& program) {
  std::vector<int64_t> work(program.devices, 0);
  for (int32_t op = 0; op < program.ops; ++op) {
    for (int32_t d = 0; d < program.devices; ++d) {
      const int64_t time = program.time[static_cast<size_t>(op) * program.devices + d];
      work[d] = SaturatingAdd(work[d], time < 0 ? program.least_time[op] : time);
    }
  }
  return work;
}

bool FullyConnected(const Cluster& cluster) {
  for (DeviceId a : cluster.devices()) {
    for (DeviceId b : cluster.devices()) {
      if (!cluster.Connected(a, b)) return false;
    }
  }
  return true;
}

bool CoversAllUnits(const Problem& problem, const std::vector<char>& in_set) {
  return std::all_of(problem.units.begin(), problem.units.end(), [&](const PlacementUnit& unit) {
    return std::any_of(unit.allowed.begin(), unit.allowed.end(),
                       [&](DeviceId device) { return in_set[device.index()] != 0; });
  });
}

// A set of mutually connected devices: grown from every start in order of speed, the first that
// covers all units wins. Empty if none does (then routes are checked on the finished placement).
std::vector<char> ConnectedSet(const Problem& problem, const std::vector<int64_t>& work) {
  const Cluster& cluster = *problem.cluster;
  const size_t devices = cluster.device_count();
  std::vector<int32_t> by_speed(devices);
  std::iota(by_speed.begin(), by_speed.end(), 0);
  std::stable_sort(by_speed.begin(), by_speed.end(),
                   [&](int32_t a, int32_t b) { return work[a] < work[b]; });
  std::vector<char> best;
  size_t best_size = 0;
  for (int32_t start : by_speed) {
    std::vector<char> in_set(devices, 0);
    std::vector<int32_t> members{start};
    in_set[start] = 1;
    for (int32_t candidate : by_speed) {
      const bool joins =
          !in_set[candidate] && std::all_of(members.begin(), members.end(), [&](int32_t member) {
            return cluster.Connected(DeviceId(candidate), DeviceId(member)) &&
                   cluster.Connected(DeviceId(member), DeviceId(candidate));
          });
      if (!joins) continue;
      in_set[candidate] = 1;
      members.push_back(candidate);
    }
    if (members.size() > best_size && CoversAllUnits(problem, in_set)) {
      best = in_set;
      best_size = members.size();
    }
  }
  return best;
}

std::vector<int32_t> Accelerators(const std::vector<int64_t>& work,
                                  const std::vector<char>& usable) {
  int64_t least = kMaxQuantity;
  for (size_t d = 0; d < work.size(); ++d) {
    if (usable[d]) least = std::min(least, work[d]);
  }
  std::vector<int32_t> accelerators;
  for (size_t d = 0; d < work.size(); ++d) {
    if (usable[d] && work[d] / Domain::kSlowest <= least) {
      accelerators.push_back(static_cast<int32_t>(d));
    }
  }
  return accelerators;
}

}  // namespace

std::vector<int64_t> TensorCapacity(const StepProgram& program) {
  std::vector<int64_t> capacity;
  for (int32_t d = 0; d < program.devices; ++d) {
    capacity.push_back(std::max<int64_t>(0, program.capacity[d] - program.runtime_context[d]));
  }
  return capacity;
}

Domain MakeDomain(const Problem& problem) {
  const StepProgram& program = problem.program;
  Domain domain;
  domain.work = WorkPerDevice(program);
  std::vector<char> usable(program.devices, 1);
  if (!FullyConnected(*problem.cluster)) {
    const std::vector<char> connected = ConnectedSet(problem, domain.work);
    if (!connected.empty()) usable = connected;
  }
  // A device that no unit may use is no accelerator.
  std::vector<char> useful(program.devices, 0);
  for (const PlacementUnit& unit : problem.units) {
    for (DeviceId device : unit.allowed) useful[device.index()] = usable[device.index()];
  }
  domain.accelerators = Accelerators(domain.work, problem.units.empty() ? usable : useful);
  std::vector<char> fast(program.devices, 0);
  for (int32_t device : domain.accelerators) fast[device] = 1;
  for (const PlacementUnit& unit : problem.units) {
    std::vector<int32_t> any, preferred;
    for (DeviceId device : unit.allowed) {
      if (!usable[device.index()]) continue;
      any.push_back(device.value());
      if (fast[device.index()]) preferred.push_back(device.value());
    }
    domain.preferred.push_back(preferred.empty() ? any : preferred);
    domain.any.push_back(std::move(any));
  }
  domain.capacity = TensorCapacity(program);
  return domain;
}

}  // namespace placewright
