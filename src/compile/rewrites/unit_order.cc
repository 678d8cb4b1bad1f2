#include "compile/rewrites/unit_order.h"

#include <algorithm>
#include <utility>

namespace placewright {
namespace {

// What makes what it reads.
template <class Visit>
void ForMakers(const StepArrays& arrays, OpId op, const Visit& visit) {
  for (const ArrayRead& read : arrays.ReadsOf(arrays.ops[op])) {
    if (const OpId maker = arrays.tensors[read.tensor].producer; maker.valid()) visit(maker);
    if (const OpId writer = arrays.versions[read.version].writer; writer.valid()) visit(writer);
  }
}

}  // namespace

bool MayStandEarlier(const StepArrays& arrays, OpId op) {
  const ArrayOp& one = arrays.ops[op];
  if (one.collective.valid()) return false;
  const auto is_first = [&](ArrayVersionId version) {
    return arrays.storages[arrays.versions[version].storage].first == version;
  };
  const std::span<const ArrayVersionId> written = arrays.WrittenBy(one);
  if (!std::all_of(written.begin(), written.end(), is_first)) return false;
  bool may = true;
  ForMakers(arrays, op, [&](OpId maker) { may = may && MayStandEarlier(arrays, maker); });
  return may;
}

UnitOrder::UnitOrder(const StepArrays& arrays, std::span<const CollectiveUnit> units)
    : arrays_(arrays),
      units_(units),
      unit_of_(arrays.ops.size(), -1),
      before_(arrays.after.empty() ? 0 : arrays.ops.size()),
      placed_(arrays.ops.size(), 0),
      deferred_(arrays.ops.size(), 0),
      open_(units.size()),
      read_later_(arrays.storages.size(), 0),
      written_later_(arrays.storages.size(), 0) {
  for (size_t unit = 0; unit < units.size(); ++unit) {
    for (const CollectiveId id : units[unit].of) {
      for (const OpId member : arrays.MembersOf(arrays.collectives[id])) {
        unit_of_[member] = static_cast<int32_t>(unit);
      }
    }
  }
  for (const auto& [earlier, later] : arrays.after) before_[later.index()].push_back(earlier);
}

std::optional<std::vector<OpId>> UnitOrder::Order() {
  order_.reserve(arrays_.order.size());
  for (const OpId op : arrays_.order) {
    if (placed_[op]) continue;
    const int32_t unit = unit_of_[op];
    if (unit < 0) {
      Visit(op);
      continue;
    }
    failed_ = static_cast<size_t>(unit);
    const bool fits = units_[failed_].gathers ? PlaceGathers(failed_) : VisitSum(op, failed_);
    if (!fits) return std::nullopt;
  }
  in_turn_.clear();
  Release();
  return std::move(order_);
}

bool UnitOrder::PlaceGathers(size_t unit) {
  for (const CollectiveId id : units_[unit].of) {
    for (const OpId member : arrays_.MembersOf(arrays_.collectives[id])) {
      if (WaitsAlone(member)) return false;
      ForMakers(arrays_, member, [&](OpId maker) { PlaceWithMakers(maker); });
    }
  }
  PlaceMembers(unit);
  return true;
}

// All of the unit's are in the order no more; those of its first collective do what all did.
void UnitOrder::PlaceMembers(size_t unit) {
  const auto& collectives = units_[unit].of;
  for (const CollectiveId id : collectives) {
    for (const OpId member : arrays_.MembersOf(arrays_.collectives[id])) {
      placed_[member] = 1;
      if (id == collectives.front()) order_.push_back(member);
    }
  }
}

void UnitOrder::PlaceWithMakers(OpId op) {
  if (std::exchange(placed_[op], 1) != 0) return;
  ForMakers(arrays_, op, [&](OpId maker) { PlaceWithMakers(maker); });
  order_.push_back(op);
}

bool UnitOrder::VisitSum(OpId member, size_t unit) {
  if (WaitsAlone(member)) return false;
  std::vector<OpId>& met = open_[unit];
  met.push_back(member);
  Hold(member);
  size_t all = 0;
  for (const CollectiveId id : units_[unit].of) {
    all += arrays_.MembersOf(arrays_.collectives[id]).size();
  }
  if (met.size() < all) return true;
  met.clear();
  PlaceMembers(unit);
  const int32_t turn = units_[unit].turn;
  std::erase_if(in_turn_, [&](size_t other) { return units_[other].turn != turn; });
  if (turn >= 0) in_turn_.push_back(unit);
  Release();
  return true;
}

void UnitOrder::Visit(OpId op) {
  if (Waits(op)) return Defer(op);
  placed_[op] = 1;
  order_.push_back(op);
}

// Of a collective each member waits where one does.
bool UnitOrder::Waits(OpId op) const {
  if (held_.empty()) return false;
  const CollectiveId id = arrays_.ops[op].collective;
  if (!id.valid()) return WaitsAlone(op);
  const std::span<const OpId> members = arrays_.MembersOf(arrays_.collectives[id]);
  return std::any_of(members.begin(), members.end(),
                     [&](OpId member) { return deferred_[member] || WaitsAlone(member); });
}

bool UnitOrder::WaitsAlone(OpId id) const {
  const ArrayOp& op = arrays_.ops[id];
  for (const ArrayRead& read : arrays_.ReadsOf(op)) {
    if (written_later_[arrays_.versions[read.version].storage]) return true;
  }
  for (const ArrayVersionId version : arrays_.WrittenBy(op)) {
    const StorageId storage = arrays_.versions[version].storage;
    if (read_later_[storage] || written_later_[storage]) return true;
  }
  if (before_.empty()) return false;
  const std::vector<OpId>& before = before_[id.index()];
  return std::any_of(before.begin(), before.end(), [&](OpId one) { return deferred_[one] != 0; });
}

void UnitOrder::Defer(OpId op) {
  deferred_[op] = 1;
  waiting_.push_back(op);
  Hold(op);
}

void UnitOrder::Hold(OpId id) {
  const ArrayOp& op = arrays_.ops[id];
  for (const ArrayRead& read : arrays_.ReadsOf(op)) {
    const StorageId storage = arrays_.versions[read.version].storage;
    read_later_[storage] = 1;
    held_.push_back(storage);
  }
  for (const ArrayVersionId version : arrays_.WrittenBy(op)) {
    const StorageId storage = arrays_.versions[version].storage;
    written_later_[storage] = 1;
    held_.push_back(storage);
  }
}

// What its members have made is not read yet.
void UnitOrder::HoldSums(size_t unit) {
  for (const CollectiveId id : units_[unit].of) {
    for (const OpId member : arrays_.MembersOf(arrays_.collectives[id])) {
      for (const ArrayVersionId version : arrays_.WrittenBy(arrays_.ops[member])) {
        const StorageId storage = arrays_.versions[version].storage;
        written_later_[storage] = 1;
        held_.push_back(storage);
      }
    }
  }
}

// A unit has been placed: what waited for it alone is, too.
void UnitOrder::Release() {
  for (const StorageId storage : held_) read_later_[storage] = written_later_[storage] = 0;
  held_.clear();
  for (const std::vector<OpId>& unit : open_) {
    for (const OpId member : unit) Hold(member);
  }
  for (const size_t unit : in_turn_) HoldSums(unit);
  const std::vector<OpId> waited = std::exchange(waiting_, {});
  for (const OpId op : waited) deferred_[op] = 0;
  for (const OpId op : waited) Visit(op);
}

}  // namespace placewright
