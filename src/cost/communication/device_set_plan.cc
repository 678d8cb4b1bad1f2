#include "cost/communication/device_set_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace placewright {
namespace {

constexpr std::array kWays = {CollectiveAlgorithm::kRing,         CollectiveAlgorithm::kTree,
                              CollectiveAlgorithm::kHierarchical, CollectiveAlgorithm::kDirect,
                              CollectiveAlgorithm::kNvls,         CollectiveAlgorithm::kNvlsTree};

double CeilOf(double bytes, double parts) { return std::ceil(bytes / parts); }

// Holders of slices are the first `slices` devices of each machine.
std::vector<RoundTransfer> HandsOf(const std::vector<DeviceId>& machine, size_t slices) {
  std::vector<RoundTransfer> transfers;
  for (size_t other = slices; other < machine.size(); ++other) {
    for (size_t holder = 0; holder < slices; ++holder) {
      transfers.push_back({machine[other], machine[holder]});
    }
  }
  return transfers;
}

// ns a byte between each device and the one NVSwitch of its machine; 0: there is none that adds up. Nothing
// distinguishes a switch of PCIe from one of NVLink but its rate: a slot of PCIe 6 has 126 GB/s.
double NanosToSwitch(const Cluster& cluster, const Machines& machines) {
  constexpr double kFasterThanPcie = 130e9;
  constexpr size_t kMinDevices = 3;
  double slowest = std::numeric_limits<double>::infinity();
  for (const std::vector<DeviceId>& machine : machines) {
    if (machine.size() < kMinDevices || machine.size() != machines.front().size()) return 0;
    for (const DeviceId from : machine) {
      if (!cluster.kind(from).nvls) return 0;
      const DeviceId peer = from == machine.front() ? machine.back() : machine.front();
      for (const DeviceId to : machine) {
        if (from == to) continue;
        const std::vector<LinkId>& links = cluster.route(from, to).links;
        if (links.size() != 2 || links.front() != cluster.route(from, peer).links.front()) return 0;
        for (const LinkId link : links) {
          slowest = std::min(slowest, static_cast<double>(cluster.link(link).bandwidth.count));
        }
      }
    }
  }
  return slowest >= kFasterThanPcie ? 1e9 / slowest : 0;
}

std::vector<RoundTransfer> Backwards(std::vector<RoundTransfer> transfers) {
  for (RoundTransfer& transfer : transfers) std::swap(transfer.from, transfer.to);
  return transfers;
}

}  // namespace

DeviceSetPlan::DeviceSetPlan(const Cluster& cluster, std::vector<DeviceId> devices)
    : cluster_(&cluster), devices_(std::move(devices)), asked_(std::make_unique<Asked>()) {
  if (devices_.size() < 2) return;
  rings_ = ParallelRings(cluster, devices_);
  ring_ = RingRound(cluster, rings_);
  PlanTrees(cluster);
  const Machines machines = MachinesOf(cluster, devices_);
  if (machines.size() > 1 && machines.size() < devices_.size()) PlanMachines(cluster, machines);
  PlanNccl(cluster, machines);
  for (const CollectiveKind kind : kCollectiveKinds) {
    if (kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kAllToAll) continue;
    for (const CollectiveAlgorithm way : kWays) {
      links_[static_cast<size_t>(kind)][static_cast<size_t>(way)] = CollectLinks(way, kind);
    }
  }
}

void DeviceSetPlan::PlanTrees(const Cluster& cluster) {
  const std::vector<DeviceId>& order = rings_.front().order;
  const size_t n = order.size();
  trees_ = MakeTrees(cluster, order);
  for (size_t distance = 1; distance < n; distance *= 2) {
    std::vector<RoundTransfer> transfers;
    for (size_t i = 0; i < n; ++i) transfers.push_back({order[i], order[(i + distance) % n]});
    bruck_.push_back(
        {Round(cluster, transfers), static_cast<int>(std::min(distance, n - distance))});
  }
}

const BroadcastPlan& DeviceSetPlan::BroadcastFrom(DeviceId root) const {
  if (!std::binary_search(devices_.begin(), devices_.end(), root)) root = devices_.front();
  {
    const std::lock_guard lock(asked_->mutex);
    const auto known = asked_->broadcasts.find(root);
    if (known != asked_->broadcasts.end()) return *known->second;
  }
  // Made outside of the lock; where two threads make the same plan, the first one's stays.
  auto made = std::make_unique<const BroadcastPlan>(*cluster_, rings_, in_order_, root);
  const std::lock_guard lock(asked_->mutex);
  return *asked_->broadcasts.emplace(root, std::move(made)).first->second;
}

const AllToAllPlan& DeviceSetPlan::AllToAll() const {
  const std::lock_guard lock(asked_->mutex);
  if (asked_->all_to_all == nullptr) {
    asked_->all_to_all = std::make_unique<const AllToAllPlan>(*cluster_, devices_);
  }
  return *asked_->all_to_all;
}

