#include "compile/array_passes.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "compile/array_emitter.h"
#include "compile/rewrites/buckets.h"
#include "compile/step_costs.h"

namespace placewright {
namespace {

constexpr std::string_view kSumType = "placewright.all_reduce.default";

// Who reads each tensor, in the order of the ops.
class ArrayReaders {
 public:
  explicit ArrayReaders(const StepArrays& arrays) : first_(arrays.tensors.size() + 1, 0) {
    for (const OpId op : arrays.order) {
      for (const ArrayRead& read : arrays.ReadsOf(arrays.ops[op]))
        ++first_[read.tensor.index() + 1];
    }
    for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    readers_.resize(static_cast<size_t>(first_.back()));
    std::vector<int32_t> next(first_.begin(), first_.end());
    for (const OpId op : arrays.order) {
      for (const ArrayRead& read : arrays.ReadsOf(arrays.ops[op])) {
        readers_[static_cast<size_t>(next[read.tensor.index()]++)] = op;
      }
    }
  }

  std::span<const OpId> Of(TensorId tensor) const {
    return std::span(readers_).subspan(
        static_cast<size_t>(first_[tensor.index()]),
        static_cast<size_t>(first_[tensor.index() + 1] - first_[tensor.index()]));
  }

 private:
  std::vector<int32_t> first_;
  std::vector<OpId> readers_;
};

class ArraySeparator {
 public:
  ArraySeparator(const PartPrices& prices, ArrayWriter& writer, ArrayChanges& changes)
      : prices_(prices),
        emitter_(writer.emitter()),
        arrays_(writer.arrays()),
        changes_(changes),
        readers_(arrays_) {}

  bool Separate() {
    std::vector<std::pair<OpId, OpId>> instances;  // by origin
    for (const OpId op : arrays_.order) {
      if (MakesBoth(arrays_.ops[op])) instances.emplace_back(arrays_.ops[op].origin, op);
    }
    std::stable_sort(instances.begin(), instances.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<OpId> second(arrays_.ops.size());
    bool any = false;
    for (size_t i = 0; i < instances.size();) {
      size_t end = i;
      while (end < instances.size() && instances[end].first == instances[i].first) ++end;
      const std::span<const std::pair<OpId, OpId>> all(instances.data() + i, end - i);
      i = end;
      const bool input = AnyLeaves(all, true), others = AnyLeaves(all, false);
      if (all.size() < 2 || input == others) continue;
      for (const auto& [origin, op] : all) second[op.index()] = Split(op, input);
      any = true;
    }
    if (any) Reorder(second);
    return any;
  }

 private:
  bool MakesBoth(const ArrayOp& op) const {
    return op.origin.valid() && prices_.part(op.part).separable;
  }
  int32_t ResultOf(const ArrayOp& op, size_t output) const {
    const int32_t stated = prices_.part(op.part).outputs[output].output_index;
    return stated >= 0 ? stated : static_cast<int32_t>(output);
  }

  bool AnyLeaves(std::span<const std::pair<OpId, OpId>> instances, bool input) const {
    return std::any_of(instances.begin(), instances.end(), [&](const auto& instance) {
      const ArrayOp& op = arrays_.ops[instance.second];
      const std::span<const TensorId> made = arrays_.MadeBy(op);
      for (size_t i = 0; i < made.size(); ++i) {
        if ((ResultOf(op, i) == 0) == input && IsSent(made[i], op.device)) return true;
      }
      return false;
    });
  }

  // As rewrites/separate_gradients.cc has it.
  bool IsSent(TensorId tensor, DeviceId device) const {
    for (const OpId id : readers_.Of(tensor)) {
      const ArrayOp& reader = arrays_.ops[id];
      if (reader.collective.valid() || reader.device != device) return true;
      if (!prices_.part(reader.part).passes_on) continue;
      for (const TensorId output : arrays_.MadeBy(reader)) {
        if (IsSent(output, device)) return true;
      }
    }
    return false;
  }

  // The op keeps what comes first; returns one for the rest.
  OpId Split(OpId id, bool input_first) {
    const ArrayOp whole = arrays_.ops[id];
    const std::span<const TensorId> made = arrays_.MadeBy(whole);
    // Results stand in the operator's order: the gradient of the input is the first.
    const int32_t inputs = ResultOf(whole, 0) == 0 ? 1 : 0;
    const int32_t count = static_cast<int32_t>(made.size());
    ArrayOp first = whole, rest = whole;
    const auto take = [&](ArrayOp& op, int32_t from, int32_t to) {
      op.made = {whole.made.begin + from, whole.made.begin + to};
      op.written = {whole.written.begin + from, whole.written.begin + to};
    };
    take(first, input_first ? 0 : inputs, input_first ? inputs : count);
    take(rest, input_first ? inputs : 0, input_first ? count : inputs);
    const PartFlops& flops = prices_.flops(whole.part);
    first.share = rest.share = input_first ? ShareOfFirst(flops.input, flops.rest)
                                           : ShareOfFirst(flops.rest, flops.input);
    first.half = ArrayHalf::kFirst;
    rest.half = ArrayHalf::kSecond;
    changes_.Change(id) = first;
    const OpId added = emitter_.AddCopyOf(id);
    arrays_.ops[added] = rest;
    for (const TensorId tensor : arrays_.MadeBy(rest)) changes_.Change(tensor).producer = added;
    for (const ArrayVersionId version : arrays_.WrittenBy(rest)) {
      changes_.Change(version).writer = added;
    }
    arrays_.after.emplace_back(id, added);
    return added;
  }

  void Reorder(const std::vector<OpId>& second) {
    changes_.KeepOrder();
    std::vector<OpId> order;
    order.reserve(arrays_.ops.size());
    for (const OpId op : arrays_.order) {
      order.push_back(op);
      if (op.index() < second.size() && second[op.index()].valid()) {
        order.push_back(second[op.index()]);
      }
    }
    arrays_.order = std::move(order);
  }

  const PartPrices& prices_;
  ArrayEmitter& emitter_;
  StepArrays& arrays_;
  ArrayChanges& changes_;
  const ArrayReaders readers_;
};

class ArrayFuser {
 public:
  ArrayFuser(const PartPrices& prices, ArrayWriter& writer, ArrayChanges& changes)
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

