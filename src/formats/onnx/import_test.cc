// What a program keeps of an ONNX file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "formats/onnx/test_models.h"

namespace placewright::onnx_import {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result<ImportedModel> ReadProgram(const onnx::ModelProto& model, const OnnxOptions& options = {}) {
  return ImportOnnx(model.SerializeAsString(), options);
}

ImportedModel Read(const onnx::ModelProto& model, const OnnxOptions& options = {}) {
  Result<ImportedModel> program = ReadProgram(model, options);
  EXPECT_TRUE(program.ok()) << program.error().ToString();
  return program.ok() ? std::move(program.value()) : ImportedModel{};
}

// y = Relu(x + w), dropped out, reshaped by a constant.
onnx::ModelProto Model(const std::vector<int64_t>& x_shape = {4, 3}) {
  onnx::ModelProto model = MakeModel(x_shape);
  onnx::GraphProto* graph = model.mutable_graph();
  AddFloats(graph, "w", {3});
  AddInts(graph, "shape", {-1});
  AddFloats(graph, "unused", {7});
  AddNode(graph, "Reshape", {"d", "shape"}, {"y"}, "/head/Reshape");
  AddNode(graph, "Dropout", {"r", "", ""}, {"d", "mask"});
  AddNode(graph, "Add", {"x", "w"}, {"s"});
  AddNode(graph, "Relu", {"s"}, {"r"});
  graph->add_output()->set_name("y");
  return model;
}

TEST(OnnxProgram, HasNodesInOrderAndWhatTheyRead) {
  const ImportedModel program = Read(Model());
  EXPECT_EQ(program.versions.at(""), 13);
  ASSERT_EQ(program.graph.nodes.size(), 4u);
  EXPECT_EQ(program.graph.nodes[0].type, "Add");
  EXPECT_EQ(program.graph.nodes[3].module, "head");
  EXPECT_EQ(program.graph.nodes[3].place, "node /head/Reshape (Reshape)");
  // The mask has no reader.
  EXPECT_THAT(program.graph.nodes[2].outputs, ElementsAre("d", ""));
  EXPECT_THAT(program.graph.outputs, ElementsAre("y"));
  ASSERT_EQ(program.parameters.size(), 1u);
  EXPECT_EQ(program.parameters[0].name, "w");
  EXPECT_EQ(program.shapes.at("y"), (std::vector<int64_t>{12}));
}

TEST(OnnxProgram, CarriesTheContentOfConstants) {
  const ImportedModel program = Read(Model());
  ASSERT_EQ(program.graph.constants.size(), 1u);
  const ImportedTensor& shape = program.graph.constants[0].tensor;
  EXPECT_EQ(shape.dtype, DType::kI64);
  ASSERT_TRUE(shape.bytes);
  int64_t value = 0;
  ASSERT_EQ(shape.bytes->size(), sizeof(value));
  std::memcpy(&value, shape.bytes->data(), sizeof(value));
  EXPECT_EQ(value, -1);
}

// A constant of 5 MiB is carried without its content, a parameter of more than 1,024 numbers too.
TEST(OnnxProgram, LeavesLargeContentsBehind) {
  onnx::ModelProto model = MakeModel({1100});
  onnx::GraphProto* graph = model.mutable_graph();
  AddFloats(graph, "w", {1100});
  AddInts(graph, "many", std::vector<int64_t>(655'360, 1));
  AddNode(graph, "Add", {"x", "w"}, {"y"});
  AddNode(graph, "Cast", {"many"}, {"z"})->add_attribute()->set_name("to");
  auto* to = graph->mutable_node(1)->mutable_attribute(0);
  to->set_type(onnx::AttributeProto::INT);
  to->set_i(onnx::TensorProto::FLOAT);
  graph->add_output()->set_name("y");
  graph->add_output()->set_name("z");
  const ImportedModel program = Read(model);
  EXPECT_FALSE(program.parameters.at(0).tensor.bytes);
  EXPECT_FALSE(program.graph.constants.at(0).tensor.bytes);
}

TEST(OnnxProgram, KnowsWhichDimensionsAreTheBatch) {
  const ImportedModel fixed = Read(Model());
  EXPECT_EQ(fixed.batch, 4);
  EXPECT_THAT(fixed.inputs.at(0).batch_at, ElementsAre(0u));
  OnnxOptions eight;
  eight.batch = 8;
  const ImportedModel asked = Read(Model(), eight);
  EXPECT_EQ(asked.batch, 8);
  EXPECT_EQ(asked.inputs.at(0).shape, (std::vector<int64_t>{8, 3}));
}

TEST(OnnxProgram, AByteOfAnEightBitFloatIsNoInteger) {
  for (const int type : {17, 18, 19, 20, 24}) {
    onnx::ModelProto model = Model();
    auto* const input = model.mutable_graph()->mutable_input(0)->mutable_type();
    input->mutable_tensor_type()->set_elem_type(type);
    EXPECT_EQ(Read(model).inputs.at(0).dtype, DType::kOpaque) << type;
    input->mutable_tensor_type()->set_elem_type(onnx::TensorProto::UINT8);
    EXPECT_EQ(Read(model).inputs.at(0).dtype, DType::kU8);
  }
}

TEST(OnnxProgram, RejectsOpenDimensions) {
  onnx::ModelProto model = Model();
  auto* shape = model.mutable_graph()
                    ->mutable_input(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("N");
  const Result<ImportedModel> open = ReadProgram(model);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, ErrorCode::kGraphShape);
  EXPECT_NE(open.error().remedy.find("--batch N"), std::string::npos);
  OnnxOptions named;
  named.dimensions["N"] = 5;
  const ImportedModel program = Read(model, named);
  // --dim leaves nothing to a batch.
  EXPECT_EQ(program.batch, 0);
  EXPECT_THAT(program.inputs.at(0).batch_at, IsEmpty());
}

// Shapes that are known only by running the program are no error yet.
TEST(OnnxProgram, LetsNodesOfUnknownShapePass) {
  onnx::ModelProto model = MakeModel({4});
  AddNode(model.mutable_graph(), "NonZero", {"x"}, {"y"});
  model.mutable_graph()->add_output()->set_name("y");
  EXPECT_FALSE(ReadModel(model).ok());
  EXPECT_EQ(Read(model).graph.nodes.size(), 1u);
}

TEST(OnnxProgram, KeepsAttributesAndSubGraphs) {
  onnx::ModelProto model = MakeModel({2});
  onnx::GraphProto* graph = model.mutable_graph();
  AddInts(graph, "n", {})->clear_dims();
  graph->mutable_initializer(0)->add_int64_data(3);
  onnx::NodeProto* loop = AddNode(graph, "Loop", {"n", "", "x"}, {"y"});
  onnx::GraphProto* body = SetGraph(loop, "body");
  SetType(body->add_input(), "i", {}, onnx::TensorProto::INT64);
  SetType(body->add_input(), "go", {}, onnx::TensorProto::BOOL);
  SetType(body->add_input(), "s", {2});
  AddFloats(body, "half", {2});
  AddNode(body, "Mul", {"s", "half"}, {"t"});
  SetType(body->add_output(), "go", {}, onnx::TensorProto::BOOL);
  SetType(body->add_output(), "t", {2});
  graph->add_output()->set_name("y");
  const ImportedModel program = Read(model);
  const auto* found = FindImportedAttribute<std::shared_ptr<const ImportedGraph>>(
      program.graph.nodes.at(0), "body");
  ASSERT_NE(found, nullptr);
  EXPECT_THAT((*found)->inputs, ElementsAre("i", "go", "s"));
  EXPECT_THAT((*found)->outputs, ElementsAre("go", "t"));
  EXPECT_EQ((*found)->nodes.at(0).type, "Mul");
  EXPECT_TRUE((*found)->constants.at(0).tensor.bytes);
}

}  // namespace
}  // namespace placewright::onnx_import
