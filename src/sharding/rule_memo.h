// The rules of a graph's ops, each made once: layers that repeat have the same ones (internal to the module).
#ifndef PLACEWRIGHT_SHARDING_RULE_MEMO_H_
#define PLACEWRIGHT_SHARDING_RULE_MEMO_H_

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "sharding/op_rule.h"

namespace placewright {

// A rule follows from an op's type, its arguments, and the shapes, dtypes and positions of what it reads
// and returns (RuleMaker sees nothing else): ops that have all of these in common have one rule.
class RuleMemo {
 public:
  // `graph` must outlive it.
  explicit RuleMemo(const Graph& graph) : graph_(graph) {}

  // Where the op's rule is in `rules`.
  int32_t Find(OpId op);
  // Where this rule is, which is of one op alone.
  int32_t Add(OpRule rule);
  std::vector<std::optional<OpRule>> TakeRules() && { return std::move(rules_); }
  const std::optional<OpRule>& rule(int32_t at) const { return rules_[static_cast<size_t>(at)]; }

 private:
  uint64_t HashOf(const Op& op) const;
  bool AreAlike(const Op& a, const Op& b) const;
  bool AreAlike(const std::vector<TensorId>& a, const std::vector<TensorId>& b) const;

  struct Entry {
    OpId first;  // the first op that has it
    int32_t at;
  };

  const Graph& graph_;
  std::unordered_multimap<uint64_t, Entry> found_;
  std::vector<std::optional<OpRule>> rules_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_RULE_MEMO_H_
