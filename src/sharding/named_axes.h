// The named axes of a step: which factors of which dimensions of all its tensors are one, as the rules of
// its operators say. A split of one of them cuts every tensor that has it at the same places.
//
// A tensor's dimension is a list of factors, the outermost first: "[b s]" after a flatten. Factors are
// found, not declared: where one op sees a dimension as a whole and another as two factors, it has two.
//
// The batch axis is what follows the batch size in the inputs, as the graph's proven scaling says; a step
// without a proof has axes, but none of them is known to be the batch.
#ifndef PLACEWRIGHT_SHARDING_NAMED_AXES_H_
#define PLACEWRIGHT_SHARDING_NAMED_AXES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "graph/csr.h"
#include "graph/graph.h"
#include "plan/layout.h"
#include "sharding/op_rule.h"

namespace placewright {

struct NamedAxis {
  // "batch"; else the first tensor that has it and its dimension: "param:m.fc.weight[0]", with ".1" behind
  // it where that dimension has several factors.
  std::string name;
  int64_t size = 1;
  int32_t tensors = 0;  // that have it
};

class NamedAxes {
 public:
  // `graph` must outlive it. Complexity: O(ops + edges), with shapes' ranks as constants.
  explicit NamedAxes(const Graph& graph);

  size_t axis_count() const { return axes_.size(); }
  IdRange<AxisId> axes() const { return IdRange<AxisId>(axes_.size()); }
  const NamedAxis& axis(AxisId id) const { return axes_[id]; }
  AxisId batch() const { return batch_; }  // or none
  // In how many parts the batch can be cut: its size; 1 where a proven step has one sample, and then no
  // axis; 0 where nothing proves how the step follows it.
  int64_t samples() const;
  // Why there is no batch axis: kBatchScaling, with the reason of the proof where one was tried.
  Error WhyNoBatch() const;
  AxisId Find(std::string_view name) const;  // or none

  // The factors of a dimension, the outermost first; none where its size is 1.
  std::span<const AxisId> factors(TensorId tensor, size_t dimension) const;
  bool Holds(TensorId tensor, AxisId axis) const;

  // Of an op without a rule: nullptr.
  const OpRule* rule(OpId op) const {
    const std::optional<OpRule>& rule = rules_[static_cast<size_t>(rule_of_[op])];
    return rule ? &*rule : nullptr;
  }
  // Equal where type, arguments, and the types of all that they read and make are.
  int32_t rule_number(OpId op) const { return rule_of_[op]; }
  // The axis of the op's rule that a split of `axis` splits: the first that has it as a factor and can be
  // split. None: the op is whole on it, or does not have it.
  RuleAxisId SplitBy(OpId op, AxisId axis) const;
  // The factors of an axis of the op's rule, the outermost first.
  std::span<const AxisId> FactorsOf(OpId op, RuleAxisId axis) const {
    return rule_factors_[Id<struct RowTag>(first_row_[op] + axis.value())];
  }
  // Whether any input or output of the op has the axis.
  bool Touches(OpId op, AxisId axis) const;
  PartVerdict verdict(OpId op, AxisId axis, size_t output) const;
  // Parts of it are in an order of their own (sharding/routing.h): none can be cut or joined.
  bool in_own_order(TensorId tensor) const { return in_own_order_[tensor]; }

 private:
  friend class AxisFinder;

  const Graph& graph_;
  IdVector<AxisId, NamedAxis> axes_;
  AxisId batch_;
  std::vector<std::optional<OpRule>> rules_;  // that differ
  IdVector<OpId, int32_t> rule_of_;           // in `rules_`
  IdVector<OpId, int32_t> first_row_;         // in `rule_factors_`: one for each axis of the rule
  Csr<Id<struct RowTag>, AxisId> rule_factors_;
  IdVector<TensorId, bool> in_own_order_;
  IdVector<TensorId, int32_t> first_dimension_;   // row in `factors_`
  Csr<Id<struct DimensionTag>, AxisId> factors_;  // rows: dimensions of all tensors
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_NAMED_AXES_H_
