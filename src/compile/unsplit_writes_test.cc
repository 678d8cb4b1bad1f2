#include "sharding/unsplit_writes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "compile/drawn_layouts.h"
#include "compile/whole_on_batch.h"
#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

// x [8 4] of samples: c = x' x, a sum over them; its diagonal is written in place, then all of it is read. `whole`: all
// of c is written, which needs no view. y = x [8 4] with a row [8] written through a view that the samples split.
class DiagonalStep {
 public:
  explicit DiagonalStep(bool diagonal) : diagonal_(diagonal) {}

  Graph Build() {
    builder_.set_batch(8);
    const TensorId x = builder_.AddInput("input:x", TensorKind::kInput, DType::kF32, {8, 4}).Take();
    const TensorId xt = Add("xt", "aten.t.default", {x}, {4, 8}, AliasKind::kView);
    TensorId c = Add("c", "aten.mm.default", {xt, x}, {4, 4});
    if (diagonal_) {
      // Of an operator without a rule: through aten.diagonal, which is linear, shares of the sum are written.
      const TensorId line = Add("line", "aten.as_strided.default", {c}, {4}, AliasKind::kView);
      Add("set", "aten.add_.Scalar", {line}, {4}, AliasKind::kInPlace, {Value(int64_t{-1})});
    } else {
      c = Add("set", "aten.add_.Scalar", {c}, {4, 4}, AliasKind::kInPlace, {Value(int64_t{-1})});
    }
    const TensorId squares = Add("squares", "aten.mul.Tensor", {c, c}, {4, 4});
    const TensorId loss = Add("loss", "aten.sum.default", {squares}, {});
    const TensorId y = Add("y", "aten.mul.Tensor", {x, x}, {8, 4});
    const TensorId row = Add("row", "aten.select.int", {y}, {8}, AliasKind::kView,
                             {Value(int64_t{1}), Value(int64_t{0})});
    Add("zero", "aten.mul_.Scalar", {row}, {8}, AliasKind::kInPlace, {Value(int64_t{0})});
    const TensorId z = Add("z", "aten.neg.default", {y}, {8, 4});
    builder_.SetOutputs({loss, z});
    Graph graph = std::move(builder_).Build().Take();
    BatchScaling laws;
    laws.sizes = {8, 9, 11};
    for (const TensorId id : graph.tensors()) {
      const std::vector<int64_t>& shape = graph.tensor(id).shape;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == 8) laws.dimensions.items.push_back({static_cast<int32_t>(d), 1});
      }
      laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
    }
    laws.arguments.offsets.resize(graph.op_count() + 1, 0);
    return WithBatchScaling(std::move(graph), laws).Take();
  }

 private:
  TensorId Add(const char* name, const char* type, std::vector<TensorId> inputs,
               std::vector<int64_t> shape, AliasKind alias = AliasKind::kFresh,
               const std::vector<Value>& more = {}) {
    OpSpec op{.name = name, .type = type};
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.args.insert(op.args.end(), more.begin(), more.end());
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape), .alias = alias}};
    if (alias != AliasKind::kFresh) op.outputs[0].alias_of = 0;
    return builder_.AddOp(std::move(op)).Take()[0];
  }

  GraphBuilder builder_{"diagonal", "aten"};
  const bool diagonal_;
};

// The product is computed by every device of all samples; what is beside it is split.
TEST(UnsplitWrites, MakeTheirGroupWhole) {
  const Graph graph = DiagonalStep(/*diagonal=*/true).Build();
  const NamedAxes axes(graph);
  ASSERT_TRUE(axes.batch().valid());
  const IdVector<GroupId, bool> whole = FindUnsplitWrites(graph, axes, axes.batch());
  std::set<AxisId> all;
  for (const AxisId axis : axes.axes()) all.insert(axis);
  const auto by_axis = FindUnsplitWrites(graph, axes, all);
  EXPECT_EQ(by_axis.size(), axes.axis_count());
  for (const auto& [axis, of_axis] : by_axis) {
    EXPECT_EQ(of_axis.raw(), FindUnsplitWrites(graph, axes, axis).raw());
  }
  for (const char* const name : {"c", "line", "set"}) {
    EXPECT_TRUE(whole[graph.group(graph.FindOp(name))]) << name;
  }
  for (const char* const name : {"squares", "y", "row", "zero", "z"}) {
    EXPECT_FALSE(whole[graph.group(graph.FindOp(name))]) << name;
  }
  EXPECT_EQ(WhyWholeOnBatch(graph, axes, graph.FindOp("c"), whole),
            "written in place through a view that the batch does not split");
  const WholeOnBatch listed = FindWholeOnBatch(graph, axes).Take();
  ASSERT_EQ(listed.rows.size(), 1u);
  EXPECT_EQ(listed.rows[0].type, "aten.mm.default");

  const Cluster cluster = DevicesAlike(2);
  const auto step = Compile(graph, axes, DataParallelLayouts(graph, axes, {5, 3}), cluster);
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  int products = 0;
  for (const OpId op : step.value().graph.ops()) {
    const Op& made = step.value().graph.op(op);
    if (made.type != "aten.mm.default") continue;
    ++products;
    EXPECT_EQ(step.value().graph.tensor(made.inputs[1]).shape, (std::vector<int64_t>{8, 4}));
  }
  EXPECT_EQ(products, 2);
  // y is computed in parts of 5 and 3 samples.
  EXPECT_EQ(step.value().graph.tensor(step.value().graph.FindTensor("z@d0")).shape,
            (std::vector<int64_t>{5, 4}));
}

TEST(UnsplitWrites, AreNoneOfWholeTensors) {
  const Graph graph = DiagonalStep(/*diagonal=*/false).Build();
  const NamedAxes axes(graph);
  for (const bool whole : FindUnsplitWrites(graph, axes, axes.batch())) EXPECT_FALSE(whole);
}

}  // namespace
}  // namespace placewright
