// The blocks of an Emitter: begun and ended, kept as they were and undone, and laid one behind the other.
#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "compile/emitter.h"
#include "transforms/offload.h"

namespace placewright {

void Emitter::KeepNumbers(const ArrayBlock::Numbers& numbers, Kept::Counts& counts) {
  counts = {numbers.tensors.size(), numbers.storages.size(), numbers.versions.size()};
  for (const TensorId id : numbers.tensors) kept_.tensors.emplace_back(id, arrays_.tensors[id]);
  for (const StorageId id : numbers.storages) kept_.storages.emplace_back(id, arrays_.storages[id]);
  for (const ArrayVersionId id : numbers.versions) {
    kept_.versions.emplace_back(id, arrays_.versions[id]);
    kept_.version_numbers.push_back(id);
  }
}

void Emitter::Keep() {
  const ArrayBlock& of = block();
  tensors_before_ = kept_.tensors.size();
  versions_before_ = kept_.versions.size();
  Kept::Block kept;
  kept.place = place_;
  kept.ops = of.ops.size();
  kept.collectives = of.collectives.size();
  kept.overwrites = of.overwrites.size();
  for (const OpId id : of.ops) kept_.ops.emplace_back(id, arrays_.ops[id]);
  for (const CollectiveId id : of.collectives) {
    kept_.collectives.emplace_back(id, arrays_.collectives[id]);
  }
  kept_.overwrites.insert(kept_.overwrites.end(), of.overwrites.begin(), of.overwrites.end());
  KeepNumbers(of.own, kept.own);
  KeepNumbers(of.fetched, kept.fetched);
  kept_.blocks.push_back(kept);
  overwrites_before_.clear();
  for (const ArrayVersionId id : of.overwrites) {
    overwrites_before_.emplace_back(id, arrays_.versions[id].storage);
  }
}

bool Emitter::IsAsBefore() const {
  const ArrayBlock& now = block(place_);
  const Kept::Block& was = kept_.blocks.back();
  const auto same_counts = [](const ArrayBlock::Numbers& numbers, const Kept::Counts& counts) {
    return numbers.tensors.size() == counts.tensors && numbers.versions.size() == counts.versions;
  };
  if (!same_counts(now.own, was.own) || !same_counts(now.fetched, was.fetched)) return false;
  size_t tensor = tensors_before_, version = versions_before_;
  for (const ArrayBlock::Numbers* numbers : {&now.own, &now.fetched}) {
    for (const TensorId id : numbers->tensors) {
      const auto& [number, content] = kept_.tensors[tensor++];
      if (number != id || !(content == arrays_.tensors[id])) return false;
    }
    for (const ArrayVersionId id : numbers->versions) {
      const auto& [number, content] = kept_.versions[version++];
      if (number != id || content.storage != arrays_.versions[id].storage) return false;
    }
  }
  return true;
}

bool Emitter::WritesAsBefore() const {
  const auto same = [&](ArrayVersionId id, const auto& was) {
    return was == std::pair(id, arrays_.versions[id].storage);
  };
  const std::vector<ArrayVersionId>& now = block(place_).overwrites;
  return std::equal(now.begin(), now.end(), overwrites_before_.begin(), overwrites_before_.end(),
                    same);
}

void Emitter::SetTails(const std::vector<StorageId>& storages,
                       std::vector<ArrayVersionId>& tails) const {
  tails.clear();
  for (const StorageId id : storages) {
    ArrayVersionId version = arrays_.storages[id].first;
    while (version.valid() && arrays_.versions[version].place == place_) {
      version = arrays_.versions[version].next;
    }
    tails.push_back(version);
  }
}

void Emitter::Begin(int32_t place) {
  place_ = place;
  if (blocks_.size() <= static_cast<size_t>(place)) blocks_.resize(static_cast<size_t>(place) + 1);
  changed_.push_back(place);
  if (is_folding()) folder_->Begin();
  if (recording_) Keep();
  for (const ArrayVersionId id : block().overwrites) Unlink(id);
  block().overwrites.clear();
  SetTails(block().own.storages, own_tails_);
  SetTails(block().fetched.storages, fetched_tails_);
  used_ops_ = used_collectives_ = 0;
  own_ops_.clear();
  used_own_ = used_fetched_ = {};
}

Emitter::Outcome Emitter::End() {
  if (is_folding()) folder_->End();
  const auto give_back = [](auto& numbers, size_t used, auto& free) {
    free.insert(free.end(), numbers.begin() + static_cast<ptrdiff_t>(used), numbers.end());
    numbers.resize(used);
  };
  ArrayBlock& of = block();
  ArrayBlock::Numbers& free = recording_ ? kept_.unused : free_;
  give_back(of.ops, used_ops_, recording_ ? kept_.unused_ops : free_ops_);
  give_back(of.collectives, used_collectives_,
            recording_ ? kept_.unused_collectives : free_collectives_);
  for (const bool own : {true, false}) {
    ArrayBlock::Numbers& numbers = own ? of.own : of.fetched;
    const Used& used = own ? used_own_ : used_fetched_;
    give_back(numbers.tensors, used.tensors, free.tensors);
    give_back(numbers.storages, used.storages, free.storages);
    give_back(numbers.versions, used.versions, free.versions);
  }
  if (!recording_) return {};
  return {IsAsBefore(), WritesAsBefore()};
}

void Emitter::Record() {
  const auto append = [](const auto& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(kept_.unused_ops, free_ops_);
  append(kept_.unused_collectives, free_collectives_);
  append(kept_.unused.tensors, free_.tensors);
  append(kept_.unused.storages, free_.storages);
  append(kept_.unused.versions, free_.versions);
  kept_.blocks.clear();
  kept_.ops.clear();
  kept_.collectives.clear();
  kept_.tensors.clear();
  kept_.storages.clear();
  kept_.version_numbers.clear();
  kept_.overwrites.clear();
  kept_.versions.clear();
  kept_.unused_ops.clear();
  kept_.unused_collectives.clear();
  kept_.unused = {};
  kept_.reads = arrays_.reads.size();
  kept_.made = arrays_.made.size();
  kept_.written = arrays_.written.size();
  kept_.members = arrays_.members.size();
  recording_ = true;
}

namespace {

template <class Number>
Number NumberOf(Number id) {
  return id;
}
template <class Number, class Item>
Number NumberOf(const std::pair<Number, Item>& kept) {
  return kept.first;
}

// The last `count` of what is kept, which are taken from there; what the block has beyond them is free.
template <class Number, class Entry>
void TakeLast(size_t count, std::vector<Entry>& kept, std::vector<Number>& numbers,
              std::vector<Number>& free) {
  for (size_t i = count; i < numbers.size(); ++i) free.push_back(numbers[i]);
  numbers.clear();
  for (size_t i = kept.size() - count; i < kept.size(); ++i) numbers.push_back(NumberOf(kept[i]));
  kept.resize(kept.size() - count);
}

template <class Number, class Item, class Pool>
void SetLast(size_t count, const std::vector<std::pair<Number, Item>>& kept, Pool& pool) {
  for (size_t i = kept.size() - count; i < kept.size(); ++i) pool[kept[i].first] = kept[i].second;
}

}  // namespace

void Emitter::UndoNumbers(const Kept::Counts& counts, ArrayBlock::Numbers& numbers) {
  SetLast(counts.tensors, kept_.tensors, arrays_.tensors);
  SetLast(counts.storages, kept_.storages, arrays_.storages);
  TakeLast(counts.tensors, kept_.tensors, numbers.tensors, free_.tensors);
  TakeLast(counts.storages, kept_.storages, numbers.storages, free_.storages);
  TakeLast(counts.versions, kept_.version_numbers, numbers.versions, free_.versions);
}

void Emitter::UndoBlock(const Kept::Block& kept) {
  ArrayBlock& of = blocks_[static_cast<size_t>(kept.place)];
  changed_.push_back(kept.place);
  SetLast(kept.ops, kept_.ops, arrays_.ops);
  SetLast(kept.collectives, kept_.collectives, arrays_.collectives);
  TakeLast(kept.ops, kept_.ops, of.ops, free_ops_);
  TakeLast(kept.collectives, kept_.collectives, of.collectives, free_collectives_);
  std::vector<ArrayVersionId> gone;  // versions have been given back with the others
  TakeLast(kept.overwrites, kept_.overwrites, of.overwrites, gone);
  UndoNumbers(kept.fetched, of.fetched);
  UndoNumbers(kept.own, of.own);
}

void Emitter::Undo() {
  for (size_t i = kept_.versions.size(); i > 0; --i) {
    arrays_.versions[kept_.versions[i - 1].first] = kept_.versions[i - 1].second;
  }
  for (size_t i = kept_.blocks.size(); i > 0; --i) UndoBlock(kept_.blocks[i - 1]);
  arrays_.reads.resize(kept_.reads);
  arrays_.made.resize(kept_.made);
  arrays_.written.resize(kept_.written);
  arrays_.members.resize(kept_.members);
  // Their blocks have them again.
  kept_.unused_ops.clear();
  kept_.unused_collectives.clear();
  kept_.unused = {};
  Record();
  recording_ = false;
}

namespace {

// The rows of all blocks one behind the other, once those of `changed` blocks, which ascend, have become others.
// `start`: of each block, and the end.
template <class Item, class RowOf>
void RenewRows(const std::vector<int32_t>& changed, const RowOf& row_of,
               std::vector<int32_t>& start, std::vector<Item>& items) {
  std::vector<Item> before;
  before.swap(items);
  items.reserve(before.size());
  int32_t shift = 0;
  size_t place = 0;
  const auto keep_up_to = [&](size_t end) {
    items.insert(items.end(), before.begin() + start[place], before.begin() + start[end]);
    for (; place <= end; ++place) start[place] += shift;
  };
  for (const int32_t one : changed) {
    const size_t at = static_cast<size_t>(one);
    const int32_t gone = start[at + 1] - start[at];
    keep_up_to(at);  // place is now behind it
    const std::span<const Item> row = row_of(at);
    items.insert(items.end(), row.begin(), row.end());
    shift += static_cast<int32_t>(row.size()) - gone;
  }
  keep_up_to(start.size() - 1);
}

}  // namespace

// Of nearly all blocks it is what it was.
void Emitter::SetOrder() {
  arrays_.after.clear();
  arrays_.holds.clear();
  if (order_start_.size() != blocks_.size() + 1) {
    arrays_.order.clear();
    arrays_.inputs.clear();
    arrays_.joined.clear();
    for (auto* const start : {&order_start_, &inputs_start_, &joined_start_}) {
      start->assign(blocks_.size() + 1, 0);
    }
    changed_.resize(blocks_.size());
    std::iota(changed_.begin(), changed_.end(), 0);
  }
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  RenewRows(
      changed_, [&](size_t at) { return std::span<const OpId>(blocks_[at].ops); }, order_start_,
      arrays_.order);
  RenewRows(
      changed_, [&](size_t at) { return std::span<const CollectiveId>(blocks_[at].collectives); },
      joined_start_, arrays_.joined);
  // Inputs that ops read stand before the step's own: nothing depends on their order.
  const auto inputs = [&](size_t at) {
    const bool any = at <= original_.tensor_count();
    return any ? std::span<const StorageId>(blocks_[at].own.storages)
               : std::span<const StorageId>();
  };
  RenewRows(changed_, inputs, inputs_start_, arrays_.inputs);
  changed_.clear();
  SetAfter();
  SetHolds();
}

// An instance holds the pieces on its device; of those that are fetched readers have copies.
void Emitter::SetHolds() {
  if (held_.items.empty()) return;
  const auto place_of = [&](OpId op) { return original_.tensor_count() + 1 + op.index(); };
  IdVector<DeviceId, OpId> holder(cluster().device_count());
  for (const OpId op : original_.ops()) {
    if (held_[op].empty()) continue;
    const size_t place = place_of(op);
    for (const OpId id : blocks_[place].ops) {
      const ArrayOp& instance = arrays_.ops[id];
      const bool runs = instance.IsInstance() && !instance.is_view && !instance.collective.valid();
      if (runs && instance.origin == op) holder[instance.device] = id;
    }
    for (const TensorId held : held_[op]) {
      for (const TensorId id : blocks_[place_of(original_.tensor(held).producer)].own.tensors) {
        const StorageId storage = arrays_.tensors[id].storage;
        const ArrayStorage& piece = arrays_.storages[storage];
        if (piece.original != original_.tensor(held).storage || !piece.device.valid()) continue;
        if (arrays_.ops[arrays_.tensors[id].producer].collective.valid()) continue;
        const OpId by = holder[piece.device];
        if (!by.valid()) continue;
        arrays_.holds.push_back(
            {by, {id, arrays_.NewestAt(storage, static_cast<int32_t>(place) - 1)}});
      }
    }
    for (const OpId id : blocks_[place].ops) holder[arrays_.ops[id].device] = OpId();
  }
}

// What states an order: the first op of each of its instances waits for all of those that it states. One that is
// computed again waits for those on its own device, where there are some: else devices that share nothing would wait
// for one another. So does what is copied to the host and back, of which the device's own part counts.
void Emitter::SetAfter() {
  using ByDevice = std::vector<std::vector<OpId>>;
  const auto device_of = [&](const std::vector<OpId>& row) {
    return arrays_.ops[row.front()].device;
  };
  const auto is_of = [&](const ArrayOp& instance, OpId op, HostCopy copy) {
    if (copy == HostCopy::kNone) return instance.origin == op && instance.IsInstance();
    const bool reads = instance.reads.begin != instance.reads.end;
    return reads == (copy == HostCopy::kToHost);
  };
  const auto instances_of = [&](OpId op) {
    ByDevice by_device;
    std::map<DeviceId, size_t> rows;
    const HostCopy copy = HostCopyOf(original_.op(op));
    for (const OpId id : blocks_[original_.tensor_count() + 1 + op.index()].ops) {
      const ArrayOp& instance = arrays_.ops[id];
      if (!is_of(instance, op, copy)) continue;
      const size_t row = rows.emplace(instance.device, rows.size()).first->second;
      by_device.resize(rows.size());
      by_device[row].push_back(id);
    }
    return by_device;
  };
  for (const auto& [op, beside] : ordered_) {
    std::vector<std::pair<ByDevice, bool>> earlier;
    for (const OpId stated : original_.op(op).after) {
      const bool copied = HostCopyOf(original_.op(stated)) != HostCopy::kNone;
      earlier.emplace_back(instances_of(stated), beside || copied);
    }
    for (const std::vector<OpId>& later : instances_of(op)) {
      const auto is_beside = [&](const std::vector<OpId>& row) {
        return device_of(row) == device_of(later);
      };
      for (const auto& [stated, of_device] : earlier) {
        const bool own = of_device && std::any_of(stated.begin(), stated.end(), is_beside);
        for (const std::vector<OpId>& row : stated) {
          if (own && !is_beside(row)) continue;
          for (const OpId one : row) arrays_.after.emplace_back(one, later.front());
        }
      }
    }
  }
}

}  // namespace placewright
