#include "compile/whole_on_batch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "sharding/unsplit_writes.h"

namespace placewright {
namespace {

// x [8 4] with the batch of 8 first: a product, an op without a rule, a softmax over the samples, the op
// without a rule of the parameter alone; and an update that reads with the batch.
class BatchStep {
 public:
  Graph Build() {
    builder_.set_batch(8);
    const TensorId x = Input("input:x", TensorKind::kInput, {8, 4});
    const TensorId w = Input("param:w", TensorKind::kParameter, {4, 4});
    const TensorId y = Add("y", "aten.mm.default", {x, w}, {8, 4});
    const TensorId z = Add("z", "aten.unheard_of.default", {y}, {8, 4});
    Add("alone", "aten.unheard_of.default", {w}, {4, 4});
    const TensorId s = Add("s", "aten.cumprod.default", {z}, {8, 4}, {Value(int64_t{0})});
    phase_ = Phase::kOptimizer;
    Add("update", "aten.unheard_of.default", {s}, {8, 4});
    builder_.SetOutputs({s});
    BatchScaling laws;
    laws.sizes = {8, 9, 11};
    Graph graph = std::move(builder_).Build().Take();
    for (const TensorId id : graph.tensors()) {
      if (graph.tensor(id).shape[0] == 8) laws.dimensions.items.push_back({0, 1});
      laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
    }
    laws.arguments.offsets.resize(graph.op_count() + 1, 0);
    return WithBatchScaling(std::move(graph), laws).Take();
  }

 private:
  TensorId Input(const char* name, TensorKind kind, std::vector<int64_t> shape) {
    return builder_.AddInput(name, kind, DType::kF32, std::move(shape)).Take();
  }
  TensorId Add(const char* name, const char* type, std::vector<TensorId> inputs,
               std::vector<int64_t> shape, const std::vector<Value>& more = {}) {
    OpSpec op{.name = name, .type = type, .phase = phase_};
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.args.insert(op.args.end(), more.begin(), more.end());
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    return builder_.AddOp(std::move(op)).Take()[0];
  }

  GraphBuilder builder_{"batch", "aten"};
  Phase phase_ = Phase::kForward;
};

// Elements are moved and computed with at 4 bytes each: whatever the times, the shares are of y, z, alone and s.
TEST(WholeOnBatch, ListsWhatHasTheBatchAndIsWholeOnIt) {
  const Graph graph = BatchStep().Build();
  const NamedAxes axes(graph);
  ASSERT_TRUE(axes.batch().valid());
  const WholeOnBatch whole = FindWholeOnBatch(graph, axes).Take();
  ASSERT_EQ(whole.rows.size(), 2u);
  double share = 0;
  for (const WholeOnBatch::Row& row : whole.rows) {
    const bool product = row.type == "aten.cumprod.default";
    EXPECT_EQ(row.type, product ? "aten.cumprod.default" : "aten.unheard_of.default");
    EXPECT_EQ(row.reason, product ? "it needs all samples" : "no rule for its type");
    EXPECT_EQ(row.ops, 1);
    EXPECT_EQ(row.macs, 0);
    EXPECT_GT(row.share, 0);
    share += row.share;
  }
  EXPECT_DOUBLE_EQ(whole.share, share);
  EXPECT_LT(share, 1);
  const IdVector<GroupId, bool> none = FindUnsplitWrites(graph, axes, axes.batch());
  EXPECT_EQ(WhyWholeOnBatch(graph, axes, graph.FindOp("y"), none), "");
  EXPECT_EQ(WhyWholeOnBatch(graph, axes, graph.FindOp("alone"), none), "");
}

TEST(WholeOnBatch, ListsNothingWithoutABatch) {
  GraphBuilder builder("one", "aten");
  const TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {8, 4}).Take();
  OpSpec op{.name = "y", .type = "aten.unheard_of.default", .args = {Value(InputRef{0})}};
  op.inputs = {x};
  op.outputs = {{.name = "y", .shape = {8, 4}}};
  (void)builder.AddOp(std::move(op)).Take();
  const Graph graph = std::move(builder).Build().Take();
  EXPECT_TRUE(FindWholeOnBatch(graph, NamedAxes(graph)).Take().rows.empty());
}

}  // namespace
}  // namespace placewright
