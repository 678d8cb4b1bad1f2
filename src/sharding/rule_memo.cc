#include "sharding/rule_memo.h"

#include <functional>
#include <string_view>
#include <utility>

namespace placewright {

int32_t RuleMemo::Find(OpId op) {
  const Op& one = graph_.op(op);
  const uint64_t hash = HashOf(one);
  const auto [begin, end] = found_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    if (AreAlike(graph_.op(entry->second.first), one)) return entry->second.at;
  }
  const int32_t at = static_cast<int32_t>(rules_.size());
  rules_.push_back(RuleOf(graph_, op));
  found_.emplace(hash, Entry{op, at});
  return at;
}

int32_t RuleMemo::Add(OpRule rule) {
  rules_.push_back(std::move(rule));
  return static_cast<int32_t>(rules_.size()) - 1;
}

uint64_t RuleMemo::HashOf(const Op& op) const {
  uint64_t hash = std::hash<std::string_view>()(op.type);
  const auto mix = [&](uint64_t number) { hash = (hash ^ number) * 0x9e3779b97f4a7c15U; };
  for (const std::vector<TensorId>* const tensors : {&op.inputs, &op.outputs}) {
    mix(tensors->size());
    for (const TensorId id : *tensors) {
      for (const int64_t size : graph_.tensor(id).shape) mix(static_cast<uint64_t>(size));
    }
  }
  return hash;
}

bool RuleMemo::AreAlike(const Op& a, const Op& b) const {
  return a.type == b.type && a.is_view == b.is_view && AreAlike(a.inputs, b.inputs) &&
         AreAlike(a.outputs, b.outputs) && a.args == b.args && a.attributes == b.attributes;
}

bool RuleMemo::AreAlike(const std::vector<TensorId>& a, const std::vector<TensorId>& b) const {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const Tensor &one = graph_.tensor(a[i]), &other = graph_.tensor(b[i]);
    if (one.shape != other.shape || one.dtype != other.dtype ||
        one.output_index != other.output_index) {
      return false;
    }
  }
  return true;
}

}  // namespace placewright
