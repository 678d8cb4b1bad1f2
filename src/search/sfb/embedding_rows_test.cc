#include "search/sfb/embedding_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/batch/batch_scaling.h"
#include "graph/graph_builder.h"
#include "sharding/named_axes.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kWidth = 8, kBatch = 4;

// y0 = rows of w [words 8] for 4 tokens, of which relu stands for the gradient's rows; dw0 their sum by word; w -= dw0.
// Rows and indices of a lookup have 4 * 8 * 4 + 4 * 8 = 160 B, the table 32 B a word.
class LookedUpStep {
 public:
  explicit LookedUpStep(int64_t words) : words_(words) {
    builder_.set_batch(kBatch);
    table_ = Input("param:w", TensorKind::kParameter, DType::kF32, {words, kWidth}, -1);
  }

  TensorId LookUp(const std::string& i) {
    const TensorId tokens = Input("input:" + i, TensorKind::kInput, DType::kI64, {kBatch}, 0);
    const TensorId y = Add("y" + i, "aten.embedding.default", {table_, tokens}, {kBatch, kWidth}, 0,
                           Phase::kForward);
    rows_ = Add("dy" + i, "aten.relu.default", {y}, {kBatch, kWidth}, 0, Phase::kBackward);
    return Add("dw" + i, "aten.embedding_dense_backward.default", {rows_, tokens}, {words_, kWidth},
               -1, Phase::kBackward, {Value(words_), Value(int64_t{-1}), Value(false)});
  }
  // The gradient of the table as scores of all words, of the last lookup's rows.
  TensorId Scores() {
    const TensorId scores =
        Input("input:scores", TensorKind::kInput, DType::kF32, {words_, kBatch}, 1);
    return Add("dh", "aten.mm.default", {scores, rows_}, {words_, kWidth}, -1, Phase::kBackward);
  }
  TensorId Sum(TensorId a, TensorId b) {
    return Add("sum", "aten.add.Tensor", {a, b}, {words_, kWidth}, -1, Phase::kBackward);
  }
  Graph Update(TensorId gradient) {
    const TensorId updated =
        Add("w1", "aten.sub_.Tensor", {table_, gradient}, {words_, kWidth}, -1, Phase::kOptimizer);
    builder_.SetOutputs({updated});
    Graph graph = std::move(builder_).Build().Take();
    laws_.sizes = {kBatch, kBatch + 1, 2 * kBatch + 3};
    laws_.arguments.offsets.resize(graph.op_count() + 1, 0);
    return WithBatchScaling(std::move(graph), laws_).Take();
  }

 private:
  TensorId Input(const std::string& name, TensorKind kind, DType dtype, std::vector<int64_t> shape,
                 int32_t batch) {
    Scale(batch);
    return builder_.AddInput(name, kind, dtype, std::move(shape)).Take();
  }
  TensorId Add(const std::string& name, const char* type, std::vector<TensorId> inputs,
               std::vector<int64_t> shape, int32_t batch, Phase phase,
               std::vector<Value> further = {}) {
    OpSpec op{.name = name, .type = type, .phase = phase};
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    for (Value& value : further) op.args.push_back(std::move(value));
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    if (phase == Phase::kOptimizer) {
      op.outputs[0].alias = AliasKind::kInPlace;
      op.outputs[0].alias_of = 0;
    }
    Scale(batch);
    return builder_.AddOp(std::move(op)).Take()[0];
  }
  // The dimension of the next tensor that the samples are, or -1.
  void Scale(int32_t batch) {
    if (batch >= 0) laws_.dimensions.items.push_back({batch, 1});
    laws_.dimensions.offsets.push_back(static_cast<int32_t>(laws_.dimensions.items.size()));
  }

  GraphBuilder builder_{"step", "aten"};
  BatchScaling laws_;
  const int64_t words_;
  TensorId table_, rows_;
};

