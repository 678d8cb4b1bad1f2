#include "compile/rewrites/fuse_all_reduces.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "compile/emitter.h"
#include "compile/rewrites/buckets.h"

namespace placewright {
namespace {

constexpr std::string_view kSumType = "placewright.all_reduce.default";

class Fuser {
 public:
  Fuser(const PartPrices& prices, ArrayWriter& writer, ArrayChanges& changes)
      : prices_(prices),
        emitter_(writer.emitter()),
        arrays_(writer.arrays()),
        changes_(changes),
        readers_(arrays_),
        place_(arrays_.ops.size(), -1) {
    for (size_t i = 0; i < arrays_.order.size(); ++i) {
      place_[arrays_.order[i].index()] = static_cast<int32_t>(i);
    }
  }

  void Fuse(Bytes limit) {
    std::vector<GradientSum> sums;
    for (const CollectiveId id : arrays_.joined) {
      const std::span<const OpId> members = arrays_.MembersOf(arrays_.collectives[id]);
      const ArrayOp& first = arrays_.ops[members.front()];
      if (prices_.part(first.part).op.type == kSumType && IsOfUpdate(first)) {
        sums.push_back(SumOf(id, members));
      }
    }
    const bool together = limit == kAllTogether;
    if (together) FindLastGradients(sums);
    const std::vector<SumBucket> buckets = FormBuckets(sums, limit);
    if (buckets.empty() && !together) return;
    changes_.KeepOrder();
    const std::vector<OpId> before = arrays_.order;
    moved_.assign(arrays_.storages.size(), ArrayTensor());
    sum_version_.assign(arrays_.versions.size(), ArrayVersionId());
    std::vector<std::vector<OpId>> added(before.size());
    for (const SumBucket& bucket : buckets) {
      const CollectiveId made = AddBucket(bucket, added[static_cast<size_t>(bucket.at)]);
      if (together) WaitForLast(made, bucket.sums, bucket.at);
    }
    for (const GradientSum& one : sums) {
      const auto& joined = arrays_.joined;
      const bool alone = std::find(joined.begin(), joined.end(), one.id) != joined.end();
      if (together && alone) WaitForLast(one.id, std::span(&one, 1), one.first);
    }
    arrays_.order.clear();
    for (size_t i = 0; i < before.size(); ++i) {
      arrays_.order.insert(arrays_.order.end(), added[i].begin(), added[i].end());
      if (!gone_.contains(before[i])) arrays_.order.push_back(before[i]);
    }
    MoveSums();
    if (!written_.empty()) MoveWrites();
  }

 private:
  int32_t PlaceOf(OpId op) const { return op.valid() ? place_[op.index()] : -1; }

  // Whether nothing but the update waits for the sum, perhaps through views: other sums, such as those of
  // batch norms, would wait for gradients that have nothing to do with them.
  bool IsOfUpdate(const ArrayOp& op) const {
    bool any = false;
    for (const TensorId made : arrays_.MadeBy(op)) {
      for (const OpId id : readers_.Of(made)) {
        any = true;
        const ArrayOp& reader = arrays_.ops[id];
        if (reader.phase == Phase::kOptimizer || (reader.is_view && IsOfUpdate(reader))) continue;
        return false;
      }
    }
    return any;
  }

  GradientSum SumOf(CollectiveId id, std::span<const OpId> members) const {
    GradientSum one{id, -1, PlaceOf(members.front()), Bytes(), DType::kF32, {}};
    one.dtype = TypeOf(members.front()).dtype;
    for (const OpId member : members) {
      const ArrayRead& read = arrays_.ReadsOf(arrays_.ops[member]).front();
      one.first = std::min(one.first, PlaceOf(member));
      one.ready = std::max({one.ready, PlaceOf(arrays_.tensors[read.tensor].producer),
                            PlaceOf(arrays_.versions[read.version].writer)});
      one.bytes = std::max(one.bytes, TypeOf(member).bytes);
    }
    one.devices = arrays_.DevicesOf(arrays_.collectives[id]);
    return one;
  }

  // Of what a member makes.
  const PartType& TypeOf(OpId member) const {
    return prices_.type(arrays_.tensors[arrays_.MadeBy(arrays_.ops[member]).front()].type);
  }
  static int64_t ElementsOf(const PartType& type) {
    int64_t count = 1;
    for (const int64_t size : type.shape) count *= size;
    return count;
  }

