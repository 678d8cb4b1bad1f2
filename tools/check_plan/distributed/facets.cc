#include "check_plan/distributed/facets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "sharding/routing.h"

namespace placewright::check {
namespace {

bool Contains(const GradientMask& all, const GradientMask& some) {
  for (size_t i = 0; i < all.size(); ++i) {
    if (some[i] && !all[i]) return false;
  }
  return true;
}

}  // namespace

Facets::Facets(const Graph& original, const DistributedStep& step)
    : original_(original), step_(step), facet_of_(step.graph.op_count()) {
  RoutedRows routed = FindRoutedRows(original);
  counts_ = IdVector<TensorId, bool>(original.tensor_count(), false);
  for (const auto& [op, rule] : routed.rules) {
    for (size_t i = 0; i < rule.outputs.size(); ++i) {
      const TensorId id = original.op(op).outputs[i];
      const TensorAxes& axes = rule.outputs[i];
      // [b r] are rows.
      const bool has_rows = std::any_of(axes.begin(), axes.end(),
                                        [](const auto& dimension) { return dimension.size() > 1; });
      counts_[id] = routed.tensors[id] && !has_rows;
    }
  }
  in_own_order_ = std::move(routed.tensors);
  for (const OpId op : original.ops()) {
    origins_.push_back(op);
    const auto own = routed.rules.find(op);
    rules_.push_back(own == routed.rules.end() ? RuleOf(original, op) : std::move(own->second));
  }
  for (const OpId instance : step.graph.ops()) {
    const OpId origin = step.origin[instance];
    if (!origin.valid()) continue;
    facet_of_[instance] = FacetId(origin.index());
    const Op &stated = original.op(origin), &made = step.graph.op(instance);
    if (made.type != stated.type) continue;
    const auto all = SeparableResults(stated), some = SeparableResults(made);
    if (!all || !some || *all == *some || !Contains(*all, *some)) continue;
    facet_of_[instance] = FacetWith(origin, *some);
  }
}

FacetId Facets::FacetWith(OpId origin, const GradientMask& mask) {
  std::vector<FacetId>& facets = apart_of_[origin];
  for (const FacetId facet : facets) {
    if (apart_[facet.index() - original_.op_count()].mask == mask) return facet;
  }
  const Op& op = original_.op(origin);
  apart_.push_back({mask, WithResults(original_, op, mask)});
  const std::optional<OpRule>& rule = rules_[FacetId(origin.index())];
  std::optional<OpRule> own;
  if (rule) own = RuleWithResults(original_, op, *rule, mask);
  rules_.push_back(std::move(own));
  return facets.emplace_back(origins_.push_back(origin));
}

const Op& Facets::op(FacetId facet) const {
  const size_t ops = original_.op_count();
  if (facet.index() < ops) return original_.op(origins_[facet]);
  return apart_[facet.index() - ops].op;
}

IdVector<FacetId, int32_t> Facets::CountInstances() const {
  IdVector<FacetId, int32_t> counts(size(), 0);
  for (const FacetId facet : facet_of_) {
    if (facet.valid()) ++counts[facet];
  }
  return counts;
}

MaybeViolation Facets::CheckResults() const {
  std::map<OpId, std::array<int, 3>> made;  // by how many facets
  for (size_t i = 0; i < apart_.size(); ++i) {
    std::array<int, 3>& counts = made[origins_[FacetId(original_.op_count() + i)]];
    for (size_t k = 0; k < counts.size(); ++k) counts[k] += apart_[i].mask[k] ? 1 : 0;
  }
  const IdVector<FacetId, int32_t> instances = CountInstances();
  for (auto& [origin, counts] : made) {
    const GradientMask all = *SeparableResults(original_.op(origin));
    for (size_t k = 0; k < counts.size(); ++k) {
      if (!all[k]) continue;
      if (instances[FacetId(origin.index())] > 0) ++counts[k];
      if (counts[k] == 1) continue;
      return Violation{
          counts[k] == 0 ? ViolationKind::kMissingOp : ViolationKind::kWrongArgument,
          fmt::format("result {} of \"{}\" is made by {} ops of a device, where one is due", k,
                      Printable(original_.op(origin).name, 80), counts[k]),
          "step: ops"};
    }
  }
  return std::nullopt;
}

}  // namespace placewright::check
