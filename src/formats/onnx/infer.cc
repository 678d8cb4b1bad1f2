#include "formats/onnx/infer.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "base/text.h"
#include "formats/onnx/attributes.h"
#include "formats/onnx/fold.h"
#include "formats/onnx/guards.h"
#include "formats/onnx/scope.h"
#include "formats/onnx/shape_rules.h"

namespace placewright::onnx_import {
namespace {

using onnx::TypeProto;
using Inputs = std::vector<const KnownTensor*>;

Inputs InputsOf(const onnx::NodeProto& node, const TypeTable& table) {
  Inputs inputs;
  for (const auto& name : node.input()) {
    inputs.push_back(name.empty() ? nullptr : table.Find(name));
  }
  return inputs;
}

// Runs the inference of this module over a sub-graph when libonnx asks for it (If, Loop, Scan).
class SubGraphInferencer : public onnx::GraphInferencer {
 public:
  SubGraphInferencer(const onnx::GraphProto& graph, const TypeTable& outer,
                     ShapeInference* inference)
      : graph_(graph), outer_(outer), inference_(inference) {}

  std::vector<const TypeProto*> doInferencing(
      const std::vector<const TypeProto*>& input_types,
      const std::vector<const onnx::TensorProto*>& input_data) override {
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

 private:
  const onnx::GraphProto& graph_;
  const TypeTable& outer_;
  ShapeInference* inference_;
  std::vector<std::unique_ptr<TypeProto>> types_;
};

// What libonnx sees of one node.
class NodeContext : public onnx::InferenceContext {
 public:
  NodeContext(const onnx::NodeProto& node, const TypeTable& table, const Inputs& inputs,
              ShapeInference* inference)
      : node_(node), table_(table), inputs_(inputs), inference_(inference) {
    outputs_.resize(static_cast<size_t>(node.output_size()));
    data_.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr || !inputs[i]->value) continue;
      data_[i] = std::make_unique<onnx::TensorProto>(ToProto(*inputs[i]->value));
    }
  }

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    return FindAttribute(node_, name);
  }
  size_t getNumInputs() const override { return inputs_.size(); }
  const TypeProto* getInputType(size_t index) const override {
    const KnownTensor* input = inputs_.at(index);
    return input == nullptr ? nullptr : &input->type;
  }
  const onnx::TensorProto* getInputData(size_t index) const override {
    return data_.at(index).get();
  }
  size_t getNumOutputs() const override { return outputs_.size(); }
  TypeProto* getOutputType(size_t index) override { return &outputs_.at(index); }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override {
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
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t) const override { return nullptr; }

 private:
  const onnx::NodeProto& node_;
  const TypeTable& table_;
  const Inputs& inputs_;
  ShapeInference* inference_;
  std::vector<TypeProto> outputs_;
  std::vector<std::unique_ptr<onnx::TensorProto>> data_;
  std::unordered_map<std::string, std::unique_ptr<SubGraphInferencer>> inferencers_;
};

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
const KnownTensor* ShapeModel(const Inputs& inputs) {
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
void Assume(const Inputs& inputs, std::vector<KnownTensor>* outputs) {
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

void ShapeInference::Infer(const onnx::NodeProto& node, const TypeTable& table,
                           std::vector<KnownTensor>* outputs) {
  const Inputs inputs = InputsOf(node, table);
  const std::string domain = IsDefaultDomain(node.domain()) ? "" : node.domain();
  const onnx::OpSchema* schema =
      onnx::OpSchemaRegistry::Schema(SchemaType(node), std::max(OpsetVersion(domain), 1), domain);
  bool told = InferByOwnRule(node, inputs, outputs);
  std::string failure;
  if (!told && schema != nullptr && schema->has_type_and_shape_inference_function()) {
    failure = UnsafeToInfer(node, *schema, inputs);
    if (failure.empty()) {
      NodeContext context(node, table, inputs, this);
      try {
        schema->GetTypeAndShapeInferenceFunction()(context);
        told = true;
      } catch (const std::exception& error) {
        failure = Reason(error);
      }
      for (size_t i = 0; told && i < outputs->size(); ++i) {
        const TypeProto& type = *context.getOutputType(i);
        if (IsPossible(type)) {
          FillGaps(type, &(*outputs)[i].type);
        } else {
          failure = "the shape would be " + Describe(type);
        }
      }
    }
  }
  const bool from_assumed = std::any_of(inputs.begin(), inputs.end(), [](const KnownTensor* input) {
    return input != nullptr && input->assumed;
  });
  for (KnownTensor& output : *outputs) {
    output.assumed = from_assumed;
    output.failure = failure;
  }
  const bool unknown = schema == nullptr || !domain.empty() ||
                       !schema->has_type_and_shape_inference_function() || from_assumed;
  if (unknown && !AllComplete(node, *outputs)) Assume(inputs, outputs);
}

void ShapeInference::FoldValues(const onnx::NodeProto& node, const TypeTable& table,
                                std::vector<KnownTensor>* outputs) {
  if (fold_budget_ <= 0) return;
  const Inputs inputs = InputsOf(node, table);
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
