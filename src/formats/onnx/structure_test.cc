// What becomes an op, an edge, a tensor of which kind: rules of the reader on models of a few
// nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/onnx/emit.h"
#include "formats/onnx/test_models.h"

namespace placewright::onnx_import {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TensorKind KindOf(const Graph& graph, const std::string& name) {
  const TensorId id = graph.FindTensor(name);
  EXPECT_TRUE(id.valid()) << name;
  return id.valid() ? graph.tensor(id).kind : TensorKind::kInput;
}

TEST(OnnxStructure, NodesInAnyOrder) {
  auto model = MakeModel({2, 3});
  AddNode(model.mutable_graph(), "Tanh", {"b"}, {"c"}, "third");
  AddNode(model.mutable_graph(), "Exp", {"a"}, {"b"}, "second");
  AddNode(model.mutable_graph(), "Relu", {"x"}, {"a"}, "first");
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read.value().edge_count(), 2u);
  EXPECT_EQ(read.value().op(OpId(0)).name, "first");
  EXPECT_EQ(read.value().op(OpId(2)).name, "third");
}

TEST(OnnxStructure, ACycleNamesANodeOnIt) {
  auto model = MakeModel({2});
  AddNode(model.mutable_graph(), "Relu", {"x"}, {"a"}, "fine");
  AddNode(model.mutable_graph(), "Add", {"a", "d"}, {"b"}, "ring1");
  AddNode(model.mutable_graph(), "Relu", {"b"}, {"d"}, "ring2");
  AddNode(model.mutable_graph(), "Relu", {"d"}, {"e"}, "behind");
  const auto read = ReadModel(model);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kGraphCycle);
  EXPECT_THAT(read.error().place, HasSubstr("ring"));
}

TEST(OnnxStructure, TwoProducersOfOneTensor) {
  auto nodes = MakeModel({2});
  AddNode(nodes.mutable_graph(), "Relu", {"x"}, {"a"});
  AddNode(nodes.mutable_graph(), "Tanh", {"x"}, {"a"});
  auto input = MakeModel({2});
  AddNode(input.mutable_graph(), "Relu", {"x"}, {"x"});
  auto initializers = MakeModel({2});
  AddFloats(initializers.mutable_graph(), "w", {2});
  AddFloats(initializers.mutable_graph(), "w", {2});
  AddNode(initializers.mutable_graph(), "Add", {"x", "w"}, {"y"});
  for (const auto& model : {nodes, input, initializers}) {
    const auto read = ReadModel(model);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kDuplicateName);
  }
}

TEST(OnnxStructure, UnknownTensorNamesNearOnes) {
  auto model = MakeModel({2});
  AddNode(model.mutable_graph(), "Relu", {"x"}, {"hidden_state"});
  AddNode(model.mutable_graph(), "Relu", {"hiden_state"}, {"y"}, "n");
  const auto read = ReadModel(model);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kUnknownName);
  EXPECT_THAT(read.error().message, HasSubstr("hidden_state"));
  EXPECT_EQ(read.error().place, "node n (Relu)");
}

TEST(OnnxStructure, NodeNamesAreMadeUnique) {
  onnx::GraphProto graph;
  AddNode(&graph, "Relu", {}, {}, "n");
  AddNode(&graph, "Relu", {}, {}, "n");
  AddNode(&graph, "Conv", {}, {}, "");
  AddNode(&graph, "Relu", {}, {}, "Conv_4");
  AddNode(&graph, "Conv", {}, {}, "");
  EXPECT_THAT(UniqueNodeNames(graph), ElementsAre("n", "n#2", "Conv_2", "Conv_4", "Conv_4#2"));
}

TEST(OnnxStructure, ModulePaths) {
  EXPECT_EQ(ModulePath("/layer1/layer1.0/conv1/Conv"), "layer1/layer1.0/conv1");
  EXPECT_EQ(ModulePath("bert/encoder/MatMul"), "bert/encoder");
  EXPECT_EQ(ModulePath("/Flatten"), "");
  EXPECT_EQ(ModulePath("Conv_3"), "");
}

