#include "cost/communication/broadcast_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cost/communication/tree.h"

namespace placewright {
namespace {

constexpr double kAsFast = 1 + 1e-9;  // loads of links are sums of fractions

std::vector<DeviceId> StartingAt(DeviceId root, std::vector<DeviceId> order) {
  std::rotate(order.begin(), std::find(order.begin(), order.end(), root), order.end());
  return order;
}

// Devices of the first one's machine come before all others.
std::vector<DeviceId> OwnMachineFirst(const Cluster& cluster, std::vector<DeviceId> order) {
  const int32_t host = cluster.device(order.front()).host;
  std::stable_partition(order.begin(), order.end(),
                        [&](DeviceId device) { return cluster.device(device).host == host; });
  return order;
}

}  // namespace

std::vector<Ring> RingsFrom(const Cluster& cluster, std::span<const Ring> rings, DeviceId root) {
  std::vector<Ring> rotated(rings.begin(), rings.end());
  for (Ring& ring : rotated) ring.order = StartingAt(root, std::move(ring.order));
  std::vector<Ring> grouped = rotated;
  for (Ring& ring : grouped) ring.order = OwnMachineFirst(cluster, std::move(ring.order));
  const double slow = PipelineRound(cluster, grouped).nanos_per_byte();
  const double limit = PipelineRound(cluster, rotated).nanos_per_byte() * kAsFast;
  return slow <= limit ? grouped : rotated;
}

BroadcastPlan::BroadcastPlan(const Cluster& cluster, std::span<const Ring> rings,
                             std::span<const MachineRings> machines, DeviceId root)
    : ring_(PipelineOf(cluster, rings, root)) {
  const std::vector<DeviceId> order =
      OwnMachineFirst(cluster, StartingAt(root, rings.front().order));
  tree_ = BinomialRounds(cluster, order);
  std::vector<RoundTransfer> transfers;
  for (const DeviceId other : order) {
    if (other != root) transfers.push_back({root, other});
  }
  direct_ = Round(cluster, transfers);
  if (!machines.empty()) PlanMachines(cluster, machines, root);
  CollectLinks(cluster.communicator());
}

BroadcastPlan::Pipeline BroadcastPlan::PipelineOf(const Cluster& cluster,
                                                  std::span<const Ring> rings, DeviceId root) {
  const std::vector<Ring> from_root = RingsFrom(cluster, rings, root);
  return {PipelineRound(cluster, from_root), static_cast<int>(rings.front().order.size()) - 1};
}

void BroadcastPlan::PlanMachines(const Cluster& cluster, std::span<const MachineRings> machines,
                                 DeviceId root) {
  std::vector<DeviceId> leaders;
  for (const MachineRings& machine : machines) {
    const auto& devices = machine.devices;
    const bool own = std::find(devices.begin(), devices.end(), root) != devices.end();
    leaders.push_back(own ? root : devices.front());
    if (machine.rings.empty()) continue;
    inside_.push_back(PipelineOf(cluster, machine.rings, leaders.back()));
  }
  over_leaders_ = BinomialRounds(cluster, StartingAt(root, std::move(leaders)));
}

double BroadcastPlan::HierarchicalNanos(double bytes) const {
  if (over_leaders_.empty()) return std::numeric_limits<double>::infinity();
  double inside = 0;
  for (const Pipeline& machine : inside_) {
    inside = std::max(inside, PipelineNanos(machine.round, machine.fill, bytes));
  }
  return NanosOfRounds(over_leaders_, bytes) + inside;
}

double BroadcastPlan::NanosOf(CollectiveAlgorithm algorithm, double bytes) const {
  switch (algorithm) {
    case CollectiveAlgorithm::kNone: break;
    case CollectiveAlgorithm::kRing: return PipelineNanos(ring_.round, ring_.fill, bytes);
    case CollectiveAlgorithm::kTree: return NanosOfRounds(tree_, bytes);
    case CollectiveAlgorithm::kHierarchical: return HierarchicalNanos(bytes);
    case CollectiveAlgorithm::kDirect: return direct_.NanosFor(bytes);
    case CollectiveAlgorithm::kNvls:
    case CollectiveAlgorithm::kNvlsTree: return std::numeric_limits<double>::infinity();
    case CollectiveAlgorithm::kStated: break;
  }
  return 0;
}

void BroadcastPlan::CollectLinks(LinkId communicator) {
  const auto links = [&](CollectiveAlgorithm algorithm) -> std::vector<LinkId>& {
    return links_[static_cast<size_t>(algorithm)];
  };
  AddLinks(ring_.round, links(CollectiveAlgorithm::kRing));
  for (const Round& round : tree_) AddLinks(round, links(CollectiveAlgorithm::kTree));
  std::vector<LinkId>& hierarchical = links(CollectiveAlgorithm::kHierarchical);
  for (const Round& round : over_leaders_) AddLinks(round, hierarchical);
  for (const Pipeline& machine : inside_) AddLinks(machine.round, hierarchical);
  AddLinks(direct_, links(CollectiveAlgorithm::kDirect));
  if (!communicator.valid()) return;
  for (std::vector<LinkId>& held : links_) held.push_back(communicator);
}

}  // namespace placewright
