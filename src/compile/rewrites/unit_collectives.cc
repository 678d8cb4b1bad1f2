#include "compile/rewrites/unit_collectives.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "compile/emitter.h"
#include "compile/rewrites/fetch_units.h"
#include "compile/rewrites/gradient_readers.h"
#include "compile/rewrites/unit_order.h"
#include "graph/ownership/module_path.h"
#include "transforms/accumulate.h"
#include "transforms/precision.h"

namespace placewright {
namespace {

class Joiner {
 public:
  Joiner(const Graph& original, const PartPrices& prices, ArrayWriter& writer,
         ArrayChanges& changes)
      : original_(original),
        prices_(prices),
        emitter_(writer.emitter()),
        arrays_(writer.arrays()),
        changes_(changes) {}

  void Join() {
    changes_.KeepOrder();
    JoinAll(FindGathers());
    JoinAll(FindSums(CollectiveKind::kReduceScatter));
    JoinAll(FindSums(CollectiveKind::kAllReduce));  // of what was scattered, too
  }

 private:
  // What collectives that become one have in common, as far as their members say it.
  using Likeness = std::tuple<CollectiveKind, int32_t, std::vector<DeviceId>, DType>;

  Likeness LikenessOf(CollectiveId id) const {
    const ArrayCollective& one = arrays_.collectives[id];
    std::vector<DeviceId> devices;
    for (const OpId member : arrays_.MembersOf(one)) devices.push_back(arrays_.ops[member].device);
    const ArrayOp& first = arrays_.ops[arrays_.MembersOf(one).front()];
    const TensorId made = arrays_.MadeBy(first).front();
    return {one.request.kind, one.over, std::move(devices),
            prices_.type(arrays_.tensors[made].type).dtype};
  }

  // Of those in `ids`, in their order, each with others that are like it.
  void AddUnits(std::span<const CollectiveId> ids, bool gathers, int32_t turn,
                std::vector<CollectiveUnit>& units) const {
    std::map<Likeness, size_t> known;
    std::vector<CollectiveUnit> own;
    for (const CollectiveId id : ids) {
      const auto [at, fresh] = known.emplace(LikenessOf(id), own.size());
      if (fresh) own.push_back({{}, gathers, turn});
      own[at->second].of.push_back(id);
    }
    for (CollectiveUnit& unit : own) {
      if (unit.of.size() > 1) units.push_back(std::move(unit));
    }
  }

  // An order stated beside edges is of the ops themselves.
  std::set<OpId> OrderedOps() const {
    std::set<OpId> ordered;
    for (const auto& [earlier, later] : arrays_.after) ordered.insert({earlier, later});
    return ordered;
  }

  std::vector<CollectiveUnit> FindGathers() const {
    const std::set<OpId> ordered = OrderedOps();
    const auto may_join = [&](CollectiveId id) {
      const ArrayCollective& one = arrays_.collectives[id];
      const std::span<const OpId> members = arrays_.MembersOf(one);
      return one.request.kind == CollectiveKind::kAllGather &&
             std::all_of(members.begin(), members.end(), [&](OpId member) {
               const ArrayRead& read = arrays_.ReadsOf(arrays_.ops[member]).front();
               const OpId maker = arrays_.tensors[read.tensor].producer;
               const bool early = !maker.valid() || MayStandEarlier(arrays_, maker);
               return early && !ordered.contains(member);
             });
    };
    const FetchUnits found(original_, arrays_);
    std::vector<CollectiveUnit> units;
    for (const FetchUnits::Unit& unit : found.units()) {
      std::vector<CollectiveId> ids;
      for (size_t i = unit.begin; i < unit.end; ++i) {
        const CollectiveId id = found.fetches()[i].id;
        if (may_join(id)) ids.push_back(id);
      }
      AddUnits(ids, /*gathers=*/true, /*turn=*/-1, units);
    }
    return units;
  }

  struct GradientSum {
    CollectiveId id;
    int32_t ready = -1;  // place of the last op that makes what it reads
    std::string_view layer;
    int32_t micro_batch = 0;
  };

  // Those of a layer and a micro-batch that get ready one after the other.
  std::vector<CollectiveUnit> FindSums(CollectiveKind kind) const {
    const std::set<OpId> ordered = OrderedOps();
    const ArrayReaders readers(arrays_);
    IdVector<OpId, int32_t> place(arrays_.ops.size(), -1);
    for (size_t i = 0; i < arrays_.order.size(); ++i) {
      place[arrays_.order[i]] = static_cast<int32_t>(i);
    }
    std::vector<GradientSum> sums;
    for (const CollectiveId id : arrays_.joined) {
      const ArrayCollective& one = arrays_.collectives[id];
      if (one.request.kind != kind) continue;
      const std::span<const OpId> members = arrays_.MembersOf(one);
      const ArrayOp& first = arrays_.ops[members.front()];
      const bool stays = std::any_of(members.begin(), members.end(),
                                     [&](OpId member) { return ordered.contains(member); });
      if (stays || !IsReadByUpdate(original_, arrays_, readers, first)) continue;
      GradientSum sum{id};
      if (!FindMaker(first, sum)) continue;
      for (const OpId member : members) {
        const ArrayRead& read = arrays_.ReadsOf(arrays_.ops[member]).front();
        for (const OpId maker :
             {arrays_.tensors[read.tensor].producer, arrays_.versions[read.version].writer}) {
          if (maker.valid()) sum.ready = std::max(sum.ready, place[maker]);
        }
      }
      sums.push_back(sum);
    }
    std::stable_sort(sums.begin(), sums.end(),
                     [](const auto& a, const auto& b) { return a.ready < b.ready; });
    std::vector<CollectiveUnit> units;
    int32_t turn = 0;
    for (size_t begin = 0, end = 0; begin < sums.size(); begin = end) {
      std::vector<CollectiveId> ids;
      for (; end < sums.size() && sums[end].layer == sums[begin].layer &&
             sums[end].micro_batch == sums[begin].micro_batch;
           ++end) {
        ids.push_back(sums[end].id);
      }
      const bool added_up = IsAddedUp(sums[begin].id, readers);
      AddUnits(ids, /*gathers=*/false, added_up ? turn++ : -1, units);
    }
    return units;
  }