TEST(OnnxStructure, KindsOfTensors) {
  auto model = MakeModel({2, 3});
  auto* graph = model.mutable_graph();
  AddFloats(graph, "w", {3, 3});
  SetType(graph->add_input(), "w", {3, 3});  // an initializer that is also an input
  AddFloats(graph, "scale", {});
  AddInts(graph, "axes", {0});
  SetType(graph->add_input(), "listed", {3, 3});
  auto* entry = model.add_metadata_props();
  entry->set_key("parameters");
  entry->set_value("other\nlisted");
  AddNode(graph, "MatMul", {"x", "w"}, {"a"}, "first");
  AddNode(graph, "MatMul", {"a", "listed"}, {"b"}, "second");
  AddNode(graph, "Mul", {"b", "scale"}, {"c"}, "third");
  AddNode(graph, "Unsqueeze", {"c", "axes"}, {"y"}, "fourth");
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(KindOf(read.value(), "x"), TensorKind::kInput);
  EXPECT_EQ(KindOf(read.value(), "w"), TensorKind::kParameter);
  EXPECT_EQ(KindOf(read.value(), "listed"), TensorKind::kParameter);
  EXPECT_EQ(KindOf(read.value(), "scale"), TensorKind::kConstant);
  EXPECT_EQ(KindOf(read.value(), "axes"), TensorKind::kConstant);
  EXPECT_EQ(KindOf(read.value(), "y"), TensorKind::kActivation);
}

// Named weightless form: "param/w" is a parameter, "zeros" an op, the Constant neither op nor edge.
TEST(OnnxStructure, LightFormFoldsNamedNodesOnly) {
  auto model = MakeModel({2, 3});
  auto* graph = model.mutable_graph();
  AddInts(graph, "w__shape", {3, 4});
  AddInts(graph, "zeros_shape", {2, 4});
  AddNode(graph, "ConstantOfShape", {"w__shape"}, {"w"}, "param/w");
  AddNode(graph, "ConstantOfShape", {"zeros_shape"}, {"zeros"}, "zeros");
  SetInt(AddNode(graph, "Constant", {}, {"one"}, "one"), "value_int", 1);
  AddNode(graph, "MatMul", {"x", "w"}, {"a"}, "product");
  AddNode(graph, "Add", {"a", "zeros"}, {"b"}, "sum");
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read.value().op_count(), 3u);    // zeros, product, sum
  EXPECT_EQ(read.value().edge_count(), 2u);  // product -> sum, zeros -> sum
  EXPECT_EQ(KindOf(read.value(), "w"), TensorKind::kParameter);
  EXPECT_THAT(ShapeOf(read.value(), "w"), ElementsAre(3, 4));
}

// Weightless form without names: the weight, through its reshape, is a parameter; the initial state
// and the tensor of computed shape stay ops.
TEST(OnnxStructure, LightFormWithoutNames) {
  auto model = MakeModel({2, 3});
  auto* graph = model.mutable_graph();
  AddInts(graph, "flat", {12});
  AddInts(graph, "matrix", {3, 4});
  AddInts(graph, "state", {2, 4});
  AddNode(graph, "ConstantOfShape", {"flat"}, {"w_flat"}, "");
  AddNode(graph, "Reshape", {"w_flat", "matrix"}, {"w"}, "reshape");
  AddNode(graph, "ConstantOfShape", {"state"}, {"zeros"}, "zeros");
  AddNode(graph, "MatMul", {"x", "w"}, {"a"}, "product");
  AddNode(graph, "Add", {"a", "zeros"}, {"b"}, "sum");
  AddNode(graph, "Shape", {"b"}, {"shape"}, "shape");
  AddNode(graph, "ConstantOfShape", {"shape"}, {"c"}, "computed");
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(KindOf(read.value(), "w_flat"), TensorKind::kParameter);
  // reshape, zeros, product, sum, shape, computed
  EXPECT_EQ(read.value().op_count(), 6u);
}

TEST(OnnxStructure, ViewsShareTheStorage) {
  auto model = MakeModel({2, 6});
  auto* graph = model.mutable_graph();
  AddInts(graph, "to", {3, 4});
  AddInts(graph, "axis", {0});
  AddNode(graph, "Relu", {"x"}, {"a"}, "relu");
  AddNode(graph, "Reshape", {"a", "to"}, {"b"}, "reshape");
  AddNode(graph, "Unsqueeze", {"b", "axis"}, {"c"}, "unsqueeze");
  AddNode(graph, "Dropout", {"c"}, {"d", "unused_mask"}, "dropout");
  AddNode(graph, "Identity", {"d"}, {"e"}, "identity");
  AddNode(graph, "Transpose", {"b"}, {"f"}, "transpose");
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  const Graph& g = read.value();
  const auto storage = [&](const char* name) { return g.tensor(g.FindTensor(name)).storage; };
  for (const char* name : {"b", "c", "d", "e"}) EXPECT_EQ(storage(name), storage("a")) << name;
  EXPECT_NE(storage("f"), storage("a"));
  EXPECT_FALSE(g.FindTensor("unused_mask").valid());
  EXPECT_TRUE(g.op(g.FindOp("dropout")).is_view);
  EXPECT_FALSE(g.op(g.FindOp("transpose")).is_view);
}

