// The moves of the annealer. Each of them gathers changes, a group and its device; a group is
// changed once at most in a proposal (stamp_), and a change that a constraint forbids is left out.
// One without any change costs a move but no evaluation.
//
// What is drawn: half of all moves start where time is lost, on the critical chain, the rest
// elsewhere, because a plan also improves where a move makes room. Groups alone rarely gain on a
// training step: forward and backward ops of a layer, its parameters and its optimizer want to lie
// together, so that most moves take a move set or a region along.
#include <algorithm>

#include "search/local/annealer.h"

namespace placewright {

// Half of the time of the critical chain, of which one time in four a group that kept a device
// busy while the chain waited for it; else as likely as it takes time, or any. Groups without time
// of their own (updates of small parameters) would never be drawn by time.
ColocationGroupId Annealer::PickGroup() {
  const uint64_t kind = random_.Below(8);
  if (kind < 4) {
    RefreshCriticalChain();
    const std::vector<ColocationGroupId>& groups =
        kind == 0 && !blockers_.empty() ? blockers_ : hot_;
    if (!groups.empty()) return groups[random_.Below(groups.size())];
  }
  const std::vector<int64_t>& before = context_.time_before.raw();
  if (kind < 6 && before.back() > 0) {
    const auto at = static_cast<int64_t>(random_.Below(static_cast<uint64_t>(before.back())));
    const auto first = std::upper_bound(before.begin(), before.end(), at);
    return ColocationGroupId(static_cast<size_t>(first - before.begin()));
  }
  return AnyGroup();
}

void Annealer::AddChange(ColocationGroupId group, DeviceId device) {
  if (current_[group] == device || stamp_[group] == proposal_) return;
  const std::vector<DeviceId>& allowed = context_.candidates.any[group];
  if (std::find(allowed.begin(), allowed.end(), device) == allowed.end()) return;
  stamp_[group] = proposal_;
  changes_.push_back({group, device});
}

// Legal() looks at the neighbours of a group, so all changes are made before any is asked about.
bool Annealer::StaysConnected() {
  if (!context_.candidates.connections) return true;
  const auto exchange = [&] {
    for (Change& change : changes_) std::swap(change.device, current_[change.group]);
  };
  exchange();
  const bool legal = std::all_of(changes_.begin(), changes_.end(), [&](const Change& change) {
    return context_.candidates.connections->Legal(change.group, current_);
  });
  exchange();
  return legal;
}

void Annealer::MoveGroups(std::span<const ColocationGroupId> groups, DeviceId device) {
  for (ColocationGroupId group : groups) AddChange(group, device);
}

// Half of the time the device of a neighbour of one of the groups, which saves a transfer, else any
// accelerator; one time in 64 any device, since hosts help rarely, but where memory is short they
// do.
DeviceId Annealer::PickDevice(std::span<const ColocationGroupId> groups) {
  const ColocationGroupId group = groups[random_.Below(groups.size())];
  if (random_.Below(2) == 0) {
    const std::span<const ColocationGroupId> neighbours = context_.neighbours[group];
    for (int tries = 0; !neighbours.empty() && tries < 4; ++tries) {
      const DeviceId device = current_[neighbours[random_.Below(neighbours.size())]];
      if (device != current_[group]) return device;
    }
  }
  const bool any = random_.Below(32) == 0;
  const std::vector<DeviceId>& devices =
      any ? context_.candidates.any[group] : context_.candidates.preferred[group];
  return devices[random_.Below(devices.size())];
}

void Annealer::Propose() {
  changes_.clear();
  ++proposal_;
  if (options_.moves != AnnealerOptions::Moves::kAll) return ProposeOne();
  if (ProposeOfSweep()) return;
  const uint64_t kind = random_.Below(100);
  if (kind < 25) {
    const ColocationGroupId group = PickGroup();
    AddChange(group, PickDevice({&group, 1}));
  } else if (kind < 65) {
    ProposeMoveSet();
  } else if (kind < 75) {
    ProposeSwap();
  } else if (kind < 83) {
    ProposeGathering();
  } else if (kind < 87) {
    ProposeWindow();
  } else if (kind < 99) {
    ProposeRegion();
  } else {
    ProposeDeviceSwap();
  }
}

void Annealer::ProposeOne() {
  const ColocationGroupId group = AnyGroup();
  if (options_.moves == AnnealerOptions::Moves::kOneOrTwo && random_.Below(2) == 0) {
    const ColocationGroupId other = AnyGroup();
    const DeviceId device = current_[group];
    AddChange(group, current_[other]);
    AddChange(other, device);
    return;
  }
  const bool any = options_.moves != AnnealerOptions::Moves::kOne && random_.Below(32) == 0;
  const std::vector<DeviceId>& devices =
      any ? context_.candidates.any[group] : context_.candidates.preferred[group];
  AddChange(group, devices[random_.Below(devices.size())]);
}

// A move set of any size around the group: those of a pattern, a layer, a window (move_sets.h).
void Annealer::ProposeMoveSet() {
  const auto move_sets = context_.move_sets.Of(PickGroup());
  if (move_sets.empty()) return;
  const auto members = context_.move_sets.members(move_sets[random_.Below(move_sets.size())]);
  MoveGroups(members, PickDevice(members));
}

// Two move sets or groups trade places: where devices are full, neither can move alone.
void Annealer::ProposeSwap() {
  const ColocationGroupId a = PickGroup();
  const ColocationGroupId b = AnyGroup();
  const DeviceId device_a = current_[a], device_b = current_[b];
  if (device_a == device_b) return;
  const auto of_a = context_.move_sets.Of(a), of_b = context_.move_sets.Of(b);
  if (random_.Below(2) == 0 || of_a.empty() || of_b.empty()) {
    AddChange(a, device_b);
    AddChange(b, device_a);
    return;
  }
  MoveGroups(context_.move_sets.members(of_a[random_.Below(of_a.size())]), device_b);
  MoveGroups(context_.move_sets.members(of_b[random_.Below(of_b.size())]), device_a);
}

// A group's neighbours come to it, 16 at most: an embedding or a loss has hundreds.
void Annealer::ProposeGathering() {
  const ColocationGroupId group = PickGroup();
  const std::span<const ColocationGroupId> neighbours = context_.neighbours[group];
  MoveGroups(neighbours.first(std::min<size_t>(neighbours.size(), 16)), current_[group]);
}

// A connected region of the groups that share a device, grown from one of them, of 2 to 64 groups.
// One in four neighbours is left out, so that regions from one seed differ and can have holes.
void Annealer::ProposeRegion() {
  const ColocationGroupId seed = PickGroup();
  const size_t size = size_t{2} << random_.Below(6);
  std::vector<ColocationGroupId> region{seed};
  const DeviceId device = PickDevice(region);
  if (device == current_[seed]) return;
  AddChange(seed, device);
  for (size_t i = 0; i < region.size() && region.size() < size; ++i) {
    for (ColocationGroupId next : context_.neighbours[region[i]]) {
      if (region.size() >= size) break;
      if (current_[next] != current_[seed] || stamp_[next] == proposal_) continue;
      if (random_.Below(4) == 0) continue;
      const size_t before = changes_.size();
      AddChange(next, device);
      if (changes_.size() > before) region.push_back(next);
    }
  }
}

// Of the ops around a group in the step's order, those on its device go to another; those there may
// come in exchange. This shifts where a pipeline is cut; lengths double from 4 to about half the
// step.
void Annealer::ProposeWindow() {
  const ColocationGroupId group = PickGroup();
  const size_t groups = context_.by_position.size();
  int sizes = 1;
  while (sizes < 14 && (size_t{4} << sizes) <= groups) ++sizes;
  const size_t length = size_t{4} << random_.Below(static_cast<uint64_t>(sizes));
  const size_t at = static_cast<size_t>(context_.position[group]), before = random_.Below(length);
  const size_t first = at > before ? at - before : 0;
  const DeviceId from = current_[group], to = PickDevice({&group, 1});
  if (from == to) return;
  const bool exchange = random_.Below(2) == 0;
  for (size_t i = first; i < std::min(groups, first + length); ++i) {
    const ColocationGroupId other = context_.by_position[i];
    if (current_[other] == from) {
      AddChange(other, to);
    } else if (exchange && current_[other] == to) {
      AddChange(other, from);
    }
  }
}

// The next move of the sweep; false if it is over. Three tries a move set: the idlest accelerator
// to balance, any to look around, the device of a neighbour to save transfers.
bool Annealer::ProposeOfSweep() {
  const auto move_sets = std::min<int64_t>(kSwept, context_.move_sets.size());
  while (sweep_ < 3 * move_sets) {
    const auto members = context_.move_sets.members(context_.largest[sweep_ / 3]);
    const int64_t choice = sweep_++ % 3;
    const std::vector<DeviceId>& devices = context_.candidates.accelerators;
    const DeviceId device = choice == 0   ? IdlestDevice()
                            : choice == 1 ? devices[random_.Below(devices.size())]
                                          : PickDevice(members);
    MoveGroups(members, device);
    if (!changes_.empty()) return true;
  }
  return false;
}

DeviceId Annealer::IdlestDevice() const {
  const std::vector<DeviceId>& devices = context_.candidates.accelerators;
  const auto busy = [&](DeviceId device) { return evaluator_->IncumbentBusy(device); };
  return *std::min_element(devices.begin(), devices.end(),
                           [&](DeviceId a, DeviceId b) { return busy(a) < busy(b); });
}

// All that two devices have, traded: devices of one kind differ by their links alone, and no
// smaller move gets over the valley between.
void Annealer::ProposeDeviceSwap() {
  const std::vector<DeviceId>& devices = context_.candidates.accelerators;
  const DeviceId a = devices[random_.Below(devices.size())];
  const DeviceId b = devices[random_.Below(devices.size())];
  if (a == b) return;
  for (ColocationGroupId u : IdsOf(current_)) {
    if (current_[u] == a) AddChange(u, b);
    if (current_[u] == b) AddChange(u, a);
  }
}

}  // namespace placewright
