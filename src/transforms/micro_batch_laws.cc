#include "transforms/micro_batch_laws.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "graph/batch/at_batch.h"
#include "graph/batch/numbers.h"

namespace placewright {
namespace {

class LawFinder {
 public:
  LawFinder(const Graph& step, const Graph& made, const MicroBatchOrigins& origins)
      : step_(step),
        made_(made),
        origins_(origins),
        laws_(*step.batch_scaling()),
        batches_(step.batch() / made.batch()) {}

  BatchScaling Find() {
    BatchScaling found;
    for (size_t i = 0; i < found.sizes.size(); ++i) found.sizes[i] = OfOne(laws_.sizes[i]);
    found.smaller = laws_.smaller > 0 ? OfOne(laws_.smaller) : 0;
    const auto add = [](auto& rows, const auto& items) {
      rows.items.insert(rows.items.end(), items.begin(), items.end());
      rows.offsets.push_back(static_cast<int32_t>(rows.items.size()));
    };
    std::map<OpId, std::vector<ArgumentLaw>> others;
    for (const auto& [op, law] : origins_.numbers) others[op].push_back(law);
    std::map<TensorId, DimensionLaw> dimensions(origins_.dimensions.begin(),
                                                origins_.dimensions.end());
    for (const TensorId id : made_.tensors()) {
      const auto stated = dimensions.find(id);
      if (stated == dimensions.end()) {
        add(found.dimensions, DimensionsOf(id));
      } else {
        add(found.dimensions, std::vector{stated->second});
      }
    }
    for (const OpId id : made_.ops()) {
      std::vector<ArgumentLaw> laws = NumbersOf(id);
      if (const auto more = others.find(id); more != others.end()) {
        laws.insert(laws.end(), more->second.begin(), more->second.end());
      }
      std::sort(laws.begin(), laws.end(),
                [](const ArgumentLaw& a, const ArgumentLaw& b) { return a.number < b.number; });
      add(found.arguments, laws);
    }
    return found;
  }

 private:
  int64_t OfOne(int64_t batch) const { return (batch + batches_ - 1) / batches_; }

  std::vector<DimensionLaw> DimensionsOf(TensorId id) const {
    std::vector<DimensionLaw> laws;
    const TensorId origin = origins_.tensors[id];
    if (!origin.valid()) return laws;
    for (const DimensionLaw& law : laws_.dimensions[origin]) {
      const auto d = static_cast<size_t>(law.dimension);
      ArgumentLaw number{0, law.slope, law.product};
      if (d >= made_.tensor(id).shape.size() ||
          !Adapt(Value(step_.tensor(origin).shape[d]), Value(made_.tensor(id).shape[d]), number)) {
        continue;
      }
      laws.push_back({law.dimension, number.slope, number.product});
    }
    return laws;
  }

  std::vector<ArgumentLaw> NumbersOf(OpId id) const {
    std::vector<ArgumentLaw> laws;
    const OpId origin = origins_.ops[id];
    if (!origin.valid() || laws_.arguments[origin].empty()) return laws;
    const std::vector<Value> before = AllNumbers(step_.op(origin)), now = AllNumbers(made_.op(id));
    for (ArgumentLaw law : laws_.arguments[origin]) {
      const auto at = static_cast<size_t>(law.number);
      if (at < now.size() && Adapt(before[at], now[at], law)) laws.push_back(std::move(law));
    }
    return laws;
  }

  static std::vector<Value> AllNumbers(const Op& op) {
    std::vector<Value> numbers;
    VisitNumbers(op.args, op.attributes,
                 [&](const Value& value, const NumberPlace&) { numbers.push_back(value); });
    return numbers;
  }

  // The law of the number `before` for what it is now: false where it is neither what the law says of one micro-batch nor
  // that of the whole batch.
  bool Adapt(const Value& before, const Value& now, ArgumentLaw& law) const {
    const std::optional<Value> part = NumberAt(before, law, step_.batch(), made_.batch());
    if (part && *part == now) return true;
    if (!(before == now)) return false;
    law.slope *= batches_;
    for (BatchTerm& term : law.product) {
      term.a *= batches_;
      const int64_t common = std::gcd(term.a, term.b);
      term.a /= common;
      term.b /= common;
    }
    return true;
  }

  const Graph& step_;
  const Graph& made_;
  const MicroBatchOrigins& origins_;
  const BatchScaling& laws_;
  const int64_t batches_;
};

}  // namespace

BatchScaling LawsOfMicroBatches(const Graph& step, const Graph& made,
                                const MicroBatchOrigins& origins) {
  return LawFinder(step, made, origins).Find();
}

}  // namespace placewright
