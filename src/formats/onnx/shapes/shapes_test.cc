// Where shapes come from: stored types, libonnx, folding, rules of our own, assumptions, --batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/onnx/shapes/fold.h"
#include "formats/onnx/shapes/shape_rules.h"
#include "formats/onnx/test_models.h"

namespace placewright::onnx_import {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// y = Reshape(x, [Shape(x)[0] * 3, -1]): 2 x 12 -> 6 x 4.
TEST(OnnxShapes, ShapeArithmeticIsFolded) {
  auto model = MakeModel({2, 12});
  auto* graph = model.mutable_graph();
  AddInts(graph, "zero", {0});
  AddInts(graph, "three", {3});
  AddInts(graph, "rest", {-1});
  AddNode(graph, "Shape", {"x"}, {"shape"});
  AddNode(graph, "Gather", {"shape", "zero"}, {"rows"});
  AddNode(graph, "Mul", {"rows", "three"}, {"many"});
  SetInt(AddNode(graph, "Concat", {"many", "rest"}, {"target"}), "axis", 0);
  AddNode(graph, "Reshape", {"x", "target"}, {"y"});
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_THAT(ShapeOf(read.value(), "y"), ElementsAre(6, 4));
}

// Through floats, as resizing exports do: floor(5 * 1.5) = 7 columns.
TEST(OnnxShapes, FloatArithmeticOnShapesIsFolded) {
  auto model = MakeModel({4, 5});
  auto* graph = model.mutable_graph();
  AddInts(graph, "one", {1});
  AddInts(graph, "four", {4});
  auto* factor = AddFloats(graph, "factor", {1});
  factor->set_float_data(0, 1.5f);
  AddFloats(graph, "value", {1, 1});
  AddNode(graph, "Shape", {"x"}, {"shape"});
  AddNode(graph, "Gather", {"shape", "one"}, {"columns"});
  SetInt(AddNode(graph, "Cast", {"columns"}, {"real"}), "to", onnx::TensorProto::FLOAT);
  AddNode(graph, "Mul", {"real", "factor"}, {"scaled"});
  AddNode(graph, "Floor", {"scaled"}, {"whole"});
  SetInt(AddNode(graph, "Cast", {"whole"}, {"integer"}), "to", onnx::TensorProto::INT64);
  SetInt(AddNode(graph, "Concat", {"four", "integer"}, {"target"}), "axis", 0);
  AddNode(graph, "Expand", {"value", "target"}, {"y"});
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_THAT(ShapeOf(read.value(), "y"), ElementsAre(4, 7));
}

std::vector<int64_t> FoldInts(const onnx::NodeProto& node, const std::vector<SmallTensor>& values) {
  std::vector<FoldInput> inputs;
  for (const auto& value : values) inputs.push_back({&value, &value.dims, true});
  const auto folded = Fold(node, inputs);
  return folded ? folded->front().ints : std::vector<int64_t>{-999};
}

SmallTensor List(std::vector<int64_t> values) {
  SmallTensor tensor;
  tensor.dims = {static_cast<int64_t>(values.size())};
  tensor.ints = std::move(values);
  return tensor;
}

TEST(OnnxShapes, FoldingRules) {
  onnx::GraphProto graph;
  const auto node = [&](const char* type) { return AddNode(&graph, type, {"a", "b"}, {"y"}); };
  const SmallTensor a = List({7, -7, 5});
  EXPECT_THAT(FoldInts(*node("Div"), {a, List({2})}), ElementsAre(3, -3, 2));  // towards zero
  EXPECT_THAT(FoldInts(*node("Mod"), {a, List({4})}), ElementsAre(3, 1, 1));   // divisor's sign
  EXPECT_THAT(FoldInts(*node("Max"), {a, List({0})}), ElementsAre(7, 0, 5));
  EXPECT_THAT(FoldInts(*node("Equal"), {a, List({5})}), ElementsAre(0, 0, 1));
  EXPECT_THAT(FoldInts(*node("Where"), {List({1, 0, 1}), a, List({9})}), ElementsAre(7, 9, 5));
  EXPECT_THAT(FoldInts(*node("ReduceProd"), {a}), ElementsAre(-245));  // 7 * -7 * 5
  EXPECT_THAT(FoldInts(*node("Range"), {List({3}), List({10}), List({3})}), ElementsAre(3, 6, 9));
  EXPECT_THAT(FoldInts(*node("Range"), {List({3}), List({-3}), List({-2})}), ElementsAre(3, 1, -1));
  EXPECT_THAT(FoldInts(*node("Tile"), {List({1, 2}), List({2})}), ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(FoldInts(*node("Size"), {a}), ElementsAre(3));
  // starts, ends, axes, steps: all from the end backwards by two
  EXPECT_THAT(FoldInts(*node("Slice"), {a, List({-1}), List({INT64_MIN}), List({0}), List({-2})}),
              ElementsAre(5, 7));
  EXPECT_THAT(FoldInts(*node("Slice"), {a, List({1}), List({INT64_MAX})}), ElementsAre(-7, 5));
  // what has no value stays unknown: overflow, division by zero, an index out of range
  EXPECT_THAT(FoldInts(*node("Mul"), {List({INT64_MAX}), List({2})}), ElementsAre(-999));
  EXPECT_THAT(FoldInts(*node("Div"), {a, List({0})}), ElementsAre(-999));
  EXPECT_THAT(FoldInts(*node("Div"), {List({INT64_MIN}), List({-1})}), ElementsAre(-999));
  EXPECT_THAT(FoldInts(*node("Gather"), {a, List({3})}), ElementsAre(-999));
  EXPECT_THAT(FoldInts(*node("ConstantOfShape"), {List({INT64_MAX})}), ElementsAre(-999));
  EXPECT_THAT(FoldInts(*node("Range"), {List({0}), List({INT64_MAX}), List({1})}),
              ElementsAre(-999));
}

TEST(OnnxShapes, EinsumEquations) {
  using Shapes = std::vector<std::vector<int64_t>>;
  EXPECT_THAT(*EinsumShape("bij, bjk -> bik", Shapes{{2, 3, 4}, {2, 4, 5}}), ElementsAre(2, 3, 5));
  EXPECT_THAT(*EinsumShape("...i,i...->...", Shapes{{7, 6, 4}, {4, 6}}), ElementsAre(7, 6));
  EXPECT_THAT(*EinsumShape("ij,jk", Shapes{{3, 4}, {4, 5}}), ElementsAre(3, 5));
  EXPECT_THAT(*EinsumShape("ii->", Shapes{{3, 3}}), ElementsAre());
  EXPECT_FALSE(EinsumShape("ij,jk->ik", Shapes{{3, 4}, {5, 5}}).has_value());
  EXPECT_FALSE(EinsumShape("ij->ik", Shapes{{3, 4}}).has_value());
  EXPECT_FALSE(EinsumShape("ij,jk->ik", Shapes{{3, 4}}).has_value());
  EXPECT_FALSE(EinsumShape("", Shapes{{3, 4}}).has_value());
}

// Definitions newer than the installed libonnx: opset 18 axes as inputs, uneven Split, opset 20
// Gelu.
TEST(OnnxShapes, NewerOpsets) {
  auto model = MakeModel({2, 7, 5}, 23);
  model.set_ir_version(11);
  auto* graph = model.mutable_graph();
  AddInts(graph, "axes", {1, -1});
  AddInts(graph, "last", {-1});
  AddInts(graph, "pads", {1, 2});
  SetInt(AddNode(graph, "ReduceMean", {"x", "axes"}, {"mean"}), "keepdims", 0);
  SetInt(AddNode(graph, "Split", {"x"}, {"s0", "s1", "s2"}), "axis", 1);
  SetInt(graph->mutable_node(1), "num_outputs", 3);
  AddNode(graph, "Pad", {"x", "pads", "", "last"}, {"padded"});
  AddNode(graph, "Gelu", {"x"}, {"gelu"});
  AddNode(graph, "MatMul", {"gelu", "w"}, {"product"});
  AddFloats(graph, "w", {5, 3});
  OnnxReport report;
  const auto read = ReadModel(model, {}, &report);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_THAT(ShapeOf(read.value(), "mean"), ElementsAre(2));
  EXPECT_THAT(ShapeOf(read.value(), "s0"), ElementsAre(2, 3, 5));  // 7 = 3 + 3 + 1
  EXPECT_THAT(ShapeOf(read.value(), "s2"), ElementsAre(2, 1, 5));
  EXPECT_THAT(ShapeOf(read.value(), "padded"), ElementsAre(2, 7, 8));
  EXPECT_THAT(ShapeOf(read.value(), "product"), ElementsAre(2, 7, 3));
  EXPECT_TRUE(report.assumed_shapes.empty());
}

// A loop of four trips: the state keeps its shape, what it collects has four rows.
TEST(OnnxShapes, LoopsKeepTheShapeOfTheirState) {
  auto model = MakeModel({2, 3});
  auto* graph = model.mutable_graph();
  AddInts(graph, "trips", {4})->clear_dims();
  auto* node = AddNode(graph, "Loop", {"trips", "", "x"}, {"last", "all"}, "loop");
  auto* body = SetGraph(node, "body");
  SetType(body->add_input(), "i", {}, onnx::TensorProto::INT64);
  SetType(body->add_input(), "go", {}, onnx::TensorProto::BOOL);
  body->add_input()->set_name("state");
  AddNode(body, "Identity", {"go"}, {"go_on"});
  AddNode(body, "Relu", {"state"}, {"next"});
  AddNode(body, "Relu", {"next"}, {"row"});
  for (const char* name : {"go_on", "next", "row"}) body->add_output()->set_name(name);
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_THAT(ShapeOf(read.value(), "last"), ElementsAre(2, 3));
  EXPECT_THAT(ShapeOf(read.value(), "all"), ElementsAre(4, 2, 3));
}

// An operator of a foreign domain: the shape of its largest input that is no constant, and so on
// for a known operator that cannot do with that; a stored type is believed.
TEST(OnnxShapes, UnknownOperatorsAreAssumed) {
  auto model = MakeModel({4, 6});
  auto* graph = model.mutable_graph();
  AddFloats(graph, "table", {100, 6});
  AddFloats(graph, "w", {5, 3});
  AddNode(graph, "Odd", {"x", "table"}, {"a"}, "odd")->set_domain("org.example");
  AddNode(graph, "MatMul", {"a", "w"}, {"b"}, "product");  // 6 does not meet 5
  AddNode(graph, "Odd", {"x"}, {"c"}, "stated")->set_domain("org.example");
  SetType(graph->add_value_info(), "c", {9});
  OnnxReport report;
  const auto read = ReadModel(model, {}, &report);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_THAT(ShapeOf(read.value(), "a"), ElementsAre(4, 6));
  EXPECT_THAT(ShapeOf(read.value(), "b"), ElementsAre(4, 6));
  EXPECT_THAT(ShapeOf(read.value(), "c"), ElementsAre(9));
  EXPECT_THAT(report.assumed_shapes, ElementsAre("odd (org.example.Odd)", "product (MatMul)"));
  EXPECT_EQ(read.value().op(OpId(0)).type, "org.example.Odd");
}

TEST(OnnxShapes, AKnownOperatorThatDoesNotFitIsAnError) {
  auto model = MakeModel({4, 6});
  AddFloats(model.mutable_graph(), "w", {5, 3});
  AddNode(model.mutable_graph(), "MatMul", {"x", "w"}, {"b"}, "product");
  const auto read = ReadModel(model);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kGraphShape);
  EXPECT_THAT(read.error().message, HasSubstr("'b', made by MatMul 'product'"));
}

// Two inputs share the batch of 4, the third does not; the symbol recurs in a second dimension.
TEST(OnnxShapes, BatchOfGraphInputs) {
  auto fixed = MakeModel({4, 6});
  SetType(fixed.mutable_graph()->add_input(), "ids", {4}, onnx::TensorProto::INT64);
  SetType(fixed.mutable_graph()->add_input(), "table", {5, 6});
  AddNode(fixed.mutable_graph(), "Relu", {"x"}, {"y"});
  SetType(fixed.mutable_graph()->add_value_info(), "y", {4, 6});  // dropped
  OnnxOptions options;
  options.batch = 9;
  const auto read = ReadModel(fixed, options);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_THAT(ShapeOf(read.value(), "y"), ElementsAre(9, 6));
  EXPECT_THAT(ShapeOf(read.value(), "ids"), ElementsAre(9));
  EXPECT_THAT(ShapeOf(read.value(), "table"), ElementsAre(5, 6));
  EXPECT_EQ(read.value().batch(), 9);

  auto symbolic = MakeModel({4, 6});
  const auto dim = [&](int i) {
    return symbolic.mutable_graph()
        ->mutable_input(i)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape();
  };
  dim(0)->mutable_dim(0)->set_dim_param("n");
  SetType(symbolic.mutable_graph()->add_input(), "past", {2, 0, 6});
  dim(1)->mutable_dim(1)->set_dim_param("n");
  dim(1)->mutable_dim(2)->set_dim_param("length");
  AddNode(symbolic.mutable_graph(), "Relu", {"past"}, {"y"});
  EXPECT_FALSE(ReadModel(symbolic, options).ok());  // "length" is open
  options.dimensions["length"] = 7;
  const auto both = ReadModel(symbolic, options);
  ASSERT_TRUE(both.ok()) << both.error().ToString();
  EXPECT_THAT(ShapeOf(both.value(), "x"), ElementsAre(9, 6));
  EXPECT_THAT(ShapeOf(both.value(), "y"), ElementsAre(2, 9, 7));

  options.batch = 0;
  options.dimensions.clear();
  EXPECT_EQ(ReadModel(fixed, options).error().code, ErrorCode::kField);
}

// A sequence-first input: metadata says which dimension is the batch.
TEST(OnnxShapes, RecordedBatchTellsTheDimension) {
  auto model = MakeModel({40, 4});
  auto* entry = model.add_metadata_props();
  entry->set_key("batch");
  entry->set_value("tiny_b4_s40");
  AddNode(model.mutable_graph(), "Relu", {"x"}, {"y"});
  EXPECT_EQ(ReadModel(model).value().batch(), 4);
  OnnxOptions options;
  options.batch = 9;
  EXPECT_THAT(ShapeOf(ReadModel(model, options).value(), "y"), ElementsAre(40, 9));
}

}  // namespace
}  // namespace placewright::onnx_import