  // Whether a sum over micro-batches reads it.
  bool IsAddedUp(CollectiveId id, const ArrayReaders& readers) const {
    const OpId member = arrays_.MembersOf(arrays_.collectives[id]).front();
    for (const TensorId made : arrays_.MadeBy(arrays_.ops[member])) {
      for (const OpId reader : readers.Of(made)) {
        const OpId origin = arrays_.ops[reader].origin;
        if (origin.valid() && IsMicroBatchSum(original_.op(origin))) return true;
      }
    }
    return false;
  }

  // In which layer, and of which micro-batch, the gradient was made: looked for through what moves it, casts it and adds it
  // up. False: no op of the step made it, or one of no backward pass.
  bool FindMaker(const ArrayOp& member, GradientSum& sum) const {
    const ArrayOp* op = &member;
    bool first = true;
    while (op->reads.begin != op->reads.end) {
      const OpId maker = arrays_.tensors[arrays_.ReadsOf(*op).front().tensor].producer;
      if (!maker.valid()) return false;
      op = &arrays_.ops[maker];
      if (!op->origin.valid()) continue;
      const Op& of = original_.op(op->origin);
      if (std::exchange(first, false)) sum.micro_batch = MicroBatchOf(of);
      if (op->is_view || IsMicroBatchSum(of) || IsGradientCast(of)) continue;
      sum.layer = LayerOf(original_.module_path(of.module));
      return op->phase == Phase::kBackward;
    }
    return false;
  }

  void JoinAll(std::vector<CollectiveUnit> units) {
    while (!units.empty()) {
      UnitOrder ordering(arrays_, units);
      std::optional<std::vector<OpId>> order = ordering.Order();
      if (order) {
        for (const CollectiveUnit& unit : units) JoinOne(unit);
        arrays_.order = *std::move(order);
        return;
      }
      units.erase(units.begin() + static_cast<ptrdiff_t>(ordering.FailedUnit()));
    }
  }

  void JoinOne(const CollectiveUnit& unit) {
    const CollectiveId first = unit.of.front();
    const std::span<const OpId> row = arrays_.MembersOf(arrays_.collectives[first]);
    const std::vector<OpId> members(row.begin(), row.end());
    for (size_t i = 0; i < members.size(); ++i) {
      std::vector<OpId> ops;
      for (const CollectiveId id : unit.of) {
        ops.push_back(arrays_.MembersOf(arrays_.collectives[id])[i]);
      }
      JoinMember(ops);
    }
    changes_.Change(first).request = emitter_.RequestOf(members);
    const std::set<CollectiveId> gone(unit.of.begin() + 1, unit.of.end());
    std::erase_if(arrays_.joined, [&](CollectiveId id) { return gone.contains(id); });
  }

  // The first one does what all did.
  void JoinMember(const std::vector<OpId>& ops) {
    const PricedPartId part = emitter_.CoalescedPart(ops);
    ArrayOp joined = arrays_.ops[ops.front()];
    joined.part = part;
    joined.reads = AppendRows(ops, &ArrayOp::reads, arrays_.reads);
    joined.made = AppendRows(ops, &ArrayOp::made, arrays_.made);
    joined.written = AppendRows(ops, &ArrayOp::written, arrays_.written);
    changes_.Change(ops.front()) = joined;
    for (const TensorId made : arrays_.MadeBy(joined)) {
      changes_.Change(made).producer = ops.front();
    }
    for (const ArrayVersionId version : arrays_.WrittenBy(joined)) {
      changes_.Change(version).writer = ops.front();
    }
  }

  template <class Item>
  ArrayRow AppendRows(const std::vector<OpId>& ops, ArrayRow ArrayOp::*row,
                      std::vector<Item>& items) const {
    const auto begin = static_cast<int32_t>(items.size());
    for (const OpId id : ops) {
      const ArrayRow of = arrays_.ops[id].*row;
      for (int32_t i = of.begin; i < of.end; ++i) {
        const Item item = items[static_cast<size_t>(i)];
        items.push_back(item);
      }
    }
    return {begin, static_cast<int32_t>(items.size())};
  }

  const Graph& original_;
  const PartPrices& prices_;
  Emitter& emitter_;
  StepArrays& arrays_;
  ArrayChanges& changes_;
};

}  // namespace

void JoinUnits(const Graph& original, const PartPrices& prices, ArrayWriter& writer,
               ArrayChanges& changes) {
  Joiner(original, prices, writer, changes).Join();
}

}  // namespace placewright
