#include "search/problem/domain.h"

#include <algorithm>
#include <iterator>

#include "search/problem/connectivity.h"

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

Domain MakeDomain(const Problem& problem, const OpGraph& graph, Reach reach) {
  const StepProgram& program = problem.program;
  Domain domain;
  domain.work = WorkPerDevice(program);
  domain.capacity = TensorCapacity(program);
  for (const PlacementUnit& unit : problem.units) {
    domain.any.emplace_back();
    for (DeviceId device : unit.allowed) domain.any.back().push_back(device.value());
  }
  if (!FullyConnected(*problem.cluster)) {
    DropUnreachedByFixedHomes(problem, graph, domain.any);
    Connections connections(problem, graph);
    if (reach == Reach::kMutual) {
      KeepConnected(connections, domain.work, domain.any);
    } else {
      domain.connections = std::move(connections);
    }
  }
  // A device that no unit may use is no accelerator.
  std::vector<char> usable(program.devices, problem.units.empty() ? 1 : 0);
  for (const auto& devices : domain.any) {
    for (int32_t device : devices) usable[device] = 1;
  }
  domain.accelerators = Accelerators(domain.work, usable);
  domain.chain =
      domain.connections ? DeviceChain(*problem.cluster, domain.accelerators) : domain.accelerators;
  for (const auto& devices : domain.any) {
    std::vector<int32_t> fast;
    std::set_intersection(devices.begin(), devices.end(), domain.accelerators.begin(),
                          domain.accelerators.end(), std::back_inserter(fast));
    domain.preferred.push_back(fast.empty() ? devices : std::move(fast));
  }
  return domain;
}

}  // namespace placewright