TEST(OnnxStructure, DropoutInTrainingIsNoView) {
  auto model = MakeModel({2, 6});
  auto* graph = model.mutable_graph();
  AddFloats(graph, "ratio", {});
  auto* training = graph->add_initializer();
  training->set_name("training");
  training->set_data_type(onnx::TensorProto::BOOL);
  training->add_int32_data(1);
  AddNode(graph, "Dropout", {"x", "ratio", "training"}, {"y", "mask"}, "dropout");
  AddNode(graph, "Cast", {"mask"}, {"z"}, "cast");
  SetInt(graph->mutable_node(1), "to", onnx::TensorProto::FLOAT);
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_FALSE(read.value().op(OpId(0)).is_view);
  EXPECT_THAT(ShapeOf(read.value(), "mask"), ElementsAre(2, 6));
}

// Absent optional inputs and outputs keep their place in args and are no tensors.
TEST(OnnxStructure, AbsentInputsAndOutputs) {
  auto model = MakeModel({5, 2, 3});  // steps, batch, input
  auto* graph = model.mutable_graph();
  AddFloats(graph, "w", {1, 16, 3});
  AddFloats(graph, "r", {1, 16, 4});
  AddFloats(graph, "h0", {1, 2, 4});
  auto* node = AddNode(graph, "LSTM", {"x", "w", "r", "", "", "h0"}, {"", "h", "c"}, "lstm");
  SetInt(node, "hidden_size", 4);
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  const Op& op = read.value().op(OpId(0));
  ASSERT_EQ(op.args.size(), 6u);
  EXPECT_TRUE(op.args[3].IsNone() && op.args[4].IsNone());
  ASSERT_NE(op.args[5].AsInput(), nullptr);
  EXPECT_EQ(op.args[5].AsInput()->index, 3);  // the fourth tensor that is there
  EXPECT_EQ(op.inputs.size(), 4u);
  EXPECT_EQ(op.outputs.size(), 2u);
  EXPECT_THAT(ShapeOf(read.value(), "h"), ElementsAre(1, 2, 4));
}

TEST(OnnxStructure, AttributesAreKeptAndSummarised) {
  auto model = MakeModel({1, 3, 8, 8});
  auto* graph = model.mutable_graph();
  AddFloats(graph, "w", {4, 3, 3, 3});
  auto* node = AddNode(graph, "Conv", {"x", "w"}, {"y"}, "conv");
  SetInts(node, "strides", {2, 1});
  SetInts(node, "pads", {1, 1, 1, 1});
  auto* fill = AddNode(graph, "Constant", {}, {"c"});
  fill->add_attribute()->set_name("value");
  *fill->mutable_attribute(0)->mutable_t() = *AddFloats(graph, "unused", {2, 2});
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_THAT(ShapeOf(read.value(), "y"), ElementsAre(1, 4, 4, 8));
  const Op& op = read.value().op(OpId(0));
  ASSERT_EQ(op.attributes.size(), 2u);
  EXPECT_EQ(op.attributes[0].name, "strides");
  EXPECT_EQ(ToString(op.attributes[0].value), "[2, 1]");
  EXPECT_FALSE(read.value().FindTensor("unused").valid());  // it has no reader
}

TEST(OnnxStructure, NamesMustBeUtf8AndAttributesMayBeBytes) {
  auto model = MakeModel({2});
  auto* node = AddNode(model.mutable_graph(), "Odd", {"x"}, {"y"}, "n");
  node->set_domain("org.example");
  auto* attribute = node->add_attribute();
  attribute->set_name("blob");
  attribute->set_type(onnx::AttributeProto::STRING);
  attribute->set_s("\xc3\xa9");  // e with an accent
  const auto text = ReadModel(model);
  ASSERT_TRUE(text.ok()) << text.error().ToString();
  EXPECT_EQ(ToString(text.value().op(OpId(0)).attributes[0].value), "\"\xc3\xa9\"");
  attribute->set_s("\xc3(");
  const auto bytes = ReadModel(model);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(ToString(bytes.value().op(OpId(0)).attributes[0].value), "\"<2 bytes>\"");
  node->set_name("\xc3(");
  const auto named = ReadModel(model);
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.error().code, ErrorCode::kField);
}

