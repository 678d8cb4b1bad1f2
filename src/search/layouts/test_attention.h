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
// of them, and the double of what it gives. 8 samples.
inline Graph SelfAttention(bool causal, int64_t places) {
  const std::vector<int64_t> heads = {8, 2, places, 64};
  GraphBuilder builder("attention", "aten");
  builder.set_batch(8);
  const auto add = [&](const std::string& name, const char* type, std::vector<TensorId> inputs,
                       std::vector<Value> args, const std::vector<std::vector<int64_t>>& shapes,
                       bool is_view = false) {
    OpSpec op{.name = name, .type = type};
    op.inputs = std::move(inputs);
    op.args = std::move(args);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::string of = shapes.size() == 1 ? name : name + ":" + std::to_string(i);
      op.outputs.push_back({.name = of, .dtype = DType::kF32, .shape = shapes[i]});
      if (!is_view) continue;
      op.outputs.back().alias = AliasKind::kView;
      op.outputs.back().alias_of = 0;
    }
    return builder.AddOp(std::move(op)).Take().front();
  };
  const auto view = [&](const std::string& name, TensorId of, const std::vector<int64_t>& shape) {
    return add(name, "aten.view.default", {of}, {Input(0), Integers(shape)}, {shape}, true);
  };
  const TensorId x =
      builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {8, places, 128}).Take();
  const TensorId rows = view("rows", x, {8 * places, 128});
  std::vector<TensorId> inputs;
  for (const std::string name : {"q", "k", "v"}) {
    const TensorId weight =
        builder.AddInput("param:" + name, TensorKind::kParameter, DType::kF32, {128, 128}).Take();
    const TensorId product =
        add(name, "aten.mm.default", {rows, weight}, {Input(0), Input(1)}, {{8 * places, 128}});
    const TensorId apart = view(name + "_heads", product, {8, places, 2, 64});
    inputs.push_back(add(name + "_inside", "aten.transpose.int", {apart},
                         {Input(0), Value(int64_t{1}), Value(int64_t{2})}, {heads}, true));
  }
  const TensorId out =
      add("attend", "aten._scaled_dot_product_flash_attention_for_cpu.default", inputs,
          {Input(0), Input(1), Input(2), Value(0.0), Value(causal)}, {heads, {8, 2, places}});
  add("double", "aten.mul.Scalar", {out}, {Input(0), Value(2.0)}, {heads});
  return FollowingItsBatch(std::move(builder).Build().Take());
}

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_TEST_ATTENTION_H_
