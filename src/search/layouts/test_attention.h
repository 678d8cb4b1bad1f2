// Attention in one operator, made by hand: for tests.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_TEST_ATTENTION_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_TEST_ATTENTION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "sharding/test_ops.h"

namespace placewright {

// Samples of so many places with 128 numbers, times one weight each, are queries, keys and values of two heads; attention
// of them, and the double of what it gives. 8 samples. `experts`: behind it each place goes to one of so many, which are a
// dimension of their weights, by keys that the step is given.
inline Graph SelfAttention(bool causal, int64_t places, int64_t experts = 0) {
  const std::vector<int64_t> heads = {8, 2, places, 64};
  GraphBuilder builder("attention", "aten");
  builder.set_batch(8);
  const auto add = [&](const std::string& name, const char* type, std::vector<TensorId> inputs,
                       std::vector<Value> args, const std::vector<std::vector<int64_t>>& shapes,
                       AliasKind alias = AliasKind::kFresh, DType dtype = DType::kF32) {
    OpSpec op{.name = name, .type = type};
    op.inputs = std::move(inputs);
    op.args = std::move(args);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::string of = shapes.size() == 1 ? name : name + ":" + std::to_string(i);
      op.outputs.push_back({.name = of, .dtype = dtype, .shape = shapes[i]});
      op.outputs.back().alias = alias;
      if (alias == AliasKind::kFresh) continue;
      op.outputs.back().alias_of = 0;
    }
    return builder.AddOp(std::move(op)).Take();
  };
  const auto view = [&](const std::string& name, TensorId of, const std::vector<int64_t>& shape) {
    return add(name, "aten.view.default", {of}, {Input(0), Integers(shape)}, {shape},
               AliasKind::kView)[0];
  };
  const TensorId x =
      builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {8, places, 128}).Take();
  const TensorId rows = view("rows", x, {8 * places, 128});
  std::vector<TensorId> inputs;
  for (const std::string name : {"q", "k", "v"}) {
    const TensorId weight =
        builder.AddInput("param:" + name, TensorKind::kParameter, DType::kF32, {128, 128}).Take();
    const TensorId product =
        add(name, "aten.mm.default", {rows, weight}, {Input(0), Input(1)}, {{8 * places, 128}})[0];
    const TensorId apart = view(name + "_heads", product, {8, places, 2, 64});
    inputs.push_back(add(name + "_inside", "aten.transpose.int", {apart},
                         {Input(0), Value(int64_t{1}), Value(int64_t{2})}, {heads},
                         AliasKind::kView)[0]);
  }
  const TensorId out =
      add("attend", "aten._scaled_dot_product_flash_attention_for_cpu.default", inputs,
          {Input(0), Input(1), Input(2), Value(0.0), Value(causal)}, {heads, {8, 2, places}})[0];
  add("double", "aten.mul.Scalar", {out}, {Input(0), Value(2.0)}, {heads});
  if (experts > 0) {
    const std::vector<int64_t> numbers = {8 * places}, tokens = {8 * places, 128};
    const TensorId keys =
        builder.AddInput("input:keys", TensorKind::kInput, DType::kI64, numbers).Take();
    const TensorId weight =
        builder.AddInput("param:experts", TensorKind::kParameter, DType::kF32, {experts, 128, 128})
            .Take();
    const TensorId turned =
        add("turned", "aten.transpose.int", {out}, {Input(0), Value(int64_t{1}), Value(int64_t{2})},
            {{8, places, 2, 64}}, AliasKind::kView)[0];
    const TensorId together =
        add("together", "aten.clone.default", {turned}, {Input(0)}, {{8, places, 2, 64}})[0];
    const TensorId flat = view("flat", together, tokens);
    const auto list = [](int32_t input) { return Value(Value::List{Input(input)}); };
    const std::vector<TensorId> sort = add("sort", "aten.sort.default", {keys}, {Input(0)},
                                           {numbers, numbers}, AliasKind::kFresh, DType::kI64);
    const TensorId sorted =
        add("sorted", "aten.index.Tensor", {flat, sort[1]}, {Input(0), list(1)}, {tokens})[0];
    const TensorId counts =
        add("counts", "aten.histc.default", {sort[0]},
            {Input(0), Value(experts), Value(int64_t{0}), Value(experts - 1)}, {{experts}})[0];
    const TensorId ends =
        add("ends", "aten.cumsum.default", {counts}, {Input(0), Value(int64_t{0})}, {{experts}},
            AliasKind::kFresh, DType::kI32)[0];
    const TensorId product = add("product", "aten._grouped_mm.default", {sorted, weight, ends},
                                 {Input(0), Input(1), Input(2)}, {tokens})[0];
    const TensorId empty = add("empty", "aten.empty_like.default", {sort[1]}, {Input(0)}, {numbers},
                               AliasKind::kFresh, DType::kI64)[0];
    const TensorId all = add("all", "aten.arange.default", {}, {Value(8 * places)}, {numbers},
                             AliasKind::kFresh, DType::kI64)[0];
    const TensorId back =
        add("back", "aten.index_put_.default", {empty, sort[1], all}, {Input(0), list(1), Input(2)},
            {numbers}, AliasKind::kInPlace, DType::kI64)[0];
    add("home", "aten.index.Tensor", {product, back}, {Input(0), list(1)}, {tokens});
  }
  return FollowingItsBatch(std::move(builder).Build().Take());
}

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_TEST_ATTENTION_H_