// If: both branches capture "a"; the op reads it, and the edge counts.
TEST(OnnxStructure, SubGraphsAreOneOpThatReadsWhatTheyCapture) {
  auto model = MakeModel({2, 3});
  auto* graph = model.mutable_graph();
  SetType(graph->add_input(), "condition", {}, onnx::TensorProto::BOOL);
  AddNode(graph, "Relu", {"x"}, {"a"}, "relu");
  auto* node = AddNode(graph, "If", {"condition"}, {"y"}, "if");
  for (const std::string branch : {"then_branch", "else_branch"}) {
    auto* sub = SetGraph(node, branch);
    AddNode(sub, "Exp", {"a"}, {branch + "_y"}, "inner");
    sub->add_output()->set_name(branch + "_y");
  }
  const auto read = ReadModel(model);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read.value().op_count(), 2u);
  EXPECT_EQ(read.value().edge_count(), 1u);
  const Op& op = read.value().op(read.value().FindOp("if"));
  ASSERT_EQ(op.inputs.size(), 2u);
  EXPECT_EQ(read.value().tensor(op.inputs[1]).name, "a");
  EXPECT_EQ(op.args.size(), 1u);  // ONNX inputs only
  EXPECT_EQ(ToString(op.attributes[0].value), "\"<graph: 1 nodes>\"");
  EXPECT_THAT(ShapeOf(read.value(), "y"), ElementsAre(2, 3));
}

TEST(OnnxStructure, ASubGraphMayMakeACycle) {
  auto model = MakeModel({2, 3});
  auto* graph = model.mutable_graph();
  SetType(graph->add_input(), "condition", {}, onnx::TensorProto::BOOL);
  auto* node = AddNode(graph, "If", {"condition"}, {"y"}, "if");
  for (const std::string branch : {"then_branch", "else_branch"}) {
    auto* sub = SetGraph(node, branch);
    AddNode(sub, "Exp", {"z"}, {branch + "_y"}, "inner");
    sub->add_output()->set_name(branch + "_y");
  }
  AddNode(graph, "Relu", {"y"}, {"z"}, "relu");
  const auto read = ReadModel(model);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kGraphCycle);
}

// Relu of x [batch, <nameless>, seq] and y [seq, 4].
onnx::ModelProto OpenModel() {
  auto model = MakeModel({0, 0, 0});
  auto* dims = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  dims->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  dims->mutable_shape()->mutable_dim(1)->clear_dim_value();
  dims->mutable_shape()->mutable_dim(2)->set_dim_param("seq");
  SetType(model.mutable_graph()->add_input(), "y", {0, 4});
  auto* y = model.mutable_graph()->mutable_input(1)->mutable_type()->mutable_tensor_type();
  y->mutable_shape()->mutable_dim(0)->set_dim_param("seq");
  AddNode(model.mutable_graph(), "Relu", {"x"}, {"a"});
  AddNode(model.mutable_graph(), "Relu", {"y"}, {"b"});
  return model;
}

OnnxOptions Sizes(std::optional<int64_t> batch, std::map<std::string, int64_t> dimensions) {
  OnnxOptions options;
  options.batch = batch;
  options.dimensions = std::move(dimensions);
  return options;
}

// Named dimensions first: --batch is left with those first dimensions that have no value yet.
TEST(OnnxDimensions, NamesReachEveryInput) {
  for (const OnnxOptions& options :
       {Sizes(2, {{"seq", 6}, {"x[1]", 3}}), Sizes({}, {{"batch", 2}, {"seq", 6}, {"x[1]", 3}})}) {
    const auto read = ReadModel(OpenModel(), options);
    ASSERT_TRUE(read.ok()) << read.error().ToString();
    EXPECT_EQ(ShapeOf(read.value(), "a"), (std::vector<int64_t>{2, 3, 6}));
    EXPECT_EQ(ShapeOf(read.value(), "b"), (std::vector<int64_t>{6, 4}));
  }
}

