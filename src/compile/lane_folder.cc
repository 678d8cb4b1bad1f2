#include "compile/lane_folder.h"

#include <algorithm>
#include <bit>

#include "base/random.h"

namespace placewright {

LaneFolder::LaneFolder(const LaneClasses& classes, bool in_order, StepArrays& arrays)
    : classes_(classes), in_order_(in_order), arrays_(arrays) {
  const size_t devices = classes.first.size();
  ops_.added.resize(devices);
  ops_.next.assign(devices, 0);
  inputs_.added.resize(devices);
  inputs_.next.assign(devices, 0);
  is_touched_.assign(devices, 0);
  for (const int32_t size : classes.size) {
    done_.try_emplace(size, static_cast<size_t>(size), uint64_t{0});
  }
  for (const int32_t size : classes.size) slots_.push_back(&done_.at(size));
  members_.resize(devices);
  for (const DeviceId device : IdRange<DeviceId>(devices)) {
    members_[classes.first[device]].push_back(device);
  }
  const int32_t largest = *std::max_element(classes.size.begin(), classes.size.end());
  image_bits_ = 31 - std::bit_width(static_cast<uint32_t>(largest - 1));
}

void LaneFolder::Begin() {
  for (const DeviceId device : touched_) {
    is_touched_[device] = 0;
    ops_.added[device].clear();
    inputs_.added[device].clear();
    ops_.next[device] = inputs_.next[device] = 0;
  }
  touched_.clear();
  for (auto& [size, lanes] : done_) std::fill(lanes.begin(), lanes.end(), uint64_t{0});
  folded_.clear();
}

// Lanes that added the same, one thing after the other, have equal hashes.
void LaneFolder::End() {
  for (const auto& [size, lanes] : done_) {
    const auto other = std::find_if(lanes.begin(), lanes.end(),
                                    [&](uint64_t one) { return one != lanes.front(); });
    if (other != lanes.end()) Fail();
  }
  EndCollectives();
}

std::span<const TensorId> LaneFolder::Read(std::span<const TensorId> inputs, DeviceId device) {
  read_.clear();
  for (const TensorId input : inputs) {
    const DeviceId home = DeviceOf(input);
    read_.push_back(StandsFor(input));
    if (!home.valid() || home == device) continue;
    const bool own_lane = classes_.size[home] == classes_.size[device] &&
                          classes_.lane[home] == classes_.lane[device];
    if (own_lane) {
      arrays_.lane_reads.emplace(FirstOf(home), FirstOf(device));
    } else {
      Fail();
    }
  }
  return read_;
}

void LaneFolder::Note(DeviceId device, int32_t what) {
  if (!std::exchange(is_touched_[device], 1)) touched_.push_back(device);
  // What is added for a class lies in the rows of its first device.
  const DeviceId first = FirstOf(device);
  if (!std::exchange(is_touched_[first], 1)) touched_.push_back(first);
  uint64_t& hash = (*slots_[device])[static_cast<size_t>(classes_.lane[device])];
  hash = Random(hash ^ static_cast<uint64_t>(what)).Next();
}

template <class Item>
Item LaneFolder::Next(Rows<Item>& rows, DeviceId device) {
  const std::vector<Item>& added = rows.added[FirstOf(device)];
  int32_t& next = rows.next[device];
  if (static_cast<size_t>(next) == added.size()) return Item();
  const Item item = added[static_cast<size_t>(next++)];
  Note(device, item.value());
  return item;
}

template <class Item>
void LaneFolder::Add(Rows<Item>& rows, DeviceId device, Item item) {
  rows.added[FirstOf(device)].push_back(item);
  ++rows.next[device];
  Note(device, item.value());
}

OpId LaneFolder::PeekOp(DeviceId device) const {
  const std::vector<OpId>& added = ops_.added[FirstOf(device)];
  const auto next = static_cast<size_t>(ops_.next[device]);
  return next < added.size() ? added[next] : OpId();
}
OpId LaneFolder::NextOp(DeviceId device) { return Next(ops_, device); }
TensorId LaneFolder::NextInput(DeviceId device) { return Next(inputs_, device); }
void LaneFolder::AddOp(DeviceId device, OpId op) { Add(ops_, device, op); }
void LaneFolder::AddInput(DeviceId device, TensorId input) { Add(inputs_, device, input); }

void LaneFolder::Place(TensorId tensor, DeviceId device) {
  if (tensor.index() >> image_bits_ != 0) return Fail();  // it has no number for images
  if (home_.size() <= tensor.index()) home_.resize(tensor.index() + 1);
  home_[tensor] = device;
}

bool LaneFolder::JoinsKnown(std::span<const Member> members) {
  CollectiveId known;
  for (const Member& member : members) {
    known = std::max(known, arrays_.ops[member.op].collective);
  }
  if (!known.valid()) return false;
  const auto folded = std::find_if(folded_.begin(), folded_.end(),
                                   [&](const Folded& one) { return one.id == known; });
  if (folded == folded_.end()) {
    Fail();
    return true;
  }
  std::vector<OpId> ops;
  for (const Member& member : members) ops.push_back(member.op);
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  const std::span<const OpId> row = arrays_.MembersOf(arrays_.collectives[known]);
  std::vector<OpId> others(row.begin(), row.end());
  std::sort(others.begin(), others.end());
  const bool in_order = !in_order_ || folded + 1 == folded_.end();
  if (ops != others || !in_order) Fail();
  if (arrays_.collectives[known].request.root.valid()) Fail();
  NoteSet(*folded, members);
  return true;
}

void LaneFolder::AddCollective(CollectiveId made, std::span<const Member> members) {
  folded_.push_back({made, {}, false});
  NoteSet(folded_.back(), members);
}

void LaneFolder::NoteSet(Folded& folded, std::span<const Member> members) {
  std::vector<DeviceId> devices;
  for (const Member& member : members) devices.push_back(member.device);
  std::vector<DeviceId> sorted = devices;
  std::sort(sorted.begin(), sorted.end());
  const auto [at, fresh] =
      sets_.emplace(std::move(sorted), static_cast<int32_t>(set_devices_.size()));
  if (fresh) {
    set_devices_.push_back(devices);
    number_of_set_.push_back(-1);
  }
  const bool same_order = set_devices_[static_cast<size_t>(at->second)] == devices;
  arrays_.lane_orders_differ = arrays_.lane_orders_differ || !same_order;
  folded.sets.push_back(at->second);
  if (devices.size() != set_devices_[static_cast<size_t>(folded.sets.front())].size()) Fail();
  // That of the device on which its first member is written comes first.
  const OpId first = arrays_.MembersOf(arrays_.collectives[folded.id]).front();
  const bool own = std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return member.op == first && classes_.StandsForItself(member.device);
  });
  if (own) std::swap(folded.sets.front(), folded.sets.back());
  folded.has_own = folded.has_own || own;
}

void LaneFolder::EndCollectives() {
  for (Folded& folded : folded_) {
    if (!folded.has_own) return Fail();
    std::sort(folded.sets.begin() + 1, folded.sets.end());
    const auto [at, fresh] =
        numbers_.emplace(folded.sets, static_cast<int32_t>(arrays_.over.size()));
    if (fresh) {
      std::vector<std::vector<DeviceId>>& over = arrays_.over.emplace_back();
      for (const int32_t set : folded.sets) {
        // A communicator of one class of collectives is none of another.
        int32_t& number = number_of_set_[static_cast<size_t>(set)];
        if (number >= 0) return Fail();
        number = at->second;
        over.push_back(set_devices_[static_cast<size_t>(set)]);
      }
    }
    arrays_.collectives[folded.id].over = at->second;
  }
}

}  // namespace placewright
