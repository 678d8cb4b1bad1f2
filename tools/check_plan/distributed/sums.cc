#include "check_plan/distributed/sums.h"

#include <algorithm>

namespace placewright::check {

int32_t Sums::SumOf(FacetId facet, const Cut& cut) {
  if (sums_of_.empty()) sums_of_.resize(left_.size());
  for (const int32_t sum : sums_of_[facet]) {
    if (sums_[static_cast<size_t>(sum)].cut == cut) return sum;
  }
  const auto sum = static_cast<int32_t>(sums_.size());
  sums_.push_back({facet, cut, {}});
  sums_of_[facet].push_back(sum);
  return sum;
}

Addend Sums::Contribute(int32_t sum, OpId instance) {
  std::vector<OpId>& instances = sums_[static_cast<size_t>(sum)].instances;
  instances.insert(std::lower_bound(instances.begin(), instances.end(), instance), instance);
  return {Addend::kSome, sum, {instance}};
}

Sums::Total Sums::Add(std::span<const Addend> addends) const {
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
    std::vector<OpId>& all = total.addend.instances;
    all.insert(all.end(), addend.instances.begin(), addend.instances.end());
  }
  std::vector<OpId>& all = total.addend.instances;
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end()) total.fault = Fault::kTwice;
  if (total.fault == Fault::kNone && IsComplete(total.addend)) total.addend = {};
  return total;
}

bool Sums::IsComplete(const Addend& addend) const {
  if (addend.kind != Addend::kSome) return false;
  const Sum& sum = sums_[static_cast<size_t>(addend.sum)];
  return left_[sum.facet] == 0 && addend.instances == sum.instances;
}

size_t Sums::MissingIn(const Addend& addend) const {
  if (addend.kind != Addend::kSome) return 0;
  const Sum& sum = sums_[static_cast<size_t>(addend.sum)];
  return sum.instances.size() + static_cast<size_t>(left_[sum.facet]) - addend.instances.size();
}

}  // namespace placewright::check
