// Models read at several batches: what of them is proven to follow the batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/onnx/test_models.h"
#include "graph/batch/at_batch.h"

namespace placewright::onnx_import {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// x [b 3 4] flattened to [b 12], to which a row is added.
onnx::ModelProto Flattened(const std::vector<int64_t>& target) {
  onnx::ModelProto model = MakeModel({6, 3, 4});
  onnx::GraphProto* graph = model.mutable_graph();
  AddInts(graph, "target", target);
  AddFloats(graph, "row", {12});
  AddNode(graph, "Reshape", {"x", "target"}, {"flat"}, "view");
  AddNode(graph, "Add", {"flat", "row"}, {"y"}, "add");
  graph->add_output()->set_name("y");
  return model;
}

OnnxOptions Proving(std::optional<int64_t> batch = {}) {
  OnnxOptions options;
  options.batch = batch;
  options.prove_batch = true;
  return options;
}

TEST(OnnxBatchProof, SizesFollowTheBatch) {
  for (const int64_t batch : {6, 5, 101, 103}) {
    const Graph graph = ReadModel(Flattened({-1, 12}), Proving(batch)).Take();
    const BatchScaling* const laws = graph.batch_scaling();
    ASSERT_NE(laws, nullptr);
    EXPECT_EQ(laws->reason, "");
    EXPECT_EQ(laws->sizes[0], batch);
    EXPECT_EQ(laws->smaller, 1);
    EXPECT_THAT(ShapeAt(graph, graph.FindTensor("y"), 9).Take(), ElementsAre(9, 12));
    EXPECT_THAT(ShapeAt(graph, graph.FindTensor("row"), 9).Take(), ElementsAre(12));
  }
}

// Of a file that does not say what its batch is: that which another could replace.
TEST(OnnxBatchProof, AFixedBatchIsStated) {
  const Graph graph = ReadModel(Flattened({-1, 12}), Proving()).Take();
  EXPECT_EQ(graph.batch(), 6);
  ASSERT_NE(graph.batch_scaling(), nullptr);
  EXPECT_EQ(graph.batch_scaling()->reason, "");
  EXPECT_EQ(ReadModel(Flattened({-1, 12})).Take().batch(), 0);
  EXPECT_EQ(ReadModel(Flattened({-1, 12})).Take().batch_scaling(), nullptr);
}

TEST(OnnxBatchProof, AConstantThatFixesTheBatchIsTheReason) {
  const Graph fixed = ReadModel(Flattened({6, 12}), Proving()).Take();
  ASSERT_NE(fixed.batch_scaling(), nullptr);
  EXPECT_THAT(fixed.batch_scaling()->reason, HasSubstr("it cannot be read at batch 101"));
  // [6, -1] would pass at multiples of 6.
  EXPECT_NE(ReadModel(Flattened({6, -1}), Proving()).Take().batch_scaling()->reason, "");
}

// b * b pairs.
TEST(OnnxBatchProof, SizesMayBeProducts) {
  onnx::ModelProto model = MakeModel({6, 1});
  onnx::GraphProto* graph = model.mutable_graph();
  AddNode(graph, "Transpose", {"x"}, {"row"}, "turn");
  AddNode(graph, "Mul", {"x", "row"}, {"square"}, "outer");
  AddInts(graph, "target", {-1});
  AddNode(graph, "Reshape", {"square", "target"}, {"y"}, "flatten");
  graph->add_output()->set_name("y");
  const Graph read = ReadModel(model, Proving()).Take();
  ASSERT_NE(read.batch_scaling(), nullptr);
  EXPECT_EQ(read.batch_scaling()->reason, "");
  EXPECT_EQ(ShapeAt(read, read.FindTensor("y"), 11).Take(), (std::vector<int64_t>{121}));
}

// Every second row, rounded up.
TEST(OnnxBatchProof, WhatFollowsNoLawIsTheReason) {
  onnx::ModelProto model = MakeModel({6, 1});
  onnx::GraphProto* graph = model.mutable_graph();
  AddInts(graph, "zero", {0});
  AddInts(graph, "end", {1000});
  AddInts(graph, "two", {2});
  AddNode(graph, "Slice", {"x", "zero", "end", "zero", "two"}, {"y"}, "slice");
  graph->add_output()->set_name("y");
  const Graph read = ReadModel(model, Proving()).Take();
  ASSERT_NE(read.batch_scaling(), nullptr);
  EXPECT_THAT(read.batch_scaling()->reason, HasSubstr("is 3, 51 and 52, neither linear"));
}

TEST(OnnxBatchProof, AssumedShapesProveNothing) {
  onnx::ModelProto model = MakeModel({6, 2});
  AddNode(model.mutable_graph(), "Unheard", {"x"}, {"y"}, "op");
  model.mutable_graph()->add_output()->set_name("y");
  const Graph graph = ReadModel(model, Proving()).Take();
  ASSERT_NE(graph.batch_scaling(), nullptr);
  EXPECT_THAT(graph.batch_scaling()->reason, HasSubstr("nothing states what op (Unheard) gives"));
}

// An open batch that nothing gives a value is none, whatever is assumed.
TEST(OnnxBatchProof, AnAssumedBatchIsNone) {
  onnx::ModelProto model = MakeModel({6, 2});
  auto* first = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  first->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  AddNode(model.mutable_graph(), "Relu", {"x"}, {"y"}, "op");
  model.mutable_graph()->add_output()->set_name("y");
  OnnxOptions options = Proving();
  options.assume_dimensions = true;
  EXPECT_EQ(ReadModel(model, options).Take().batch_scaling(), nullptr);
  const Graph graph = ReadModel(model, Proving(4)).Take();
  ASSERT_NE(graph.batch_scaling(), nullptr);
  EXPECT_EQ(graph.batch_scaling()->reason, "");
}

// Numbers that were inputs are attributes, and follow the batch.
TEST(OnnxBatchProof, SettingsAreAttributes) {
  onnx::ModelProto model = MakeModel({6, 4});
  onnx::GraphProto* graph = model.mutable_graph();
  AddInts(graph, "zero", {0});
  AddInts(graph, "one", {1});
  AddNode(graph, "Shape", {"x"}, {"sizes"}, "sizes");
  AddNode(graph, "Gather", {"sizes", "zero"}, {"batch"}, "batch");
  AddNode(graph, "Slice", {"x", "zero", "batch", "zero", "one"}, {"y"}, "slice");
  graph->add_output()->set_name("y");
  const Graph read = ReadModel(model, Proving()).Take();
  const OpId slice = read.FindOp("slice");
  const Op& op = read.op(slice);
  ASSERT_EQ(op.attributes.size(), 4u);
  EXPECT_EQ(op.attributes[0].name, "starts");
  EXPECT_EQ(op.attributes[1].name, "ends");
  EXPECT_EQ(ToString(op.attributes[1].value), "[6]");
  EXPECT_EQ(op.attributes[2].name, "axes");
  EXPECT_EQ(ToString(op.attributes[3].value), "[1]");
  ASSERT_EQ(read.batch_scaling()->reason, "");
  EXPECT_EQ(ToString(ArgumentsAt(read, slice, 9).Take().attributes[1].value), "[9]");
}

}  // namespace
}  // namespace placewright::onnx_import