  // Pack, reduce and a view for each tensor, on one device after the other.
  CollectiveId AddBucket(const SumBucket& bucket, std::vector<OpId>& added) {
    added_ = &added;
    std::vector<OpId> joined;
    const ArrayCollective& first = arrays_.collectives[bucket.sums.front().id];
    const int32_t over = first.over;
    const size_t count = arrays_.MembersOf(first).size();
    for (size_t m = 0; m < count; ++m) {
      std::vector<OpId> members;
      for (const GradientSum& one : bucket.sums) {
        members.push_back(arrays_.MembersOf(arrays_.collectives[one.id])[m]);
      }
      joined.push_back(AddMember(members));
      gone_.insert(members.begin(), members.end());
    }
    for (const GradientSum& one : bucket.sums) std::erase(arrays_.joined, one.id);
    arrays_.joined.push_back(JoinedAs(joined));
    arrays_.collectives[arrays_.joined.back()].over = over;
    return arrays_.joined.back();
  }

  // By device, what makes the last of all that the sums read.
  void FindLastGradients(const std::vector<GradientSum>& sums) {
    for (const GradientSum& one : sums) {
      for (const OpId member : arrays_.MembersOf(arrays_.collectives[one.id])) {
        const ArrayOp& op = arrays_.ops[member];
        const ArrayRead& read = arrays_.ReadsOf(op).front();
        LastGradient& last = last_gradient_[op.device];
        for (const OpId maker :
             {arrays_.tensors[read.tensor].producer, arrays_.versions[read.version].writer}) {
          if (PlaceOf(maker) > PlaceOf(last.maker)) last = {maker, one.id};
        }
      }
    }
  }

  // `sums`: what the collective is of; its first member stood at this place before there were buckets.
  void WaitForLast(CollectiveId id, std::span<const GradientSum> sums, int32_t at) {
    for (const OpId member : arrays_.MembersOf(arrays_.collectives[id])) {
      const LastGradient& last = last_gradient_[arrays_.ops[member].device];
      const bool own = std::any_of(sums.begin(), sums.end(),
                                   [&](const GradientSum& one) { return one.id == last.sum; });
      if (!own && last.maker.valid() && PlaceOf(last.maker) < at) {
        arrays_.after.emplace_back(last.maker, member);
      }
    }
  }

  CollectiveId JoinedAs(const std::vector<OpId>& ops) {
    std::vector<Emitter::Member> members;
    for (const OpId op : ops) members.push_back({op, arrays_.ops[op].device});
    emitter_.Join(members);
    return arrays_.ops[ops.front()].collective;
  }

  OpId AddMember(const std::vector<OpId>& members) {
    std::vector<ArrayRead> reads;
    std::vector<TensorId> inputs;
    int64_t length = 0;
    for (const OpId member : members) {
      reads.push_back(arrays_.ReadsOf(arrays_.ops[member]).front());
      inputs.push_back(reads.back().tensor);
      length += ElementsOf(TypeOf(member));
    }
    const DeviceId device = arrays_.ops[members.front()].device;
    const TensorId like = arrays_.MadeBy(arrays_.ops[members.front()]).front();
    const TensorId packed =
        emitter_.AddLike("placewright.pack.default", inputs, {Value(References(inputs.size()))},
                         {length}, like, device);
    added_->push_back(emitter_.last());
    // At the versions that their own all-reduces read.
    const ArrayRow row = arrays_.ops[emitter_.last()].reads;
    std::copy(reads.begin(), reads.end(), arrays_.reads.begin() + row.begin);
    const TensorId sum =
        emitter_.AddLike(kSumType, {packed}, References(1), {length}, like, device);
    const OpId made = emitter_.last();
    added_->push_back(made);
    int64_t from = 0;
    for (const OpId member : members) {
      AddView(member, sum, from);
      from += ElementsOf(TypeOf(member));
    }
    return made;
  }

  // What the member made is where the view is.
  void AddView(OpId member, TensorId sum, int64_t from) {
    const TensorId tensor = arrays_.MadeBy(arrays_.ops[member]).front();
    const PartType type = TypeOf(member);
    OpSpec spec;
    spec.type = "placewright.unpack.default";
    spec.inputs = {sum};
    spec.args = {Value(InputRef{0}), Value(from), IntegerList(type.shape)};
    spec.outputs = {{.dtype = type.dtype, .shape = type.shape}};
    spec.outputs[0].alias = AliasKind::kView;
    spec.outputs[0].alias_of = 0;
    const TensorId view = emitter_.AddView(std::move(spec), tensor, arrays_.ops[member].device);
    added_->push_back(emitter_.last());
    arrays_.made[static_cast<size_t>(arrays_.ops[emitter_.last()].made.begin)] = tensor;
    const ArrayStorage& storage = arrays_.storages[arrays_.tensors[tensor].storage];
    const StorageId buffer = arrays_.tensors[sum].storage;
    moved_[arrays_.tensors[tensor].storage.index()] = arrays_.tensors[view];
    sum_version_[storage.first.index()] = arrays_.storages[buffer].first;
    if (arrays_.versions[storage.first].next.valid()) {
      written_[buffer] = arrays_.storages[buffer].first;
    }
    changes_.Change(tensor) = arrays_.tensors[view];
  }

