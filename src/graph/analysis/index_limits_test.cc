#include "graph/analysis/index_limits.h"

#include <gtest/gtest.h>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

Value Input(int32_t index) { return Value(InputRef{index}); }
Value Number(int64_t number) { return Value(number); }

class IndexLimit : public ::testing::Test {
 protected:
  TensorId Integers(const std::string& name, std::vector<int64_t> shape) {
    return builder_.AddInput(name, TensorKind::kInput, DType::kI64, std::move(shape)).Take();
  }
  TensorId Floats(const std::string& name, std::vector<int64_t> shape) {
    return builder_.AddInput(name, TensorKind::kParameter, DType::kF32, std::move(shape)).Take();
  }
  TensorId Op(const std::string& type, std::vector<TensorId> inputs, std::vector<Value> args,
              DType dtype = DType::kF32, std::vector<int64_t> shape = {4}) {
    OpSpec op;
    op.name = "op" + std::to_string(ops_++);
    op.type = type;
    op.inputs = std::move(inputs);
    op.args = std::move(args);
    op.outputs = {{op.name, dtype, std::move(shape)}};
    return builder_.AddOp(std::move(op)).Take().front();
  }
  int64_t LimitOf(TensorId tensor) {
    if (!graph_) graph_ = std::move(builder_).Build().Take();
    return IndexLimits(*graph_)[tensor];
  }

  GraphBuilder builder_{"limits", "aten"};
  std::optional<Graph> graph_;
  int ops_ = 0;
};

TEST_F(IndexLimit, RowsOfATable) {
  const TensorId ids = Integers("ids", {4}), table = Floats("table", {50, 8});
  Op("aten.embedding.default", {table, ids}, {Input(0), Input(1)});
  EXPECT_EQ(LimitOf(ids), 50);
  EXPECT_EQ(LimitOf(table), 0);
}

TEST_F(IndexLimit, TheSmallestOfSeveralHoldsThroughCopiesAndClamps) {
  const TensorId ids = Integers("ids", {4}), large = Floats("large", {50, 8}),
                 small = Floats("small", {7, 8});
  const TensorId copy = Op("aten.clone.default", {ids}, {Input(0)}, DType::kI64);
  const TensorId within =
      Op("aten.clamp.default", {copy}, {Input(0), Number(0), Number(9)}, DType::kI64);
  Op("aten.embedding.default", {small, within}, {Input(0), Input(1)});
  Op("aten.embedding.default", {large, ids}, {Input(0), Input(1)});
  EXPECT_EQ(LimitOf(ids), 7);
}

TEST_F(IndexLimit, ClassesOfALoss) {
  const TensorId images = Floats("images", {4, 10, 3, 3}), scores = Floats("scores", {10});
  const TensorId of_images = Integers("of_images", {4, 3, 3}), one = Integers("one", {});
  const TensorId backward = Integers("backward", {4});
  const TensorId rows = Floats("rows", {4, 6}), gradient = Floats("gradient", {});
  Op("aten.nll_loss2d_forward.default", {images, of_images}, {Input(0), Input(1)});
  Op("aten.nll_loss_forward.default", {scores, one}, {Input(0), Input(1)});
  Op("aten.nll_loss_backward.default", {gradient, rows, backward}, {Input(0), Input(1), Input(2)});
  EXPECT_EQ(LimitOf(of_images), 10);
  EXPECT_EQ(LimitOf(one), 10);
  EXPECT_EQ(LimitOf(backward), 6);
}

TEST_F(IndexLimit, PositionsAlongADimension) {
  const TensorId self = Floats("self", {4, 9});
  const TensorId gathered = Integers("gathered", {4, 2}), selected = Integers("selected", {3}),
                 second = Integers("second", {5});
  Op("aten.gather.default", {self, gathered}, {Input(0), Number(-1), Input(1)});
  Op("aten.index_select.default", {self, selected}, {Input(0), Number(0), Input(1)});
  Op("aten.index.Tensor", {self, second}, {Input(0), Value(Value::List{Value(), Input(1)})});
  EXPECT_EQ(LimitOf(gathered), 9);
  EXPECT_EQ(LimitOf(selected), 4);
  EXPECT_EQ(LimitOf(second), 9);
}

TEST(HidingMask, IsWhatIsFilled) {
  GraphBuilder builder("masks", "aten");
  const auto mask = [&](const std::string& name) {
    return builder.AddInput(name, TensorKind::kInput, DType::kBool, {4}).Take();
  };
  const TensorId scores = builder.AddInput("scores", TensorKind::kInput, DType::kF32, {4}).Take();
  const TensorId hidden = mask("hidden"), shown = mask("shown");
  const auto add = [&](std::string name, std::string type, std::vector<TensorId> inputs,
                       DType dtype) {
    OpSpec op;
    op.name = name;
    op.type = std::move(type);
    for (size_t i = 0; i < inputs.size(); ++i) op.args.push_back(Input(static_cast<int32_t>(i)));
    op.inputs = std::move(inputs);
    op.outputs = {{name, dtype, {4}}};
    return builder.AddOp(std::move(op)).Take().front();
  };
  const TensorId copy = add("copy", "aten.clone.default", {hidden}, DType::kBool);
  add("filled", "aten.masked_fill.Scalar", {scores, copy}, DType::kF32);
  add("chosen", "aten.where.self", {shown, scores, scores}, DType::kF32);
  const Graph graph = std::move(builder).Build().Take();
  const IdVector<TensorId, bool> hides = HidingMasks(graph);
  EXPECT_TRUE(hides[hidden]);
  EXPECT_FALSE(hides[shown]);
  EXPECT_FALSE(hides[scores]);
}

TEST_F(IndexLimit, ArithmeticSetsNone) {
  const TensorId mask = Integers("mask", {4});
  Op("aten.rsub.Scalar", {mask}, {Input(0), Number(1)}, DType::kI64);
  EXPECT_EQ(LimitOf(mask), 0);
}

// Of the same numbers, some are rows of a table, others what a loss wants, and some both.
TEST_F(IndexLimit, UsesOfIntegers) {
  const TensorId ids = Integers("ids", {4}), wanted = Integers("wanted", {4}),
                 both = Integers("both", {4}), lengths = Integers("lengths", {4}),
                 table = Floats("table", {50, 8}), scores = Floats("scores", {4, 10});
  const TensorId copy = Op("aten.clone.default", {both}, {Input(0)}, DType::kI64);
  Op("aten.embedding.default", {table, ids}, {Input(0), Input(1)});
  Op("aten.embedding.default", {table, both}, {Input(0), Input(1)});
  Op("aten.nll_loss_forward.default", {scores, wanted}, {Input(0), Input(1)});
  Op("aten.nll_loss_backward.default", {scores, scores, copy}, {Input(0), Input(1), Input(2)});
  Op("aten.ge.Tensor", {lengths, lengths}, {Input(0), Input(1)}, DType::kBool);
  graph_ = std::move(builder_).Build().Take();
  const IdVector<TensorId, IntegerUse> uses = IntegerUses(*graph_);
  EXPECT_TRUE(uses[ids].token && !uses[ids].target);
  EXPECT_TRUE(!uses[wanted].token && uses[wanted].target);
  EXPECT_TRUE(uses[both].token && uses[both].target);
  EXPECT_TRUE(!uses[lengths].token && !uses[lengths].target);
}

}  // namespace
}  // namespace placewright
