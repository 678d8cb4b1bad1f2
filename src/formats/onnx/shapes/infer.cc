#include "formats/onnx/shapes/infer.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>

#include "base/text.h"
#include "formats/onnx/attributes.h"
#include "formats/onnx/shapes/fold.h"
#include "formats/onnx/shapes/guards.h"
#include "formats/onnx/shapes/node_context.h"
#include "formats/onnx/shapes/shape_rules.h"

namespace placewright::onnx_import {
namespace {

using onnx::TypeProto;
using KnownInputs = std::vector<const KnownTensor*>;

KnownInputs InputsOf(const onnx::NodeProto& node, const TypeTable& table) {
  KnownInputs inputs;
  for (const auto& name : node.input()) {
    inputs.push_back(name.empty() ? nullptr : table.Find(name));
  }
  return inputs;
}

// True if every shape in the type is possible (libonnx does not check what it computes).
bool IsPossible(const TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return true;
  const auto& shape = type.tensor_type().shape();
  if (shape.dim_size() > static_cast<int>(kMaxRank)) return false;
  return std::all_of(shape.dim().begin(), shape.dim().end(), [](const auto& dim) {
    return !dim.has_dim_value() || (dim.dim_value() >= 0 && dim.dim_value() <= kMaxQuantity);
  });
}

// The first line of an exception's text, without libonnx's prefix.
std::string Reason(const std::exception& error) {
  const std::string_view text = error.what();
  return Printable(text.substr(0, text.find('\n')));
}

bool AllComplete(const onnx::NodeProto& node, const std::vector<KnownTensor>& outputs) {
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).empty() && !IsComplete(outputs[static_cast<size_t>(i)].type)) return false;
  }
  return true;
}

// The input whose shape stands for an unknown output's: the largest that is no constant, else the
// largest; nullptr unless all inputs are complete.
const KnownTensor* ShapeModel(const KnownInputs& inputs) {
  const KnownTensor* best = nullptr;
  int64_t best_count = -1;
  for (const KnownTensor* input : inputs) {
    if (input == nullptr) continue;
    const auto shape = StaticShape(input->type);
    if (!shape || !IsComplete(input->type)) return nullptr;
    const int64_t count = ElementCount(*shape).value_or(0);
    const bool better = best == nullptr || (best->constant && !input->constant) ||
                        (best->constant == input->constant && count > best_count);
    if (better) best = input, best_count = count;
  }
  return best;
}

// Rule 3: gives every incomplete output the shape of ShapeModel (a scalar if there are no inputs).
void Assume(const KnownInputs& inputs, std::vector<KnownTensor>* outputs) {
  const KnownTensor* model = ShapeModel(inputs);
  const bool no_inputs = std::all_of(inputs.begin(), inputs.end(),
                                     [](const KnownTensor* input) { return input == nullptr; });
  if (model == nullptr && !no_inputs) return;
  const TypeProto scalar = TensorType(onnx::TensorProto::FLOAT, {});
  for (KnownTensor& output : *outputs) {
    if (IsComplete(output.type)) continue;
    if (output.type.has_tensor_type()) output.type.mutable_tensor_type()->clear_shape();
    FillGaps(model == nullptr ? scalar : model->type, &output.type);
    output.assumed = output.assumption = true;
  }
}

}  // namespace

ShapeInference::ShapeInference(const onnx::ModelProto& model, bool use_stored)
    : use_stored_(use_stored) {
  for (const auto& opset : model.opset_import()) {
    const std::string domain = IsDefaultDomain(opset.domain()) ? "" : opset.domain();
    opsets_[domain] = static_cast<int>(std::clamp<int64_t>(opset.version(), 1, INT32_MAX));
  }
  // Files that import other domains alone still may hold standard ops; files of IR version 1 and 2
  // import none at all and mean the first operator set.
  opsets_.emplace("", model.opset_import_size() == 0 ? 1 : INT32_MAX);
}

int ShapeInference::OpsetVersion(const std::string& domain) const {
  const auto found = opsets_.find(IsDefaultDomain(domain) ? "" : domain);
  return found == opsets_.end() ? 0 : found->second;
}

bool ShapeInference::TakeSubGraph(int64_t nodes) {
  sub_graph_budget_ -= nodes + 1;
  return sub_graph_budget_ >= 0;
}