  // All tensors of a storage that became a part of a buffer, and what reads them.
  void MoveSums() {
    for (const TensorId id : IdRange<TensorId>(arrays_.tensors.size())) {
      const StorageId storage = arrays_.tensors[id].storage;
      if (!IsMoved(storage)) continue;
      const ArrayTensor& of = moved_[storage.index()];
      ArrayTensor& tensor = changes_.Change(id);
      tensor.storage = of.storage;
      tensor.inexact = tensor.inexact || of.inexact;
      tensor.offset = of.inexact ? of.offset : of.offset + tensor.offset;
      if (of.inexact) tensor.length = of.length;
    }
    for (size_t row = 0; row < arrays_.reads.size(); ++row) {
      const ArrayVersionId version = arrays_.reads[row].version;
      if (version.index() >= sum_version_.size() || !sum_version_[version.index()].valid())
        continue;
      changes_.ChangeRead(row).version = sum_version_[version.index()];
    }
  }

  bool IsMoved(StorageId storage) const {
    return storage.valid() && storage.index() < moved_.size() &&
           moved_[storage.index()].storage.valid();
  }

  // What is written to a sum in place is written to its buffer: one content of it after the other, whichever sums
  // they are of, in the order of the ops.
  void MoveWrites() {
    for (const OpId id : arrays_.order) {
      const ArrayOp& op = arrays_.ops[id];
      for (auto row = static_cast<size_t>(op.reads.begin); row < static_cast<size_t>(op.reads.end);
           ++row) {
        const auto newest = written_.find(arrays_.tensors[arrays_.reads[row].tensor].storage);
        if (newest != written_.end()) changes_.ChangeRead(row).version = newest->second;
      }
      const std::span<const ArrayVersionId> versions = arrays_.WrittenBy(op);
      if (std::any_of(versions.begin(), versions.end(), [&](ArrayVersionId version) {
            return IsMoved(arrays_.versions[version].storage);
          })) {
        MoveWritesOf(id);
      }
    }
  }

  // An op that writes several sums of a buffer makes one content of it.
  void MoveWritesOf(OpId id) {
    const std::span<const ArrayVersionId> row = arrays_.WrittenBy(arrays_.ops[id]);
    std::vector<ArrayVersionId> kept;
    for (const ArrayVersionId version : std::vector<ArrayVersionId>(row.begin(), row.end())) {
      const StorageId storage = arrays_.versions[version].storage;
      if (IsMoved(storage)) {
        const StorageId buffer = moved_[storage.index()].storage;
        ArrayVersionId& newest = written_.at(buffer);
        if (arrays_.versions[newest].writer == id) continue;
        changes_.Change(newest).next = version;
        newest = version;
        changes_.Change(version).next = ArrayVersionId();
        arrays_.versions[version].storage = buffer;
      }
      kept.push_back(version);
    }
    const auto begin = static_cast<int32_t>(arrays_.written.size());
    arrays_.written.insert(arrays_.written.end(), kept.begin(), kept.end());
    changes_.Change(id).written = {begin, static_cast<int32_t>(arrays_.written.size())};
  }

  const PartPrices& prices_;
  Emitter& emitter_;
  StepArrays& arrays_;
  ArrayChanges& changes_;
  const ArrayReaders readers_;
  std::vector<OpId>* added_ = nullptr;  // ops of the bucket that is being made
  std::vector<int32_t> place_;          // by op, in the order
  struct LastGradient {
    OpId maker;
    CollectiveId sum;
  };
  std::map<DeviceId, LastGradient> last_gradient_;  // where all are reduced together
  std::set<OpId> gone_;                             // members of sums that have been joined
  std::vector<ArrayTensor> moved_;  // by storage: where what was there is now; or no storage
  std::vector<ArrayVersionId> sum_version_;  // by version
  std::map<StorageId, ArrayVersionId>
      written_;  // of buffers with sums that are written in place: the newest content
};

}  // namespace

void FuseAllReduces(Bytes limit, const PartPrices& prices, ArrayWriter& writer,
                    ArrayChanges& changes) {
  Fuser(prices, writer, changes).Fuse(limit);
}

}  // namespace placewright
