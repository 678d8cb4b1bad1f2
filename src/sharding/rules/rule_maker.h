// What rules are written with: one op, its tensors and arguments, and the axes found so far.
//
// A rule function reads shapes that may come from anybody's file: every access answers for what is
// not there, and `Fail` ends in "no rule".
#ifndef PLACEWRIGHT_SHARDING_RULES_RULE_MAKER_H_
#define PLACEWRIGHT_SHARDING_RULES_RULE_MAKER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/op_rule.h"

namespace placewright {

// In place of a position: an argument that is given by its name alone, as the attributes of ONNX.
inline constexpr size_t kByName = std::numeric_limits<size_t>::max();

class RuleMaker {
 public:
  RuleMaker(const Graph& graph, OpId op);

  size_t input_count() const { return op_.inputs.size(); }
  size_t output_count() const { return op_.outputs.size(); }
  // {} where there is none: check the counts.
  const std::vector<int64_t>& in(size_t input) const;
  const std::vector<int64_t>& out(size_t output) const;
  DType dtype(size_t input) const { return graph_.tensor(op_.inputs[input]).dtype; }
  const Op& op() const { return op_; }

  // Which of the operator's results output i is.
  int32_t ResultOf(size_t output) const { return graph_.tensor(op_.outputs[output]).output_index; }
  // The input that stands at argument position i, or -1.
  int32_t InputAt(size_t argument) const;
  // By position, else by keyword (the schema's name); nullptr where neither is given.
  const Value* Argument(size_t position, std::string_view name) const;
  int64_t Integer(size_t position, std::string_view name, int64_t otherwise) const;
  bool Flag(size_t position, std::string_view name, bool otherwise) const;
  // The integers of a list, or of a lone integer; nothing where it is not given or none.
  std::optional<std::vector<int64_t>> Integers(size_t position, std::string_view name) const;

  RuleAxisId Axis(int64_t size, Parts parts = Parts::kSplit);
  Parts parts(RuleAxisId axis) const { return rule_.axes[axis].parts; }
  void SetParts(RuleAxisId axis, Parts parts) { rule_.axes[axis].parts = parts; }
  // One axis for every dimension.
  TensorAxes AxesOf(const std::vector<int64_t>& shape, Parts parts = Parts::kSplit);

  TensorAxes& input(size_t i) { return rule_.inputs[i]; }
  TensorAxes& output(size_t i) { return rule_.outputs[i]; }
  OpRule& rule() { return rule_; }

  // The axes of a tensor that is broadcast to one with `axes`: those of its last dimensions, none where
  // it has size 1. `shape` fits, else Fail.
  TensorAxes Broadcast(const std::vector<int64_t>& shape, const TensorAxes& axes,
                       const std::vector<int64_t>& full);

  // Number `element` of the list at this argument (or the lone number, element 0) is
  // multiplier * axes. A number below 0 (-1: "whatever fits") stays.
  void Size(size_t position, std::string_view name, size_t element, std::vector<RuleAxisId> axes,
            int64_t multiplier = 1);
  // Every element of the list is the size of that dimension of a tensor of `axes`.
  void Sizes(size_t position, std::string_view name, const TensorAxes& axes);

  // The number that parts of a mean are divided by: the sizes of all axes that are summed over.
  void DivideByReduced();

  // 0 <= result < rank, or Fail.
  size_t Dimension(int64_t stated, size_t rank);

  // An input may stand at several arguments: the rule gives it the same axes at each.
  void AllowRepeats() { repeats_ = true; }

  void Fail() { failed_ = true; }
  bool failed() const { return failed_; }
  // Checks that sizes multiply to the shapes', and leaves of `linear` what holds for these dtypes and
  // arguments; nothing where they do not, the rule failed, or an input stands twice.
  std::optional<OpRule> Take() &&;

 private:
  bool Fits(const TensorAxes& axes, const std::vector<int64_t>& shape) const;
  bool StandsTwice(int32_t input) const;
  bool IsAdditive(const std::vector<int32_t>& inputs) const;

  const Graph& graph_;
  const Op& op_;
  OpRule rule_;
  bool failed_ = false, repeats_ = false;
};

using RuleFunction = void (*)(RuleMaker& maker);

// Operators with one rule; the first row that matches counts. Their names have spaces between: of ATen
// without "aten." and overload, of ONNX as Op::type.
struct RuleRow {
  std::string_view names;
  RuleFunction rule;
  std::string_view overload = "";  // of this overload alone
};

// Rows of the files beside this one.
std::vector<RuleRow> ElementwiseRules();
std::vector<RuleRow> ProductRules();
std::vector<RuleRow> ReductionRules();
std::vector<RuleRow> ShapeRules();
std::vector<RuleRow> CreationRules();
std::vector<RuleRow> IndexingRules();
std::vector<RuleRow> NeighbourhoodRules();
std::vector<RuleRow> StoredRules();
std::vector<RuleRow> NormRules();
std::vector<RuleRow> LossRules();
std::vector<RuleRow> AttentionRules();
std::vector<RuleRow> LinearAlgebraRules();
std::vector<RuleRow> OnnxElementwiseRules();
std::vector<RuleRow> OnnxProductRules();
std::vector<RuleRow> OnnxReductionRules();
std::vector<RuleRow> OnnxShapeRules();
std::vector<RuleRow> OnnxIndexingRules();

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_RULES_RULE_MAKER_H_