// Samples over two devices; the table's update by `update`, or with the samples.
class Laid {
 public:
  explicit Laid(const Graph& graph) : graph_(graph), axes_(graph) {
    layouts_.layouts = {SplitOver(axes_.batch(), {DeviceId(0), DeviceId(1)}, {2, 2})};
    layouts_.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
  }
  void Set(const char* op, Layout layout) {
    layouts_.of_group[GroupOf(op)] = LayoutId(layouts_.layouts.size());
    layouts_.layouts.push_back(std::move(layout));
  }
  EmbeddingRows Gather() const { return GatherEmbeddingRows(graph_, axes_, layouts_); }
  std::vector<std::string> Moved() const {
    std::vector<std::string> names;
    const EmbeddingRows rows = Gather();
    for (const OpId op : graph_.ops()) {
      const GroupId group = graph_.group(op);
      if (rows.layouts.Of(group) != layouts_.Of(group)) names.push_back(graph_.op(op).name);
    }
    EXPECT_EQ(names.size(), rows.moved.size());
    return names;
  }
  GroupId GroupOf(const char* op) const { return graph_.group(graph_.FindOp(op)); }
  AxisId Words() const { return axes_.factors(graph_.FindTensor("param:w"), 0).front(); }

 private:
  const Graph& graph_;
  const NamedAxes axes_;
  Layouts layouts_;
};

// Every device makes the whole gradient; the table is there, so that lookups stay with their samples.
TEST(EmbeddingRows, AreGatheredByAllThatUpdateTheTable) {
  LookedUpStep step(6);
  const Graph graph = step.Update(step.LookUp("0"));
  const Laid laid(graph);
  EXPECT_THAT(laid.Moved(), ElementsAre("dw0"));
  EXPECT_EQ(laid.Gather().gradients, 1);
  EXPECT_EQ(laid.Gather().layouts.Of(laid.GroupOf("dw0")), CopiesOn({DeviceId(0), DeviceId(1)}));
}

// 160 B of rows and indices are no less than 5 words.
TEST(EmbeddingRows, AreFewerBytesThanTheTable) {
  LookedUpStep step(5);
  const Graph graph = step.Update(step.LookUp("0"));
  EXPECT_THAT(Laid(graph).Moved(), IsEmpty());
  EXPECT_EQ(Laid(graph).Gather().gradients, 0);
}

TEST(EmbeddingRows, GoToTheParametersServer) {
  LookedUpStep step(6);
  const Graph graph = step.Update(step.LookUp("0"));
  Laid laid(graph);
  laid.Set("w1", PlacedOn(DeviceId(1)));
  EXPECT_THAT(laid.Moved(), ElementsAre("y0", "dw0"));
  EXPECT_EQ(laid.Gather().layouts.Of(laid.GroupOf("dw0")), PlacedOn(DeviceId(1)));
  EXPECT_EQ(laid.Gather().layouts.Of(laid.GroupOf("y0")), PlacedOn(DeviceId(1)));
}

TEST(EmbeddingRows, GoToThePartsOfTheTable) {
  LookedUpStep step(6);
  const Graph graph = step.Update(step.LookUp("0"));
  Laid laid(graph);
  const Layout parts = SplitOver(laid.Words(), {DeviceId(0), DeviceId(1)}, {3, 3});
  laid.Set("w1", parts);
  EXPECT_THAT(laid.Moved(), ElementsAre("y0", "dw0"));
  EXPECT_EQ(laid.Gather().layouts.Of(laid.GroupOf("dw0")), parts);
}

// A table that is looked up twice: 320 B are less than 11 words, not than 10.
TEST(EmbeddingRows, OfSeveralLookupsCountTogether) {
  for (const int64_t words : {10, 11}) {
    LookedUpStep step(words);
    const TensorId first = step.LookUp("0"), second = step.LookUp("1");
    const Graph graph = step.Update(step.Sum(first, second));
    if (words == 10) {
      EXPECT_THAT(Laid(graph).Moved(), IsEmpty());
    } else {
      EXPECT_THAT(Laid(graph).Moved(), ElementsAre("dw0", "dw1", "sum"));
    }
  }
}

// What scores give is dense, so that the sum is, too.
TEST(EmbeddingRows, OfATableThatScoresUseStayWhereTheyAre) {
  LookedUpStep step(100);
  const TensorId looked_up = step.LookUp("0");
  const Graph graph = step.Update(step.Sum(looked_up, step.Scores()));
  EXPECT_THAT(Laid(graph).Moved(), IsEmpty());
}

// Of a step on one device nothing crosses.
TEST(EmbeddingRows, AreGatheredOfSamplesThatAreSplit) {
  LookedUpStep step(6);
  const Graph graph = step.Update(step.LookUp("0"));
  Laid laid(graph);
  laid.Set("dw0", PlacedOn(DeviceId(0)));
  EXPECT_THAT(laid.Moved(), IsEmpty());
}

}  // namespace
}  // namespace placewright
