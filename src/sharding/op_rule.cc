#include "sharding/op_rule.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/check.h"
#include "base/words.h"
#include "sharding/rules/rule_maker.h"

namespace placewright {
namespace {

// "aten.add_.Tensor": an in-place op has the rule of the op that it is.
struct OpName {
  std::string_view base, overload;
};

OpName NameOf(std::string_view type) {
  constexpr std::string_view kPrefix = "aten.";
  // Ops of ours that computed steps are made of; those that move parts have no rules.
  constexpr std::string_view kCounting = "placewright.counter_";
  const bool stored = type.starts_with("stored.");  // keeps its prefix: aten.dequantize is another
  if (!stored && !type.starts_with(kPrefix) && !type.starts_with(kCounting)) return {};
  if (!stored) type.remove_prefix(type.find('.') + 1);
  const size_t dot = type.rfind('.');
  OpName name = {type.substr(0, dot), dot == std::string_view::npos ? "" : type.substr(dot + 1)};
  if (name.base.ends_with('_') && !name.base.ends_with("__")) name.base.remove_suffix(1);
  return name;
}

using Table = std::unordered_map<std::string_view, std::vector<RuleRow>>;

Table TableOf(std::initializer_list<std::vector<RuleRow>> parts) {
  Table rows;
  for (const auto& part : parts) {
    for (const RuleRow& row : part) {
      for (const std::string_view name : WordsOf(row.names)) {
        std::vector<RuleRow>& of_name = rows[name];
        PW_CHECK(of_name.empty() || !of_name.back().overload.empty());  // it would never be found
        of_name.push_back(row);
      }
    }
  }
  return rows;
}

const Table& Rules() {
  static const Table table =
      TableOf({ElementwiseRules(), ProductRules(), ReductionRules(), NormRules(), LossRules(),
               AttentionRules(), LinearAlgebraRules(), ShapeRules(), CreationRules(),
               IndexingRules(), NeighbourhoodRules(), StoredRules()});
  return table;
}

const RuleRow* FindOnnxRow(std::string_view type) {
  static const Table table = TableOf({OnnxElementwiseRules(), OnnxProductRules(),
                                      OnnxReductionRules(), OnnxShapeRules(), OnnxIndexingRules()});
  const auto found = table.find(type);
  return found == table.end() ? nullptr : &found->second.front();
}

const RuleRow* FindRow(std::string_view format, std::string_view type) {
  if (format == "onnx") return FindOnnxRow(type);
  const OpName name = NameOf(type);
  auto found = Rules().find(name.base);
  // "view_copy": what the view shows, in memory of its own.
  constexpr std::string_view kCopy = "_copy";
  if (found == Rules().end() && name.base.ends_with(kCopy)) {
    found = Rules().find(name.base.substr(0, name.base.size() - kCopy.size()));
  }
  if (found == Rules().end()) return nullptr;
  for (const RuleRow& row : found->second) {
    if (row.overload.empty() || row.overload == name.overload) return &row;
  }
  return nullptr;
}

}  // namespace

bool Holds(const TensorAxes& tensor, RuleAxisId axis) {
  return std::any_of(tensor.begin(), tensor.end(), [&](const std::vector<RuleAxisId>& dimension) {
    return std::find(dimension.begin(), dimension.end(), axis) != dimension.end();
  });
}

bool IsUnread(const OpRule& rule, size_t input) {
  return std::find(rule.unread.begin(), rule.unread.end(), static_cast<int32_t>(input)) !=
         rule.unread.end();
}

std::string_view ToString(PartVerdict verdict) {
  switch (verdict) {
    case PartVerdict::kConcat: return "concat";
    case PartVerdict::kSum: return "sum";
    case PartVerdict::kWhole: return "whole";
  }
  return "?";
}

PartVerdict VerdictOf(const OpRule& rule, RuleAxisId axis, size_t output) {
  const Parts parts = rule.axes[axis].parts;
  if (parts == Parts::kWhole) return PartVerdict::kWhole;
  if (Holds(rule.outputs[output], axis)) return PartVerdict::kConcat;
  return parts == Parts::kSum ? PartVerdict::kSum : PartVerdict::kWhole;
}

bool HasRule(std::string_view format, std::string_view type) {
  return FindRow(format, type) != nullptr;
}

std::optional<OpRule> RuleOf(const Graph& graph, OpId op) {
  const RuleRow* const row = FindRow(graph.format(), graph.op(op).type);
  if (row == nullptr) return std::nullopt;
  RuleMaker maker(graph, op);
  row->rule(maker);
  return std::move(maker).Take();
}

}  // namespace placewright
