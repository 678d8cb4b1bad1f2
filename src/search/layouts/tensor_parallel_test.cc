#include "search/layouts/tensor_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "search/layouts/test_layer_writer.h"
#include "sharding/mixture.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kBatch = 5, kLength = 6, kHidden = 8, kWidth = 16, kWords = 24;

// An embedding, a norm's scale and a perceptron with its residual; and in a backward pass two products that are summed over
// the width, added up and scaled.
class PerceptronStep {
 public:
  Graph Build() {
    builder_.set_batch(kBatch);
    const std::vector<int64_t> rows = {kBatch * kLength, kHidden}, wide = {rows[0], kWidth};
    const std::vector<int64_t> residual = {kBatch, kLength, kHidden};
    const TensorId words = Input("input:words", TensorKind::kInput, {kBatch, kLength});
    const TensorId table = Input("param:table", TensorKind::kParameter, {kWords, kHidden});
    const TensorId scale = Input("param:scale", TensorKind::kParameter, {kHidden});
    const TensorId up = Input("param:up", TensorKind::kParameter, {kHidden, kWidth});
    const TensorId down = Input("param:down", TensorKind::kParameter, {kWidth, kHidden});
    const TensorId found = Add("found", "aten.embedding.default", {table, words}, residual);
    const TensorId mask = Add("mask", "aten.neg.default", {words}, {kBatch, kLength});
    const TensorId normed = Add("normed", "aten.mul.Tensor", {found, scale}, residual);
    const TensorId flat = View("flat", normed, rows);
    const TensorId inner = Add("inner", "aten.mm.default", {flat, up}, wide);
    const TensorId bent = Add("bent", "aten.relu.default", {inner}, wide);
    const TensorId outer = Add("outer", "aten.mm.default", {bent, down}, rows);
    const TensorId back = View("back", outer, residual);
    const TensorId sum = Add("sum", "aten.add.Tensor", {found, back}, residual);
    phase_ = Phase::kBackward;
    const TensorId one = Add("one", "aten.mm.default", {bent, down}, rows);
    const TensorId two = Add("two", "aten.mm.default", {inner, down}, rows);
    const TensorId both = Add("both", "aten.add.Tensor", {one, two}, rows);
    const TensorId scaled = Add("scaled", "aten.mul.Tensor", {both, scale}, rows);
    builder_.SetOutputs({sum, scaled, mask});
    return Scaled(std::move(builder_).Build().Take());
  }

 private:
  TensorId Input(std::string name, TensorKind kind, std::vector<int64_t> shape) {
    return builder_.AddInput(std::move(name), kind, DType::kF32, std::move(shape)).Take();
  }
  TensorId Add(const char* name, const char* type, std::vector<TensorId> inputs,
               std::vector<int64_t> shape) {
    OpSpec op{.name = name, .type = type, .phase = phase_};
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    return builder_.AddOp(std::move(op)).Take()[0];
  }
  TensorId View(const char* name, TensorId of, std::vector<int64_t> shape) {
    Value::List sizes;
    for (const int64_t size : shape) sizes.push_back(Value(size));
    OpSpec op{.name = name, .type = "aten.view.default", .phase = phase_};
    op.args = {Value(InputRef{0}), Value(std::move(sizes))};
    op.inputs = {of};
    op.outputs = {
        {.name = name, .shape = std::move(shape), .alias = AliasKind::kView, .alias_of = 0}};
    return builder_.AddOp(std::move(op)).Take()[0];
  }
  static Graph Scaled(Graph graph) {
    BatchScaling laws;
    laws.sizes = {kBatch, kBatch + 1, 2 * kBatch + 3};
    for (const TensorId id : graph.tensors()) {
      const std::vector<int64_t>& shape = graph.tensor(id).shape;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] % kBatch != 0) continue;
        laws.dimensions.items.push_back({static_cast<int32_t>(d), shape[d] / kBatch});
      }
      laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
    }
    // The sizes that views state: of the flattened rows, and of the residual.
    laws.arguments.offsets.resize(graph.op_count() + 1, 0);
    for (const OpId op : graph.ops()) {
      if (graph.op(op).type == "aten.view.default") {
        laws.arguments.items.push_back({0, graph.op(op).name == "flat" ? kLength : 1});
      }
      laws.arguments.offsets[op.index() + 1] = static_cast<int32_t>(laws.arguments.items.size());
    }
    return WithBatchScaling(std::move(graph), laws).Take();
  }

  GraphBuilder builder_{"perceptron", "aten"};
  Phase phase_ = Phase::kForward;
};

