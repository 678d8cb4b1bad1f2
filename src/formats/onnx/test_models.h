// Small ONNX models for tests.
#ifndef PLACEWRIGHT_FORMATS_ONNX_TEST_MODELS_H_
#define PLACEWRIGHT_FORMATS_ONNX_TEST_MODELS_H_

#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "formats/onnx/reader.h"

namespace placewright::onnx_import {

using Names = std::vector<std::string>;

inline onnx::NodeProto* AddNode(onnx::GraphProto* graph, const std::string& type,
                                const Names& inputs, const Names& outputs,
                                const std::string& name = "") {
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(type);
  node->set_name(name);
  for (const auto& input : inputs) node->add_input(input);
  for (const auto& output : outputs) node->add_output(output);
  return node;
}

inline void SetType(onnx::ValueInfoProto* info, const std::string& name,
                    const std::vector<int64_t>& shape, int32_t type = onnx::TensorProto::FLOAT) {
  info->set_name(name);
  info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  auto* dims = info->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const int64_t dim : shape) dims->add_dim()->set_dim_value(dim);
}

inline onnx::TensorProto* AddInts(onnx::GraphProto* graph, const std::string& name,
                                  const std::vector<int64_t>& values) {
  onnx::TensorProto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor->add_int64_data(value);
  return tensor;
}

inline onnx::TensorProto* AddFloats(onnx::GraphProto* graph, const std::string& name,
                                    const std::vector<int64_t>& shape) {
  onnx::TensorProto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  int64_t count = 1;
  for (const int64_t dim : shape) {
    tensor->add_dims(dim);
    count *= dim;
  }
  for (int64_t i = 0; i < count; ++i) tensor->add_float_data(0.5f);
  return tensor;
}

inline void SetInt(onnx::NodeProto* node, const std::string& name, int64_t value) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

inline void SetInts(onnx::NodeProto* node, const std::string& name,
                    const std::vector<int64_t>& values) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute->add_ints(value);
}

inline onnx::GraphProto* SetGraph(onnx::NodeProto* node, const std::string& name) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::GRAPH);
  return attribute->mutable_g();
}

// A model of that opset with one graph input "x" of that shape.
inline onnx::ModelProto MakeModel(const std::vector<int64_t>& x_shape, int opset = 13) {
  onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("test");
  SetType(model.mutable_graph()->add_input(), "x", x_shape);
  return model;
}

inline Result<Graph> ReadModel(const onnx::ModelProto& model, const OnnxOptions& options = {},
                               OnnxReport* report = nullptr) {
  return ReadOnnx(model.SerializeAsString(), options, report);
}

// Shape of a tensor of the graph; {-1} if there is none of that name.
inline std::vector<int64_t> ShapeOf(const Graph& graph, const std::string& name) {
  const TensorId id = graph.FindTensor(name);
  return id.valid() ? graph.tensor(id).shape : std::vector<int64_t>{-1};
}

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_TEST_MODELS_H_