  bool Fuse(Bytes limit) {
    std::vector<GradientSum> sums;
    for (const CollectiveId id : arrays_.joined) {
      const std::span<const OpId> members = arrays_.MembersOf(arrays_.collectives[id]);
      const ArrayOp& first = arrays_.ops[members.front()];
      if (prices_.part(first.part).op.type == kSumType && IsOfUpdate(first)) {
        sums.push_back(SumOf(id, members));
      }
    }
    const std::vector<SumBucket> buckets = FormBuckets(std::move(sums), limit);
    for (const SumBucket& bucket : buckets) {
      for (const GradientSum& one : bucket.sums) {
        for (const OpId member : arrays_.MembersOf(arrays_.collectives[one.id])) {
          const TensorId sum = arrays_.MadeBy(arrays_.ops[member]).front();
          const ArrayStorage& storage = arrays_.storages[arrays_.tensors[sum].storage];
          if (arrays_.versions[storage.first].next.valid()) return false;
        }
      }
    }
    if (buckets.empty()) return true;
    changes_.KeepOrder();
    const std::vector<OpId> before = arrays_.order;
    moved_.assign(arrays_.storages.size(), TensorId());
    sum_version_.assign(arrays_.versions.size(), ArrayVersionId());
    std::vector<std::vector<OpId>> added(before.size());
    for (const SumBucket& bucket : buckets)
      AddBucket(bucket, added[static_cast<size_t>(bucket.at)]);
    arrays_.order.clear();
    for (size_t i = 0; i < before.size(); ++i) {
      arrays_.order.insert(arrays_.order.end(), added[i].begin(), added[i].end());
      if (!gone_.contains(before[i])) arrays_.order.push_back(before[i]);
    }
    MoveSums();
    return true;
  }

 private:
  int32_t PlaceOf(OpId op) const { return op.valid() ? place_[op.index()] : -1; }

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
      one.devices.push_back(arrays_.ops[member].device);
    }
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
  void AddBucket(const SumBucket& bucket, std::vector<OpId>& added) {
    added_ = &added;
    std::vector<OpId> joined;
    const size_t devices = bucket.sums.front().devices.size();
    for (size_t m = 0; m < devices; ++m) {
      std::vector<OpId> members;
      for (const GradientSum& one : bucket.sums) {
        members.push_back(arrays_.MembersOf(arrays_.collectives[one.id])[m]);
      }
      joined.push_back(AddMember(members));
      gone_.insert(members.begin(), members.end());
    }
    for (const GradientSum& one : bucket.sums) std::erase(arrays_.joined, one.id);
    arrays_.joined.push_back(JoinedAs(std::move(joined)));
  }

