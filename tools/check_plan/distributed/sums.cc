#include "check_plan/distributed/sums.h"

#include <algorithm>

#include "base/units.h"
#include "check_plan/distributed/cover.h"

namespace placewright::check {

Addend Sums::Contribute(FacetId facet, const Over& over, Share share) {
  std::vector<int32_t>& of_facet = sums_of_[facet];
  const auto same_sum = [&](int32_t sum) { return sums_[static_cast<size_t>(sum)].over == over; };
  auto sum = std::find_if(of_facet.begin(), of_facet.end(), same_sum);
  if (sum == of_facet.end()) {
    sum = of_facet.insert(sum, static_cast<int32_t>(sums_.size()));
    sums_.push_back({facet, over, {}});
  }
  std::vector<Share>& shares = sums_[static_cast<size_t>(*sum)].shares;
  const auto same = std::find(shares.begin(), shares.end(), share);
  const auto number = static_cast<int32_t>(same - shares.begin());
  if (same == shares.end()) shares.push_back(std::move(share));
  return {Addend::kSome, *sum, {number}};
}

Sums::Total Sums::Add(std::span<const Addend> addends) {
  Total total;
  total.addend.kind = Addend::kZero;
  for (const Addend& addend : addends) {
    if (addend.kind == Addend::kZero) continue;
    if (total.addend.kind == Addend::kZero) {
      total.addend = addend;
      continue;
    }
    const bool both = addend.kind == Addend::kSome && total.addend.kind == Addend::kSome;
    if (!both || addend.sum != total.addend.sum) {
      total.fault = both ? Fault::kForeign : Fault::kTwice;
      return total;
    }
    std::vector<int32_t>& all = total.addend.shares;
    all.insert(all.end(), addend.shares.begin(), addend.shares.end());
  }
  if (total.addend.kind != Addend::kSome) return total;
  std::vector<int32_t>& all = total.addend.shares;
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end()) {
    total.fault = Fault::kTwice;
    return total;
  }
  const State state = StateOf(total.addend.sum, all);
  total.fault = state.fault;
  if (state.complete) total.addend = {};
  return total;
}

Sums::State Sums::StateOf(int32_t sum, const std::vector<int32_t>& shares) {
  const std::pair key(sum, shares);
  if (const auto known = states_.find(key); known != states_.end()) return known->second;
  const Sum& of = sums_[static_cast<size_t>(sum)];
  State state = StateOfCuts(of, shares);
  if (state.fault == Fault::kNone) {
    const State inputs = StateOfInputs(of, shares);
    state = {inputs.fault, state.complete && inputs.complete};
  }
  states_[key] = state;
  return state;
}

// Those without a place are all of it by their number of elements.
Sums::State Sums::StateOfCuts(const Sum& sum, const std::vector<int32_t>& shares) const {
  std::vector<Cut> cuts;
  int64_t alone = 0;
  for (const int32_t number : shares) {
    const Share& share = sum.shares[static_cast<size_t>(number)];
    if (share.alone.valid()) {
      int64_t elements = sum.over.elements;
      for (const CutAlong& one : share.cut.along) {
        elements = elements / (one.outer * one.period) * one.length();
      }
      alone = SaturatingAdd(alone, elements);
    } else {
      cuts.push_back(share.cut);
    }
  }
  if (alone > 0) return {Fault::kNone, cuts.empty() && alone == sum.over.elements};
  const Coverage coverage = CoverageOf(cuts);
  const bool disjoint = coverage.kind == Coverage::kOnce || coverage.kind == Coverage::kNotAll;
  return {disjoint ? Fault::kNone : Fault::kTwice, coverage.kind == Coverage::kOnce};
}

// In each interval those of every input are added up.
Sums::State Sums::StateOfInputs(const Sum& sum, const std::vector<int32_t>& shares) {
  const auto of = [&](int32_t number) -> const Share& {
    return sum.shares[static_cast<size_t>(number)];
  };
  State state{Fault::kNone, true};
  for (size_t i = 0; i < shares.size(); ++i) {
    const Share& first = of(shares[i]);
    const auto is_beside = [&](int32_t other) {
      return of(other).cut == first.cut && of(other).alone == first.alone;
    };
    const auto begin = shares.begin();
    if (std::any_of(begin, begin + static_cast<ptrdiff_t>(i), is_beside)) continue;
    for (size_t input = 0; input < first.inputs.size(); ++input) {
      std::vector<Addend> addends;
      for (const int32_t other : shares) {
        if (is_beside(other)) addends.push_back(of(other).inputs[input]);
      }
      const Total total = Add(addends);
      if (total.fault != Fault::kNone) return {total.fault, false};
      state.complete = state.complete && total.addend.kind == Addend::kWhole;
    }
  }
  return state;
}

}  // namespace placewright::check