void DeviceSetPlan::PlanMachines(const Cluster& cluster, const Machines& machines) {
  size_t slices = devices_.size();
  std::vector<DeviceId> leaders;
  for (const std::vector<DeviceId>& machine : machines) {
    slices = std::min(slices, machine.size());
    leaders.push_back(machine.front());
  }
  slices_ = static_cast<int>(slices);
  std::vector<std::vector<Ring>> rings;
  for (const std::vector<DeviceId>& machine : machines) {
    const std::vector<RoundTransfer> hands = HandsOf(machine, slices);
    rings.push_back(ParallelRings(cluster, machine));
    machines_.push_back({static_cast<int>(machine.size()), RingRound(cluster, rings.back()),
                         Round(cluster, hands), Round(cluster, Backwards(hands))});
  }
  // The machines in the order of the best ring through their first devices, for every slice.
  const Ring over = BestRing(cluster, leaders, AllCapacities(cluster));
  for (const DeviceId leader : over.order) {
    const auto at =
        static_cast<size_t>(std::find(leaders.begin(), leaders.end(), leader) - leaders.begin());
    in_order_.push_back({machines[at], std::move(rings[at])});
  }
  std::vector<RoundTransfer> steps;
  std::vector<std::vector<DeviceId>> orders(slices);
  for (size_t slice = 0; slice < slices; ++slice) {
    for (const MachineRings& machine : in_order_) orders[slice].push_back(machine.devices[slice]);
    for (size_t i = 0; i < machines.size(); ++i) {
      steps.push_back({orders[slice][i], orders[slice][(i + 1) % machines.size()]});
    }
  }
  across_ring_ = Round(cluster, steps);
  across_trees_ = MakeTrees(cluster, orders);
}

void DeviceSetPlan::PlanNccl(const Cluster& cluster, const Machines& machines) {
  NcclModel::Setting setting;
  for (const DeviceId device : devices_) {
    const DeviceKind& kind = cluster.kind(device);
    if (kind.channels == 0) return;
    const bool first = device == devices_.front();
    setting.channels = first ? kind.channels : std::min(setting.channels, kind.channels);
    setting.blackwell = kind.architecture == "blackwell";
  }
  setting.devices = static_cast<int>(devices_.size());
  setting.machines = static_cast<int>(machines.size());
  setting.ring = ring_.nanos_per_byte();
  setting.link = setting.channels > 1 ? NanosToSwitch(cluster, machines) : 0;
  if (!machines_.empty()) setting.trees = across_trees_.both.nanos_per_byte() / slices_;
  nccl_.emplace(setting);
}

double DeviceSetPlan::RingNanos(const CollectiveRequest& request) const {
  const double n = static_cast<double>(devices_.size());
  switch (request.kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (n - 1) * ring_.NanosFor(CeilOf(static_cast<double>(request.whole.count), n));
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return (n - 1) * ring_.NanosFor(static_cast<double>(request.largest_piece.count));
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllToAll: break;
  }
  return 0;
}

double DeviceSetPlan::TreeNanos(const CollectiveRequest& request) const {
  switch (request.kind) {
    case CollectiveKind::kAllReduce:
      return PipelineNanos(trees_.both, 2 * trees_.depth, static_cast<double>(request.whole.count));
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter: {
      double time = 0;
      for (const BruckRound& round : bruck_) {
        time +=
            round.round.NanosFor(round.pieces * static_cast<double>(request.largest_piece.count));
      }
      return time;
    }
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllToAll: break;
  }
  return 0;
}

double DeviceSetPlan::InsideMachines(double bytes) const {
  double time = 0;
  for (const Machine& machine : machines_) {
    const double k = machine.devices;
    const double inside = (k - 1) * machine.ring.NanosFor(CeilOf(bytes, k));
    time = std::max(time, inside + machine.HandsNanos(CeilOf(bytes, k * slices_)));
  }
  return time;
}

double DeviceSetPlan::HierarchicalNanos(const CollectiveRequest& request) const {
  if (machines_.empty()) return std::numeric_limits<double>::infinity();
  const double bytes = static_cast<double>(EvenBytes(request).count);
  const double machines = static_cast<double>(machines_.size());
  if (request.kind == CollectiveKind::kAllReduce) {
    const double slice = CeilOf(bytes, slices_);
    const double ring = 2 * (machines - 1) * across_ring_.NanosFor(CeilOf(slice, machines));
    const double tree = PipelineNanos(across_trees_.both, 2 * across_trees_.depth, slice);
    return 2 * InsideMachines(bytes) + std::min(ring, tree);
  }
  // The largest machine's pieces, in slices, go round; its devices first hand theirs to the
  // holders.
  double piece = 0, hands = 0;
  for (const Machine& machine : machines_) {
    const double own = static_cast<double>(request.largest_piece.count);
    piece = std::max(piece, CeilOf(own * machine.devices, slices_));
    hands = std::max(hands, machine.HandsNanos(CeilOf(own, slices_)));
  }
  return hands + (machines - 1) * across_ring_.NanosFor(piece) + InsideMachines(bytes);
}

