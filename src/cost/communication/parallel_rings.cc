#include "cost/communication/parallel_rings.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace placewright {
namespace {

constexpr size_t kMaxRings = 16;
constexpr size_t kFirstRings = 32;
constexpr double kWorthwhile = 0.1;

double SumOfRates(std::span<const Ring> rings) {
  double sum = 0;
  for (const Ring& ring : rings) sum += ring.rate;
  return sum;
}

// The rings so far and what they leave of the links.
class RingPacker {
 public:
  explicit RingPacker(const Cluster& cluster) : cluster_(cluster), left_(AllCapacities(cluster)) {}

  // Takes the ring, if it is worth it beside those before, and then the same one backwards.
  bool Take(const Ring& ring) {
    if (!TakeOne(ring)) return false;
    std::vector<DeviceId> backwards(ring.order.rbegin(), ring.order.rend());
    TakeOne(MeasureRing(cluster_, std::move(backwards), left_));
    return true;
  }
  const LinkCapacities& left() const { return left_; }
  const std::vector<Ring>& rings() const { return rings_; }

 private:
  bool TakeOne(const Ring& ring) {
    if (ring.rate <= 0 || rings_.size() >= kMaxRings) return false;
    if (!rings_.empty() &&
        (ring.rate < kWorthwhile * rings_.front().rate || ring.latency > rings_.front().latency)) {
      return false;
    }
    TakeCapacity(cluster_, ring, left_);
    rings_.push_back(ring);
    return true;
  }

  const Cluster& cluster_;
  LinkCapacities left_;
  std::vector<Ring> rings_;
};

std::vector<Ring> PackBehind(const Cluster& cluster, std::span<const DeviceId> devices,
                             const Ring& first) {
  RingPacker packer(cluster);
  packer.Take(first);
  while (packer.Take(BestRing(cluster, devices, packer.left()))) {
  }
  return packer.rings();
}

// What each device can send over first links of routes that start no later than `latency`; the
// smallest sum of all devices. No rings pass on more.
double SendingLimit(const Cluster& cluster, std::span<const DeviceId> devices, Nanos latency) {
  double limit = 0;
  for (const DeviceId from : devices) {
    std::set<LinkId> firsts;
    for (const DeviceId to : devices) {
      if (from == to || cluster.route(from, to).latency > latency) continue;
      firsts.insert(cluster.route(from, to).links.front());
    }
    double sum = 0;
    for (const LinkId link : firsts) {
      sum += static_cast<double>(cluster.link(link).bandwidth.count);
    }
    limit = from == devices.front() ? sum : std::min(limit, sum);
  }
  return limit;
}

std::vector<Ring> RingsOfMachine(const Cluster& cluster, std::span<const DeviceId> devices) {
  const LinkCapacities all = AllCapacities(cluster);
  const Ring first = BestRing(cluster, devices, all);
  std::vector<Ring> rings = PackBehind(cluster, devices, first);
  const double limit = SendingLimit(cluster, devices, first.latency);
  if (devices.size() > kExactRing || SumOfRates(rings) >= 0.99 * limit) return rings;
  for (const Ring& other : BestRings(cluster, devices, all, kFirstRings)) {
    std::vector<Ring> changed = PackBehind(cluster, devices, other);
    if (SumOfRates(changed) > SumOfRates(rings)) rings = std::move(changed);
  }
  return rings;
}

// The devices of a machine from where data comes in to where it leaves for `next`: the i-th best
// exit.
std::vector<DeviceId> PathThrough(const Cluster& cluster, const std::vector<DeviceId>& ring,
                                  DeviceId next, size_t i) {
  std::vector<DeviceId> exits = ring;
  std::stable_sort(exits.begin(), exits.end(), [&](DeviceId a, DeviceId b) {
    const Route &of_a = cluster.route(a, next), &of_b = cluster.route(b, next);
    if (of_a.bandwidth != of_b.bandwidth) return of_a.bandwidth > of_b.bandwidth;
    return of_a.latency < of_b.latency;
  });
  const auto exit = std::find(ring.begin(), ring.end(), exits[i % exits.size()]);
  std::vector<DeviceId> path(exit + 1, ring.end());
  path.insert(path.end(), ring.begin(), exit + 1);
  return path;
}

std::vector<Ring> RingsOverMachines(const Cluster& cluster, const Machines& machines) {
  std::vector<DeviceId> firsts;
  std::map<DeviceId, std::vector<std::vector<DeviceId>>> rings_of;  // by the machine's first device
  size_t largest = 0;
  for (const std::vector<DeviceId>& machine : machines) {
    firsts.push_back(machine.front());
    auto& orders = rings_of[machine.front()];
    for (const Ring& ring : ParallelRings(cluster, machine)) orders.push_back(ring.order);
    if (orders.empty()) orders.push_back(machine);
    largest = std::max(largest, machine.size());
  }
  const Ring over = BestRing(cluster, firsts, AllCapacities(cluster));
  RingPacker packer(cluster);
  for (size_t i = 0; i < largest; ++i) {
    std::vector<DeviceId> order;
    for (size_t m = 0; m < over.order.size(); ++m) {
      const auto& orders = rings_of.at(over.order[m]);
      const DeviceId next = over.order[(m + 1) % over.order.size()];
      const std::vector<DeviceId> path = PathThrough(cluster, orders[i % orders.size()], next, i);
      order.insert(order.end(), path.begin(), path.end());
    }
    packer.Take(MeasureRing(cluster, std::move(order), packer.left()));
  }
  return packer.rings();
}

Round RoundOf(const Cluster& cluster, std::span<const Ring> rings, bool closed) {
  const double sum = SumOfRates(rings);
  std::vector<RoundTransfer> transfers;
  for (const Ring& ring : rings) {
    for (size_t i = 0; i + (closed ? 0 : 1) < ring.order.size(); ++i) {
      const DeviceId to = ring.order[(i + 1) % ring.order.size()];
      transfers.push_back({ring.order[i], to, ring.rate / sum});
    }
  }
  return Round(cluster, transfers);
}

}  // namespace

Machines MachinesOf(const Cluster& cluster, std::span<const DeviceId> devices) {
  Machines machines;
  std::map<int32_t, size_t> machine_of;
  for (const DeviceId device : devices) {
    const auto [it, added] = machine_of.emplace(cluster.device(device).host, machines.size());
    if (added) machines.emplace_back();
    machines[it->second].push_back(device);
  }
  return machines;
}

std::vector<Ring> ParallelRings(const Cluster& cluster, std::span<const DeviceId> devices) {
  if (devices.size() < 2) return {};
  const Machines machines = MachinesOf(cluster, devices);
  if (machines.size() == 1) return RingsOfMachine(cluster, devices);
  return RingsOverMachines(cluster, machines);
}

Round RingRound(const Cluster& cluster, std::span<const Ring> rings) {
  return RoundOf(cluster, rings, /*closed=*/true);
}

Round PipelineRound(const Cluster& cluster, std::span<const Ring> rings) {
  return RoundOf(cluster, rings, /*closed=*/false);
}

}  // namespace placewright
