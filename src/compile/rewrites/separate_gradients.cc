#include "compile/rewrites/separate_gradients.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "compile/emitter.h"

namespace placewright {
namespace {

class Separator {
 public:
  Separator(const PartPrices& prices, ArrayWriter& writer, ArrayChanges& changes)
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
      const bool alone =
          all.size() < 2 && arrays_.DevicesLike(arrays_.ops[all.front().second].device) < 2;
      if (alone || input == others) continue;
      for (const auto& [origin, op] : all) second[op.index()] = Split(op, input);
      any = true;
    }
    if (any) Reorder(std::move(second));
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

  // Read by another device or by a collective, perhaps through views and parts, as another type (mixed
  // precision) or added to other gradients.
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
    first.half = ArrayHalf::kFirst;
    rest.half = ArrayHalf::kSecond;
    first.of_input = input_first;
    rest.of_input = !input_first;
    changes_.Change(id) = first;
    const OpId added = emitter_.AddCopyOf(id);
    arrays_.ops[added] = rest;
    for (const TensorId tensor : arrays_.MadeBy(rest)) changes_.Change(tensor).producer = added;
    for (const ArrayVersionId version : arrays_.WrittenBy(rest)) {
      changes_.Change(version).writer = added;
    }
    return added;
  }

  // `second`: of an op that is the first of two, the other one, which waits for it. What waits for one of them waits
  // for both.
  void Reorder(std::vector<OpId> second) {
    changes_.KeepOrder();
    second.resize(arrays_.ops.size());
    std::vector<OpId> order;
    order.reserve(arrays_.ops.size());
    for (const OpId op : arrays_.order) {
      order.push_back(op);
      if (second[op.index()].valid()) order.push_back(second[op.index()]);
    }
    std::vector<std::pair<OpId, OpId>> after;
    for (const auto& [earlier, later] : arrays_.after) {
      for (const OpId one : {earlier, second[earlier.index()]}) {
        for (const OpId other : {later, second[later.index()]}) {
          if (one.valid() && other.valid()) after.emplace_back(one, other);
        }
      }
    }
    for (const OpId op : arrays_.order) {
      if (second[op.index()].valid()) after.emplace_back(op, second[op.index()]);
    }
    for (auto& [op, read] : arrays_.holds) {
      if (second[op.index()].valid()) op = second[op.index()];
    }
    arrays_.order = std::move(order);
    arrays_.after = std::move(after);
  }

  const PartPrices& prices_;
  Emitter& emitter_;
  StepArrays& arrays_;
  ArrayChanges& changes_;
  const ArrayReaders readers_;
};

}  // namespace

bool SeparateGradients(const PartPrices& prices, ArrayWriter& writer, ArrayChanges& changes) {
  return Separator(prices, writer, changes).Separate();
}

}  // namespace placewright
