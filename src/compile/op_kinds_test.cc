// Which ops are priced as one.
#include "compile/op_kinds.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

constexpr int64_t kSize = 8;

// Ops on one input; each of two kinds of tensors has kSize elements.
class OneInput {
 public:
  OneInput() : builder_("step", "aten") {
    x_ = builder_.AddInput("input:x", TensorKind::kInput, DType::kF32, {kSize}).Take();
  }

  TensorId x() const { return x_; }
  TensorId Add(std::string_view type, TensorId input, AliasKind alias,
               std::vector<Value> further = {}) {
    OpSpec op{.name = "op" + std::to_string(ops_++), .type = std::string(type), .inputs = {input}};
    op.args = {Value(InputRef{0})};
    for (Value& value : further) op.args.push_back(std::move(value));
    op.outputs = {{.name = op.name, .shape = {kSize}, .alias = alias}};
    if (alias != AliasKind::kFresh) op.outputs[0].alias_of = 0;
    return builder_.AddOp(std::move(op)).Take()[0];
  }
  std::vector<int32_t> Kinds() && {
    const Graph graph = std::move(builder_).Build().Take();
    const NamedAxes axes(graph);
    std::vector<int32_t> kinds;
    for (const int32_t kind : KindsOfOps(graph, axes)) kinds.push_back(kind);
    return kinds;
  }

 private:
  GraphBuilder builder_;
  TensorId x_;
  int ops_ = 0;
};

TEST(OpKinds, OpsThatRepeatAreOfOneKindWhateverTheyRead) {
  OneInput step;
  const TensorId first = step.Add("aten.relu.default", step.x(), AliasKind::kFresh);
  step.Add("aten.relu.default", first, AliasKind::kFresh);
  step.Add("aten.sigmoid.default", first, AliasKind::kFresh);
  const std::vector<int32_t> kinds = std::move(step).Kinds();
  EXPECT_EQ(kinds[0], kinds[1]);
  EXPECT_NE(kinds[1], kinds[2]);
}

TEST(OpKinds, ArgumentsTellThemApart) {
  OneInput step;
  step.Add("aten.mul.Scalar", step.x(), AliasKind::kFresh, {Value(2.0)});
  step.Add("aten.mul.Scalar", step.x(), AliasKind::kFresh, {Value(3.0)});
  const std::vector<int32_t> kinds = std::move(step).Kinds();
  EXPECT_NE(kinds[0], kinds[1]);
}

// Types and arguments are equal.
TEST(OpKinds, WhereAnOutputLiesTellsThemApart) {
  OneInput step;
  const std::vector<Value> shape = {Value(Value::List{Value(kSize)})};
  step.Add("aten.reshape.default", step.x(), AliasKind::kView, shape);
  step.Add("aten.reshape.default", step.x(), AliasKind::kFresh, shape);
  const std::vector<int32_t> kinds = std::move(step).Kinds();
  EXPECT_NE(kinds[0], kinds[1]);
}

TEST(OpKinds, WhatTheyWriteTellsThemApart) {
  OneInput step;
  const TensorId copy = step.Add("aten.clone.default", step.x(), AliasKind::kFresh);
  step.Add("own.scale", copy, AliasKind::kFresh);
  step.Add("own.scale", copy, AliasKind::kInPlace);
  const std::vector<int32_t> kinds = std::move(step).Kinds();
  EXPECT_NE(kinds[1], kinds[2]);
}

}  // namespace
}  // namespace placewright
