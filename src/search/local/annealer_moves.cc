// The moves of the annealer.
#include <algorithm>

#include "search/local/annealer.h"

namespace placewright {

// Half of the time of the critical chain; else as likely as it takes time, or any.
int32_t Annealer::PickUnit() {
  const uint64_t kind = random_.Below(8);
  if (kind < 4) {
    RefreshCriticalChain();
    const std::vector<int32_t>& units = kind == 0 && !blockers_.empty() ? blockers_ : hot_;
    if (!units.empty()) return units[random_.Below(units.size())];
  }
  const std::vector<int64_t>& before = context_.time_before;
  if (kind < 6 && before.back() > 0) {
    const auto at = static_cast<int64_t>(random_.Below(static_cast<uint64_t>(before.back())));
    return static_cast<int32_t>(std::upper_bound(before.begin(), before.end(), at) -
                                before.begin());
  }
  return static_cast<int32_t>(random_.Below(current_.size()));
}

void Annealer::AddChange(int32_t unit, int32_t device) {
  if (current_[unit] == device || stamp_[unit] == proposal_) return;
  const std::vector<int32_t>& allowed = context_.domain.any[unit];
  if (std::find(allowed.begin(), allowed.end(), device) == allowed.end()) return;
  stamp_[unit] = proposal_;
  changes_.push_back({unit, device});
}

bool Annealer::StaysConnected() {
  if (!context_.domain.connections) return true;
  const auto exchange = [&] {
    for (Change& change : changes_) std::swap(change.device, current_[change.unit]);
  };
  exchange();
  const bool legal = std::all_of(changes_.begin(), changes_.end(), [&](const Change& change) {
    return context_.domain.connections->Legal(change.unit, current_);
  });
  exchange();
  return legal;
}

void Annealer::MoveUnits(std::span<const int32_t> units, int32_t device) {
  for (int32_t unit : units) AddChange(unit, device);
}

// The device of a neighbour of one of the units, or any accelerator; now and then any device.
int32_t Annealer::PickDevice(std::span<const int32_t> units) {
  const int32_t unit = units[random_.Below(units.size())];
  if (random_.Below(2) == 0) {
    const int32_t first = context_.neighbour_offset[unit];
    const int32_t count = context_.neighbour_offset[unit + 1] - first;
    for (int tries = 0; count > 0 && tries < 4; ++tries) {
      const int32_t device = current_[context_.neighbours[first + random_.Below(count)]];
      if (device != current_[unit]) return device;
    }
  }
  const std::vector<int32_t>& devices =
      random_.Below(32) == 0 ? context_.domain.any[unit] : context_.domain.preferred[unit];
  return devices[random_.Below(devices.size())];
}

void Annealer::Propose() {
  changes_.clear();
  ++proposal_;
  if (options_.moves != AnnealerOptions::Moves::kAll) return ProposeOne();
  if (ProposeOfSweep()) return;
  const uint64_t kind = random_.Below(100);
  if (kind < 25) {
    const int32_t unit = PickUnit();
    AddChange(unit, PickDevice({&unit, 1}));
  } else if (kind < 65) {
    ProposeCluster();
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
  const auto unit = static_cast<int32_t>(random_.Below(current_.size()));
  if (options_.moves == AnnealerOptions::Moves::kOneOrTwo && random_.Below(2) == 0) {
    const auto other = static_cast<int32_t>(random_.Below(current_.size()));
    const int32_t device = current_[unit];
    AddChange(unit, current_[other]);
    AddChange(other, device);
    return;
  }
  const bool any = options_.moves != AnnealerOptions::Moves::kOne && random_.Below(32) == 0;
  const std::vector<int32_t>& devices =
      any ? context_.domain.any[unit] : context_.domain.preferred[unit];
  AddChange(unit, devices[random_.Below(devices.size())]);
}

void Annealer::ProposeCluster() {
  const auto clusters = context_.clusters.Of(PickUnit());
  if (clusters.empty()) return;
  const auto members = context_.clusters.members(clusters[random_.Below(clusters.size())]);
  MoveUnits(members, PickDevice(members));
}

// Two clusters or units trade places.
void Annealer::ProposeSwap() {
  const int32_t a = PickUnit();
  const int32_t b = static_cast<int32_t>(random_.Below(current_.size()));
  const int32_t device_a = current_[a], device_b = current_[b];
  if (device_a == device_b) return;
  const auto of_a = context_.clusters.Of(a), of_b = context_.clusters.Of(b);
  if (random_.Below(2) == 0 || of_a.empty() || of_b.empty()) {
    AddChange(a, device_b);
    AddChange(b, device_a);
    return;
  }
  MoveUnits(context_.clusters.members(of_a[random_.Below(of_a.size())]), device_b);
  MoveUnits(context_.clusters.members(of_b[random_.Below(of_b.size())]), device_a);
}

// A unit's neighbours come to it.
void Annealer::ProposeGathering() {
  const int32_t unit = PickUnit();
  const int32_t first = context_.neighbour_offset[unit];
  const int32_t count = context_.neighbour_offset[unit + 1] - first;
  MoveUnits({context_.neighbours.data() + first, static_cast<size_t>(std::min(count, 16))},
            current_[unit]);
}

// A connected region of the units that share a device, grown from one of them.
void Annealer::ProposeRegion() {
  const int32_t seed = PickUnit();
  const size_t size = size_t{2} << random_.Below(6);
  std::vector<int32_t> region{seed};
  const int32_t device = PickDevice(region);
  if (device == current_[seed]) return;
  AddChange(seed, device);
  for (size_t i = 0; i < region.size() && region.size() < size; ++i) {
    const int32_t begin = context_.neighbour_offset[region[i]];
    const int32_t end = context_.neighbour_offset[region[i] + 1];
    for (int32_t n = begin; n < end && region.size() < size; ++n) {
      const int32_t next = context_.neighbours[n];
      if (current_[next] != current_[seed] || stamp_[next] == proposal_) continue;
      if (random_.Below(4) == 0) continue;
      const size_t before = changes_.size();
      AddChange(next, device);
      if (changes_.size() > before) region.push_back(next);
    }
  }
}

// Of the ops around a unit in the step's order, those on its device go to another; those there may
// come in exchange.
void Annealer::ProposeWindow() {
  const int32_t unit = PickUnit();
  const size_t units = context_.by_position.size();
  int sizes = 1;
  while (sizes < 14 && (size_t{4} << sizes) <= units) ++sizes;
  const size_t length = size_t{4} << random_.Below(static_cast<uint64_t>(sizes));
  const size_t at = static_cast<size_t>(context_.position[unit]), before = random_.Below(length);
  const size_t first = at > before ? at - before : 0;
  const int32_t from = current_[unit], to = PickDevice({&unit, 1});
  if (from == to) return;
  const bool exchange = random_.Below(2) == 0;
  for (size_t i = first; i < std::min(units, first + length); ++i) {
    const int32_t other = context_.by_position[i];
    if (current_[other] == from) {
      AddChange(other, to);
    } else if (exchange && current_[other] == to) {
      AddChange(other, from);
    }
  }
}

// The next move of the sweep; false if it is over.
bool Annealer::ProposeOfSweep() {
  const auto clusters = std::min<int64_t>(kSwept, context_.clusters.size());
  while (sweep_ < 3 * clusters) {
    const auto members = context_.clusters.members(context_.largest[sweep_ / 3]);
    const int64_t choice = sweep_++ % 3;
    const std::vector<int32_t>& devices = context_.domain.accelerators;
    const int32_t device = choice == 0   ? IdlestDevice()
                           : choice == 1 ? devices[random_.Below(devices.size())]
                                         : PickDevice(members);
    MoveUnits(members, device);
    if (!changes_.empty()) return true;
  }
  return false;
}

int32_t Annealer::IdlestDevice() const {
  const std::vector<int32_t>& devices = context_.domain.accelerators;
  const auto& result = simulator_.incumbent_result().devices;
  return *std::min_element(devices.begin(), devices.end(),
                           [&](int32_t a, int32_t b) { return result[a].busy < result[b].busy; });
}

void Annealer::ProposeDeviceSwap() {
  const std::vector<int32_t>& devices = context_.domain.accelerators;
  const int32_t a = devices[random_.Below(devices.size())];
  const int32_t b = devices[random_.Below(devices.size())];
  if (a == b) return;
  for (size_t u = 0; u < current_.size(); ++u) {
    if (current_[u] == a) AddChange(static_cast<int32_t>(u), b);
    if (current_[u] == b) AddChange(static_cast<int32_t>(u), a);
  }
}

}  // namespace placewright