// Two streams of tokens with a weight each, joined along them and multiplied; positions of the first are learned. 8 samples
// of `first` and `second` tokens.
class TwoStreams : private LayerWriter {
 public:
  Graph Build(int64_t first, int64_t second) {
    builder_.set_batch(8);
    const TensorId a = Stream("a", first, true), b = Stream("b", second, false);
    OpSpec cat{.name = "cat", .type = "aten.cat.default"};
    cat.inputs = {a, b};
    cat.args = {Value(Value::List{Value(InputRef{0}), Value(InputRef{1})}), Value(int64_t{1})};
    cat.outputs = {{.name = "cat", .shape = {8, first + second, 16}}};
    const TensorId both = builder_.AddOp(std::move(cat)).Take()[0];
    builder_.SetOutputs({Add("aten.relu.default", {both}, {8, first + second, 16})});
    return LayerWriter::Scaled(std::move(builder_).Build().Take(), 8);
  }

 private:
  TensorId Stream(const std::string& name, int64_t length, bool learned) {
    const std::vector<int64_t> shape = {8, length, 16};
    TensorId x = Input("input:" + name, TensorKind::kInput, shape);
    if (learned) {
      const TensorId places = Input("param:places", TensorKind::kParameter, {1, length, 16});
      x = Add("aten.add.Tensor", {x, places}, shape);
    }
    const TensorId scale = Input("param:scale_" + name, TensorKind::kParameter, {16});
    for (int i = 0; i < 3; ++i) x = Add("aten.mul.Tensor", {x, scale}, shape);
    return x;
  }
};

// Learned positions have tokens, scales have none; what joins both streams has tokens of its own, which are fewer.
TEST(TokenAxes, AreThoseOfEveryStream) {
  const Graph graph = TwoStreams().Build(6, 10);
  const NamedAxes axes(graph);
  const std::vector<AxisId> tokens = TokenAxes(graph, axes);
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_TRUE(axes.Holds(graph.FindTensor("input:a"), tokens[0]));
  EXPECT_TRUE(axes.Holds(graph.FindTensor("param:places"), tokens[0]));
  EXPECT_TRUE(axes.Holds(graph.FindTensor("input:b"), tokens[1]));
  EXPECT_TRUE(axes.Holds(graph.FindTensor("cat"), tokens[2]));
  const auto cuts = TensorCuts(graph, axes, {}, 2, /*sequence=*/true);
  const auto cut = [&](const char* op) { return cuts[graph.group(graph.FindOp(op))].over_group; };
  EXPECT_EQ(cut("op3"), tokens[0]);
  EXPECT_EQ(cut("op6"), tokens[1]);
  EXPECT_EQ(cut("op7"), tokens[2]);
}

// By op: the axis that is split over a group; "" none.
std::map<std::string, std::string> CutsOf(const Graph& graph, int64_t degree, bool sequence) {
  const NamedAxes axes(graph);
  ModelStructure structure;
  structure.widths = {axes.Find("param:up[1]")};
  const auto cuts = TensorCuts(graph, axes, structure, degree, sequence);
  std::map<std::string, std::string> by_op;
  for (const OpId op : graph.ops()) {
    const AxisId axis = cuts[graph.group(op)].over_group;
    by_op[std::string(graph.op(op).name)] = axis.valid() ? axes.axis(axis).name : "";
  }
  return by_op;
}

TEST(TensorCuts, SplitWordsPerceptronsAndElseTokens) {
  const Graph graph = PerceptronStep().Build();
  auto cuts = CutsOf(graph, 2, true);
  const std::string tokens = "input:words[1]", width = "param:up[1]", words = "param:table[0]";
  EXPECT_EQ(cuts["found"], words);
  for (const char* const op : {"inner", "bent", "outer", "one", "two"}) EXPECT_EQ(cuts[op], width);
  for (const char* const op : {"normed", "flat", "sum", "scaled"})
    EXPECT_EQ(cuts[op], tokens) << op;
  EXPECT_EQ(cuts["both"], "");  // sums that are completed once, behind it
  EXPECT_EQ(cuts["mask"], "");  // follows from no parameter
}

TEST(TensorCuts, WithoutSequenceParallelismLeaveTheRestWhole) {
  const Graph graph = PerceptronStep().Build();
  auto cuts = CutsOf(graph, 2, false);
  EXPECT_EQ(cuts["found"], "param:table[0]");
  EXPECT_EQ(cuts["inner"], "param:up[1]");
  for (const char* const op : {"normed", "sum", "scaled", "both"}) EXPECT_EQ(cuts[op], "") << op;
}