  CollectiveId JoinedAs(std::vector<OpId> members) {
    const OpId first = members.front();
    (void)emitter_.Join(std::move(members));
    return arrays_.ops[first].collective;
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
    const TensorId packed = emitter_
                                .AddLike("placewright.pack.default", inputs,
                                         {Value(References(inputs.size()))}, {length}, like, device)
                                .Take();
    added_->push_back(emitter_.last());
    // At the versions that their own all-reduces read.
    const ArrayRow row = arrays_.ops[emitter_.last()].reads;
    std::copy(reads.begin(), reads.end(), arrays_.reads.begin() + row.begin);
    const TensorId sum =
        emitter_.AddLike(kSumType, {packed}, References(1), {length}, packed, device).Take();
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
    const StorageId storage = arrays_.tensors[tensor].storage;
    moved_[storage.index()] = view;
    sum_version_[arrays_.storages[storage].first.index()] =
        arrays_.storages[arrays_.tensors[sum].storage].first;
  }

  // All tensors of a storage that became a part of a buffer, and what reads them.
  void MoveSums() {
    for (const TensorId id : IdRange<TensorId>(arrays_.tensors.size())) {
      const StorageId storage = arrays_.tensors[id].storage;
      if (!storage.valid() || storage.index() >= moved_.size()) continue;
      const TensorId view = moved_[storage.index()];
      if (!view.valid()) continue;
      const ArrayTensor of = arrays_.tensors[view];
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

  const PartPrices& prices_;
  ArrayEmitter& emitter_;
  StepArrays& arrays_;
  ArrayChanges& changes_;
  const ArrayReaders readers_;
  std::vector<OpId>* added_ = nullptr;       // ops of the bucket that is being made
  std::vector<int32_t> place_;               // by op, in the order
  std::set<OpId> gone_;                      // members of sums that have been joined
  std::vector<TensorId> moved_;              // by storage: the view that shows what was there
  std::vector<ArrayVersionId> sum_version_;  // by version
};

}  // namespace

ArrayChanges::ArrayChanges(ArrayWriter& writer)
    : writer_(writer),
      arrays_(writer.arrays()),
      reads_before_(arrays_.reads.size()),
      made_before_(arrays_.made.size()),
      written_before_(arrays_.written.size()),
      members_before_(arrays_.members.size()),
      after_before_(arrays_.after.size()) {
  writer_.emitter().Begin(writer_.place_behind());
}

ArrayChanges::~ArrayChanges() {
  writer_.emitter().End();
  const auto take_back = [](const auto& kept, auto& items) {
    for (size_t i = kept.size(); i > 0; --i) items[kept[i - 1].first] = kept[i - 1].second;
  };
  take_back(ops_, arrays_.ops);
  take_back(tensors_, arrays_.tensors);
  take_back(versions_, arrays_.versions);
  take_back(reads_, arrays_.reads);
  arrays_.reads.resize(reads_before_);
  arrays_.made.resize(made_before_);
  arrays_.written.resize(written_before_);
  arrays_.members.resize(members_before_);
  arrays_.after.resize(after_before_);
  if (order_kept_) {
    arrays_.order = std::move(order_);
    arrays_.joined = std::move(joined_);
  }
  writer_.emitter().Begin(writer_.place_behind());
  writer_.emitter().End();
}

void ArrayChanges::KeepOrder() {
  if (order_kept_) return;
  order_ = arrays_.order;
  joined_ = arrays_.joined;
  order_kept_ = true;
}

bool SeparateGradients(const PartPrices& prices, ArrayWriter& writer, ArrayChanges& changes) {
  return ArraySeparator(prices, writer, changes).Separate();
}

bool FuseAllReduces(Bytes limit, const PartPrices& prices, ArrayWriter& writer,
                    ArrayChanges& changes) {
  return ArrayFuser(prices, writer, changes).Fuse(limit);
}

}  // namespace placewright
