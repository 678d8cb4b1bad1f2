// Graphs of one op and its rule, for tests.
#ifndef PLACEWRIGHT_SHARDING_TEST_OPS_H_
#define PLACEWRIGHT_SHARDING_TEST_OPS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "sharding/op_rule.h"
#include "sharding/part_call.h"

namespace placewright {

// A graph of one op.
struct OneOp {
  OneOp(std::string type, std::vector<std::vector<int64_t>> inputs,
        std::vector<std::vector<int64_t>> outputs, std::vector<Value> args,
        std::vector<NamedValue> attributes = {}, const std::string& format = "aten") {
    GraphBuilder builder("one", format);
    OpSpec op{.name = "op", .type = std::move(type)};
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.inputs.push_back(
          builder.AddInput("input:" + std::to_string(i), TensorKind::kInput, DType::kF32, inputs[i])
              .Take());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      op.outputs.push_back({.name = "op:" + std::to_string(i), .shape = outputs[i]});
    }
    op.args = std::move(args);
    op.attributes = std::move(attributes);
    (void)builder.AddOp(std::move(op)).Take();
    graph = std::make_unique<Graph>(std::move(builder).Build().Take());
    rule = RuleOf(*graph, OpId(0));
  }

  // The axes of a tensor as letters: "a bc" for two dimensions, the second of two factors.
  static std::string Letters(const TensorAxes& axes) {
    std::string text;
    for (const std::vector<RuleAxisId>& dimension : axes) {
      if (!text.empty()) text += ' ';
      if (dimension.empty()) text += '1';
      for (const RuleAxisId axis : dimension) text += static_cast<char>('a' + axis.value());
    }
    return text;
  }
  std::string In(size_t i) const { return Letters(rule->inputs[i]); }
  std::string Out(size_t i) const { return Letters(rule->outputs[i]); }
  PartVerdict Verdict(char axis, size_t output = 0) const {
    return VerdictOf(*rule, RuleAxisId(axis - 'a'), output);
  }
  PartCall Part(char axis, int64_t size) const {
    IdVector<RuleAxisId, int64_t> sizes;
    for (const RuleAxis& one : rule->axes) sizes.push_back(one.size);
    sizes[RuleAxisId(axis - 'a')] = size;
    return CallOnPart(graph->op(OpId(0)), *rule, {RuleAxisId(axis - 'a')}, sizes);
  }

  std::unique_ptr<Graph> graph;
  std::optional<OpRule> rule;
};

inline Value Input(int32_t i) { return Value(InputRef{i}); }
inline Value Integers(std::vector<int64_t> numbers) {
  Value::List list;
  for (const int64_t number : numbers) list.push_back(Value(number));
  return Value(list);
}

// The graph with a proof that every first dimension that is a multiple of its batch follows it.
inline Graph FollowingItsBatch(Graph graph) {
  const int64_t batch = graph.batch();
  BatchScaling laws;
  laws.sizes = {batch, batch + 1, batch + 3};
  for (const TensorId id : graph.tensors()) {
    const int64_t size = graph.tensor(id).shape[0];
    if (size % batch == 0) laws.dimensions.items.push_back({0, size / batch});
    laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
  }
  laws.arguments.offsets.resize(graph.op_count() + 1, 0);
  return WithBatchScaling(std::move(graph), laws).Take();
}

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_TEST_OPS_H_