// Six tokens are no parts for eight GPUs; a width of 16 is.
TEST(TensorCuts, LeaveWholeWhatIsShorterThanAGroup) {
  const Graph graph = PerceptronStep().Build();
  auto cuts = CutsOf(graph, 8, true);
  EXPECT_EQ(cuts["normed"], "");
  EXPECT_EQ(cuts["inner"], "param:up[1]");
}

TEST(ChooseDegree, TakesWhatDividesAndNamesIt) {
  const DegreeChoice heads = {"tensor", "tensor", "heads", 12, 16, 0};
  EXPECT_EQ(ChooseDegree(heads).Take(), 4);  // of 2 and 4
  DegreeChoice many = heads;
  many.size = 64;
  EXPECT_EQ(ChooseDegree(many).Take(), 8);  // 16 divides, too
  many.asked = 16;
  EXPECT_EQ(ChooseDegree(many).Take(), 16);
  many.asked = 3;
  const Error refused = ChooseDegree(many).error();
  EXPECT_THAT(refused.ToString(), HasSubstr("--set tensor=3"));
  EXPECT_EQ(refused.remedy, "Take one of 2, 4, 8, 16.");
  many = heads;
  many.size = 0;
  EXPECT_EQ(ChooseDegree(many).error().code, ErrorCode::kUsage);
}

// GPU i of 2 groups of 2 has part i % 2 of the width and part i / 2 of the samples.
TEST(LayoutOfCut, GroupsDevicesThatFollowOneAnother) {
  const Graph graph = PerceptronStep().Build();
  const NamedAxes axes(graph);
  const AxisId width = axes.Find("param:up[1]");
  ASSERT_TRUE(width.valid());
  const Layout layout = LayoutOfCut(axes, {width, axes.batch()},
                                    {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)}, 2);
  EXPECT_EQ(layout.shares[1].Along(width), (Interval{8, 16}));
  EXPECT_EQ(layout.shares[1].Along(axes.batch()), (Interval{0, 2}));
  EXPECT_EQ(layout.shares[2].Along(width), (Interval{0, 8}));
  EXPECT_EQ(layout.shares[2].Along(axes.batch()), (Interval{2, 5}));
}

// Of 4 groups of 2 on two hosts: shards over the two groups of a host, the same on the other one; samples over all four.
TEST(LayoutOfCut, ShardsOfHostsRepeatOnTheNextOne) {
  const Graph graph = PerceptronStep().Build();
  const NamedAxes axes(graph);
  const AxisId width = axes.Find("param:up[1]");
  AxisId inputs;
  for (const TensorId id : graph.tensors()) {
    if (graph.tensor(id).name == "param:up") inputs = axes.factors(id, 0).front();
  }
  std::vector<DeviceId> devices;
  for (size_t i = 0; i < 8; ++i) devices.emplace_back(i);
  const Layout shards = LayoutOfCut(axes, {width, inputs}, devices, 2, /*shards=*/2);
  for (const size_t i : {2, 3, 6, 7}) {
    EXPECT_EQ(shards.shares[i].Along(inputs), (Interval{4, 8})) << i;
    EXPECT_EQ(shards.shares[i - 2].Along(inputs), (Interval{0, 4})) << i - 2;
    EXPECT_EQ(shards.shares[i].Along(width), (i % 2 == 0 ? Interval{0, 8} : Interval{8, 16})) << i;
  }
  const Layout samples = LayoutOfCut(axes, {width, axes.batch()}, devices, 2, /*shards=*/2);
  EXPECT_EQ(samples.shares[7].Along(axes.batch()), EqualPart(3, 4, {0, kBatch}));
}

// From the sort to the return by experts, where a group has no more GPUs than there are; else by the width of their
// products, which most ops in between do not have.
TEST(TensorCuts, RowsOfExpertsAreCutAlike) {
  const Graph graph = MixtureOfExperts(/*biased=*/false).Build();
  const NamedAxes axes(graph);
  ModelStructure structure;
  structure.experts = {axes.Find("param:w[0]")};
  structure.widths = {axes.Find("param:w[2]")};
  ASSERT_TRUE(structure.experts[0].valid() && structure.widths[0].valid());
  for (const int64_t degree : {2, 4}) {
    const auto cuts = TensorCuts(graph, axes, structure, degree, /*sequence=*/true);
    const TensorCut due = {degree == 2 ? structure.experts[0] : structure.widths[0], axes.batch()};
    for (const char* const op : {"sort", "rows", "ends", "y", "relu", "back", "home", "of_w"}) {
      EXPECT_EQ(cuts[graph.group(graph.FindOp(op))], due) << degree << " " << op;
    }
  }
}

}  // namespace
}  // namespace placewright
