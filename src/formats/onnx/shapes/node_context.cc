#include "formats/onnx/shapes/node_context.h"

#include "formats/onnx/attributes.h"
#include "formats/onnx/scope.h"

namespace placewright::onnx_import {

using onnx::TypeProto;

std::vector<const TypeProto*> SubGraphInferencer::doInferencing(
    const std::vector<const TypeProto*>& input_types,
    const std::vector<const onnx::TensorProto*>& input_data) {
  constexpr int kMaxDepth = 8;
  if (outer_.depth() >= kMaxDepth || !inference_->TakeSubGraph(graph_.node_size())) {
    throw onnx::InferenceError("sub-graphs are nested too deeply");
  }
  auto order = SortNodes(graph_);
  if (!order.ok() || static_cast<int>(input_types.size()) != graph_.input_size()) {
    throw onnx::InferenceError("the sub-graph does not fit the op's inputs");
  }
  TypeTable table(&outer_);
  for (int i = 0; i < graph_.input_size(); ++i) {
    KnownTensor input;
    if (input_types[static_cast<size_t>(i)] != nullptr) {
      input.type = *input_types[static_cast<size_t>(i)];
    }
    FillGaps(graph_.input(i).type(), &input.type);
    if (static_cast<size_t>(i) < input_data.size() && input_data[static_cast<size_t>(i)]) {
      input.value = ReadSmallTensor(*input_data[static_cast<size_t>(i)]);
    }
    table.Set(graph_.input(i).name(), std::move(input));
  }
  for (const auto& tensor : graph_.initializer()) {
    if (!CheckTensor(tensor, "").ok()) throw onnx::InferenceError("a damaged initializer");
    table.Set(tensor.name(),
              {TensorType(tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()}),
               ReadSmallTensor(tensor), true, false, false, ""});
  }
  inference_->Run(graph_, order.value(), &table);
  types_.clear();
  for (const auto& output : graph_.output()) {
    const KnownTensor* known = table.Find(output.name());
    types_.push_back(std::make_unique<TypeProto>(known ? known->type : output.type()));
    FillGaps(output.type(), types_.back().get());
  }
  std::vector<const TypeProto*> result;
  for (const auto& type : types_) result.push_back(type.get());
  return result;
}

NodeContext::NodeContext(const onnx::NodeProto& node, const TypeTable& table,
                         const std::vector<const KnownTensor*>& inputs, ShapeInference* inference)
    : node_(node), table_(table), inputs_(inputs), inference_(inference) {
  outputs_.resize(static_cast<size_t>(node.output_size()));
  data_.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || !inputs[i]->value) continue;
    data_[i] = std::make_unique<onnx::TensorProto>(ToProto(*inputs[i]->value));
  }
}

const onnx::AttributeProto* NodeContext::getAttribute(const std::string& name) const {
  return FindAttribute(node_, name);
}

const TypeProto* NodeContext::getInputType(size_t index) const {
  const KnownTensor* input = inputs_.at(index);
  return input == nullptr ? nullptr : &input->type;
}

onnx::GraphInferencer* NodeContext::getGraphAttributeInferencer(const std::string& name) {
  const onnx::AttributeProto* attribute = getAttribute(name);
  if (attribute == nullptr || !attribute->has_g()) {
    throw onnx::InferenceError("no sub-graph " + name);
  }
  auto& inferencer = inferencers_[name];
  if (!inferencer) {
    inferencer = std::make_unique<SubGraphInferencer>(attribute->g(), table_, inference_);
  }
  return inferencer.get();
}

void InferLoop(const onnx::NodeProto& node, const std::vector<const KnownTensor*>& inputs,
               NodeContext* context, std::vector<KnownTensor>* outputs) {
  if (!IsOp(node, "Loop") || inputs.size() < 2) return;
  const size_t carried = inputs.size() - 2;
  const TypeProto count = TensorType(onnx::TensorProto::INT64, {});
  const TypeProto condition = TensorType(onnx::TensorProto::BOOL, {});
  std::vector<const TypeProto*> types = {&count, &condition};
  for (size_t i = 0; i < carried; ++i) {
    if (inputs[i + 2] == nullptr) return;
    types.push_back(&inputs[i + 2]->type);
  }
  const auto made = context->getGraphAttributeInferencer("body")->doInferencing(types, {});
  const KnownTensor* trips = inputs[0];
  for (size_t i = 0; i < outputs->size() && i + 1 < made.size(); ++i) {
    const auto shape = StaticShape(*made[i + 1]);
    if (!shape || !made[i + 1]->has_tensor_type()) continue;
    if (i < carried) {
      if (shape == StaticShape(*types[i + 2])) FillGaps(*made[i + 1], &(*outputs)[i].type);
    } else if (trips != nullptr && trips->value && trips->value->size() == 1 &&
               !trips->value->is_real() && trips->value->ints[0] >= 0) {
      std::vector<int64_t> rows = {trips->value->ints[0]};
      rows.insert(rows.end(), shape->begin(), shape->end());
      FillGaps(TensorType(made[i + 1]->tensor_type().elem_type(), rows), &(*outputs)[i].type);
    }
  }
}

}  // namespace placewright::onnx_import