Bytes DeviceSetPlan::EvenBytes(const CollectiveRequest& request) const {
  if (request.kind == CollectiveKind::kAllReduce || request.kind == CollectiveKind::kBroadcast) {
    return request.whole;
  }
  return Bytes(
      SaturatingMultiply(request.largest_piece.count, static_cast<int64_t>(devices_.size())));
}

double DeviceSetPlan::NanosOf(CollectiveAlgorithm algorithm,
                              const CollectiveRequest& request) const {
  if (request.kind == CollectiveKind::kBroadcast) {
    const double bytes = static_cast<double>(request.whole.count);
    return devices_.size() < 2 ? 0 : BroadcastFrom(request.root).NanosOf(algorithm, bytes);
  }
  if (request.kind == CollectiveKind::kAllToAll) {
    if (devices_.size() < 2 || algorithm == CollectiveAlgorithm::kNone) return 0;
    return algorithm == CollectiveAlgorithm::kDirect
               ? AllToAll().NanosOf(static_cast<double>(request.largest_piece.count))
               : std::numeric_limits<double>::infinity();
  }
  if (nccl_ && devices_.size() > 1) {
    return nccl_->NanosOf(algorithm, request.kind, static_cast<double>(EvenBytes(request).count));
  }
  switch (algorithm) {
    case CollectiveAlgorithm::kNone: break;
    case CollectiveAlgorithm::kRing: return RingNanos(request);
    case CollectiveAlgorithm::kTree: return TreeNanos(request);
    case CollectiveAlgorithm::kHierarchical: return HierarchicalNanos(request);
    case CollectiveAlgorithm::kDirect:
    case CollectiveAlgorithm::kStated:
    case CollectiveAlgorithm::kNvls:
    case CollectiveAlgorithm::kNvlsTree: return std::numeric_limits<double>::infinity();
  }
  return 0;
}

DeviceSetPlan::Choice DeviceSetPlan::Fastest(const CollectiveRequest& request) const {
  if (devices_.size() < 2 || EvenBytes(request) <= Bytes(0)) return {};
  double fastest = std::numeric_limits<double>::infinity();
  Choice choice;
  for (const CollectiveAlgorithm way : kWays) {
    const double time = NanosOf(way, request);
    if (time >= fastest) continue;
    fastest = time;
    choice.algorithm = way;
  }
  choice.time = fastest < static_cast<double>(kMaxQuantity)
                    ? Nanos(static_cast<int64_t>(std::ceil(fastest)))
                    : Nanos(kMaxQuantity);
  return choice;
}

const std::vector<LinkId>& DeviceSetPlan::LinksOf(CollectiveAlgorithm algorithm,
                                                  CollectiveKind kind, DeviceId root) const {
  if (kind == CollectiveKind::kBroadcast && devices_.size() > 1) {
    return BroadcastFrom(root).LinksOf(algorithm);
  }
  if (kind == CollectiveKind::kAllToAll && algorithm == CollectiveAlgorithm::kDirect) {
    return AllToAll().links();
  }
  return links_[static_cast<size_t>(kind)][static_cast<size_t>(algorithm)];
}

std::vector<LinkId> DeviceSetPlan::CollectLinks(CollectiveAlgorithm algorithm,
                                                CollectiveKind kind) const {
  const bool reduced = kind == CollectiveKind::kAllReduce;
  std::vector<LinkId> links;
  switch (algorithm) {
    case CollectiveAlgorithm::kNone:
    case CollectiveAlgorithm::kDirect:
    case CollectiveAlgorithm::kStated: break;
    // Every device's ways to the switch and back are those of a ring over it.
    case CollectiveAlgorithm::kNvls:
    case CollectiveAlgorithm::kRing: AddLinks(ring_, links); break;
    case CollectiveAlgorithm::kNvlsTree:
      for (const Machine& machine : machines_) AddLinks(machine.ring, links);
      AddLinks(across_trees_.both, links);
      break;
    case CollectiveAlgorithm::kTree:
      if (reduced) AddLinks(trees_.both, links);
      for (const BruckRound& round : bruck_) {
        if (!reduced) AddLinks(round.round, links);
      }
      break;
    case CollectiveAlgorithm::kHierarchical:
      for (const Machine& machine : machines_) {
        AddLinks(machine.ring, links);
        AddLinks(machine.hands, links);
        AddLinks(machine.back, links);
      }
      AddLinks(across_ring_, links);
      if (reduced) AddLinks(across_trees_.both, links);
      break;
  }
  if (cluster_->communicator().valid()) links.push_back(cluster_->communicator());
  return links;
}

}  // namespace placewright