// The batch of 8 stands in a constant, too: 1 would only be broadcast against it.
TEST(OnnxDimensions, ABatchOfOneDoesNotHideABatchInConstants) {
  auto model = MakeModel({8, 3});
  AddFloats(model.mutable_graph(), "state", {8, 3});
  AddNode(model.mutable_graph(), "Add", {"x", "state"}, {"y"}, "add");
  for (const int64_t batch : {1, 3}) {
    const auto read = ReadModel(model, Sizes(batch, {}));
    ASSERT_FALSE(read.ok()) << batch;
    EXPECT_EQ(read.error().code, ErrorCode::kGraphShape);
    EXPECT_EQ(read.error().place, "node add (Add)");
    EXPECT_EQ(read.error().Remedy(),
              "Leave --batch out (the model's is 8), or export the model at that batch.");
  }
  EXPECT_TRUE(ReadModel(model, Sizes(8, {})).ok());

  auto scales = MakeModel({8, 3});
  AddFloats(scales.mutable_graph(), "bias", {1, 3});
  AddNode(scales.mutable_graph(), "Add", {"x", "bias"}, {"y"}, "add");
  const auto read = ReadModel(scales, Sizes(1, {}));
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(ShapeOf(read.value(), "y"), (std::vector<int64_t>{1, 3}));
}

TEST(OnnxDimensions, AssumedOnesAreReported) {
  OnnxOptions options = Sizes(5, {{"seq", 6}});
  options.assume_dimensions = true;
  OnnxReport report;
  const auto read = ReadModel(OpenModel(), options, &report);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(ShapeOf(read.value(), "a"), (std::vector<int64_t>{5, 1, 6}));
  EXPECT_EQ(report.assumed_dimensions, (std::map<std::string, int64_t>{{"x[1]", 1}}));
}

TEST(OnnxDimensions, ErrorsNameTheDimensions) {
  const auto open = ReadModel(OpenModel(), Sizes({}, {{"x[1]", 3}}));
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, ErrorCode::kGraphShape);
  EXPECT_EQ(open.error().Remedy(),
            "Give the open dimensions values: --batch N, or --dim batch=N --dim seq=N.");
  const auto inner = ReadModel(OpenModel(), Sizes({}, {{"batch", 3}, {"seq", 4}}));
  EXPECT_EQ(inner.error().Remedy(), "Give the open dimensions values: --dim x[1]=N.");
  const auto unknown = ReadModel(OpenModel(), Sizes(2, {{"sep", 3}}));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownName);
  EXPECT_NE(unknown.error().message.find("did you mean seq"), std::string::npos);
  EXPECT_FALSE(ReadModel(MakeModel({2, 3}), Sizes({}, {{"seq", 3}})).ok());  // nothing is open
  // Every first dimension is named, so that --batch contradicts.
  const auto both = ReadModel(OpenModel(), Sizes(2, {{"batch", 3}, {"seq", 4}}));
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().code, ErrorCode::kUsage);
  EXPECT_EQ(ReadModel(OpenModel(), Sizes(2, {{"seq", 0}})).error().code, ErrorCode::kField);
}

// [8, -1] of another batch is another matrix, which libonnx's Gemm takes without a word.
TEST(OnnxStructure, ABatchInAReshapeIsFoundWhereItsRowsAreSummed) {
  onnx::ModelProto model = MakeModel({8, 4});
  onnx::GraphProto* graph = model.mutable_graph();
  AddInts(graph, "to", {8, -1});
  AddFloats(graph, "w", {4, 5});
  AddNode(graph, "Reshape", {"x", "to"}, {"flat"}, "reshape");
  AddNode(graph, "Gemm", {"flat", "w"}, {"y"}, "gemm");
  graph->add_output()->set_name("y");
  const auto own = ReadModel(model);
  ASSERT_TRUE(own.ok()) << own.error().ToString();
  EXPECT_EQ(ShapeOf(own.value(), "y"), (std::vector<int64_t>{8, 5}));
  for (const int64_t batch : {2, 4, 16}) {
    const auto other = ReadModel(model, Sizes(batch, {}));
    ASSERT_FALSE(other.ok()) << batch;
    EXPECT_EQ(other.error().code, ErrorCode::kGraphShape);
    EXPECT_NE(other.error().place.find("gemm"), std::string::npos) << other.error().ToString();
  }
}

TEST(OnnxStructure, ChannelsMustBeThoseOfTheFilters) {
  onnx::ModelProto model = MakeModel({2, 6, 5, 5});
  AddFloats(model.mutable_graph(), "w", {4, 3, 3, 3});
  onnx::NodeProto* node = AddNode(model.mutable_graph(), "Conv", {"x", "w"}, {"y"}, "conv");
  model.mutable_graph()->add_output()->set_name("y");
  EXPECT_FALSE(ReadModel(model).ok());
  SetInt(node, "group", 2);
  EXPECT_TRUE(ReadModel(model).ok());
}

}  // namespace
}  // namespace placewright::onnx_import