void ShapeInference::Run(const onnx::GraphProto& graph, const std::vector<int>& order,
                         TypeTable* table) {
  Stored stored;
  if (use_stored_) {
    for (const auto& info : graph.value_info()) stored.emplace(info.name(), &info.type());
    for (const auto& info : graph.output()) stored.emplace(info.name(), &info.type());
  }
  for (const int index : order) RunNode(graph.node(index), stored, table);
}

void ShapeInference::RunNode(const onnx::NodeProto& node, const Stored& stored, TypeTable* table) {
  std::vector<KnownTensor> outputs(static_cast<size_t>(node.output_size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto found = stored.find(node.output(static_cast<int>(i)));
    if (found != stored.end() && IsPossible(*found->second)) outputs[i].type = *found->second;
  }
  if (!AllComplete(node, outputs)) Infer(node, *table, &outputs);
  FoldValues(node, *table, &outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = node.output(static_cast<int>(i));
    if (!name.empty()) table->Set(name, std::move(outputs[i]));
  }
}

std::string ShapeInference::CallSchema(const onnx::NodeProto& node, const onnx::OpSchema& schema,
                                       const KnownInputs& inputs, const TypeTable& table,
                                       std::vector<KnownTensor>* outputs) {
  std::string failure = UnsafeToInfer(node, schema, inputs);
  if (!failure.empty()) return failure;
  NodeContext context(node, table, inputs, this);
  try {
    schema.GetTypeAndShapeInferenceFunction()(context);
    InferLoop(node, inputs, &context, outputs);
  } catch (const std::bad_alloc&) {
    throw;  // base/out_of_memory.h
  } catch (const std::exception& error) {
    return Reason(error);
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    const TypeProto& type = *context.getOutputType(i);
    if (IsPossible(type)) {
      FillGaps(type, &(*outputs)[i].type);
    } else {
      failure = "the shape would be " + Describe(type);
    }
  }
  return failure;
}

void ShapeInference::Infer(const onnx::NodeProto& node, const TypeTable& table,
                           std::vector<KnownTensor>* outputs) {
  const KnownInputs inputs = InputsOf(node, table);
  const std::string domain = IsDefaultDomain(node.domain()) ? "" : node.domain();
  const onnx::OpSchema* schema =
      onnx::OpSchemaRegistry::Schema(SchemaType(node), std::max(OpsetVersion(domain), 1), domain);
  const bool has_inference = schema != nullptr && schema->has_type_and_shape_inference_function();
  std::string failure;
  if (!InferByOwnRule(node, inputs, outputs) && has_inference) {
    failure = CallSchema(node, *schema, inputs, table, outputs);
  }
  const bool from_assumed = std::any_of(inputs.begin(), inputs.end(), [](const KnownTensor* input) {
    return input != nullptr && input->assumed;
  });
  for (KnownTensor& output : *outputs) {
    output.assumed = from_assumed;
    output.failure = failure;
  }
  const bool unknown = !has_inference || !domain.empty() || from_assumed;
  if (unknown && !AllComplete(node, *outputs)) Assume(inputs, outputs);
}

void ShapeInference::FoldValues(const onnx::NodeProto& node, const TypeTable& table,
                                std::vector<KnownTensor>* outputs) {
  if (fold_budget_ <= 0) return;
  const KnownInputs inputs = InputsOf(node, table);
  std::vector<FoldInput> fold_inputs(inputs.size());
  std::vector<std::optional<std::vector<int64_t>>> shapes(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    fold_inputs[i].present = !node.input(static_cast<int>(i)).empty();
    if (inputs[i] == nullptr) continue;
    if (inputs[i]->value) fold_inputs[i].value = &*inputs[i]->value;
    shapes[i] = StaticShape(inputs[i]->type);
    if (shapes[i]) fold_inputs[i].shape = &*shapes[i];
  }
  auto values = Fold(node, fold_inputs);
  if (!values) return;
  for (size_t i = 0; i < outputs->size(); ++i) {
    fold_budget_ -= static_cast<int64_t>((*values)[i].size()) + 1;
    FillGaps(TensorType((*values)[i].type, (*values)[i].dims), &(*outputs)[i].type);
    (*outputs)[i].value = std::move((*values)[i]);
  }
}

}  // namespace placewright::onnx_import
