#include "formats/onnx/import.h"

#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "formats/onnx/attributes.h"
#include "formats/onnx/external.h"
#include "formats/onnx/scope.h"
#include "formats/onnx/tensor_bytes.h"

namespace placewright::onnx_import {
namespace {

using onnx::AttributeProto;

class Exporter {
 public:
  Exporter(const EmitInput& input, const Sources* probed, const OnnxOptions& options)
      : input_(input), graph_(input.model.graph()), probed_(probed), options_(options) {}

  Result<ImportedModel> Run() {
    const std::string name = Metadata(input_.model, "model");
    program_.name = Printable(name.empty() ? graph_.name() : name);
    for (const auto& opset : input_.model.opset_import()) {
      const std::string domain = IsDefaultDomain(opset.domain()) ? "" : opset.domain();
      program_.versions[domain] = opset.version();
    }
    const std::string folder = options_.folder.empty() ? "." : options_.folder;
    for (const std::string& location : input_.sources.external_files) {
      program_.files.push_back(folder + "/" + location);
    }
    FindReadNames();
    for (const auto& tensor : graph_.initializer()) stored_.emplace(tensor.name(), &tensor);
    for (size_t i = 0; i < input_.sources.sources.size(); ++i) PW_RETURN_IF_ERROR(AddSource(i));
    if (several_batches_) ForgetBatch();
    for (const auto& output : graph_.output()) program_.graph.outputs.push_back(output.name());
    PW_ASSIGN(const std::vector<int> order, SortNodes(graph_));
    for (const int index : order) {
      const bool folded = input_.sources.folded[static_cast<size_t>(index)];
      if (folded && !IsOp(graph_.node(index), "Constant")) continue;  // a weightless parameter
      PW_ASSIGN(ImportedNode node, ExportNode(graph_, index));
      for (size_t i = 1; i < node.outputs.size(); ++i) {
        if (read_.count(node.outputs[i]) == 0) node.outputs[i].clear();
      }
      if (!folded) AddShapes(graph_.node(index));
      program_.graph.nodes.push_back(std::move(node));
    }
    return std::move(program_);
  }

 private:
  void FindReadNames() {
    for (const auto& node : graph_.node()) {
      read_.insert(node.input().begin(), node.input().end());
      for (const std::string_view name : CapturedNames(node).captured) read_.insert(name);
    }
    for (const auto& output : graph_.output()) read_.insert(output.name());
  }

  // Constant nodes stay nodes; all other sources are inputs, parameters and constants.
  Status AddSource(size_t index) {
    const Source& source = input_.sources.sources[index];
    if (!source.always && read_.count(source.name) == 0) return Ok();
    ImportedTensor tensor = TypeOf(source);
    if (source.kind == TensorKind::kInput) {
      ImportedInput input{std::string(source.name), tensor.dtype, std::move(tensor.shape), {}};
      if (probed_ != nullptr) FindBatch(probed_->sources[index], &input);
      program_.inputs.push_back(std::move(input));
      return Ok();
    }
    const auto stored = stored_.find(source.name);
    if (source.kind == TensorKind::kConstant && stored == stored_.end()) return Ok();
    if (stored != stored_.end()) PW_RETURN_IF_ERROR(Fill(source, *stored->second, &tensor));
    auto& list =
        source.kind == TensorKind::kParameter ? program_.parameters : program_.graph.constants;
    list.push_back({std::string(source.name), std::move(tensor)});
    return Ok();
  }

  // Of a known element type. A byte of an 8-bit float is no integer: what computes with it is refused.
  static DType NumbersOf(int32_t onnx_type) {
    const DType dtype = ElementTypeOf(onnx_type)->dtype;
    return dtype == DType::kU8 && onnx_type != onnx::TensorProto::UINT8 ? DType::kOpaque : dtype;
  }

  static ImportedTensor TypeOf(const Source& source) {
    ImportedTensor tensor;
    const auto shape = StaticShape(source.known.type);
    const bool dense = source.known.type.has_tensor_type() && source.opaque_bytes.count == 0;
    const auto element =
        dense ? ElementTypeOf(source.known.type.tensor_type().elem_type()) : std::nullopt;
    tensor.dtype =
        element && shape ? NumbersOf(source.known.type.tensor_type().elem_type()) : DType::kOpaque;
    if (shape) tensor.shape = *shape;
    return tensor;
  }

  void FindBatch(const Source& probed, ImportedInput* input) {
    const auto shape = StaticShape(probed.known.type);
    for (size_t i = 0; shape && i < shape->size(); ++i) {
      if ((*shape)[i] != kProbeBatch || input->shape[i] == kProbeBatch) continue;
      input->batch_at.push_back(i);
      if (program_.batch > 0 && program_.batch != input->shape[i]) several_batches_ = true;
      program_.batch = input->shape[i];
    }
  }

  // First dimensions with symbols of their own need not be of one size: then none of them is the batch.
  void ForgetBatch() {
    program_.batch = 0;
    for (ImportedInput& input : program_.inputs) input.batch_at.clear();
  }

  // External data was read where it is small; what stands in the file is taken from there.
  Status Fill(const Source& source, const onnx::TensorProto& stored, ImportedTensor* tensor) {
    const auto count = ElementCount(tensor->shape);
    const bool external = stored.data_location() == onnx::TensorProto::EXTERNAL;
    if (external && options_.contents) {
      PW_ASSIGN(ExternalTensor found,
                FindExternal(stored, options_.folder, std::string(source.name), true));
      tensor->bytes = std::move(found.bytes);
      return Ok();
    }
    if (source.kind == TensorKind::kParameter && !options_.contents &&
        (!count || *count > kMaxFoldedElements)) {
      return Ok();
    }
    if (!external) {
      tensor->bytes = Content(stored);
    } else if (source.known.value) {
      tensor->bytes = Content(ToProto(*source.known.value));
    }
    return Ok();
  }

  std::optional<std::string> Content(const onnx::TensorProto& tensor) {
    const auto element = ElementTypeOf(tensor.data_type());
    const auto count = ElementCount({tensor.dims().begin(), tensor.dims().end()});
    if (!element || !count) return std::nullopt;
    const int64_t size = StoredBytes(*element, *count);
    const bool too_large = size > kMaxConstantBytes || size > kMaxContentBytes - content_;
    if (too_large && !options_.contents) return std::nullopt;
    content_ += size;
    return TensorBytes(tensor);
  }

  Result<ImportedTensor> ExportTensor(const onnx::TensorProto& tensor, const std::string& place) {
    PW_RETURN_IF_ERROR(CheckTensor(tensor, place));
    ImportedTensor out;
    out.dtype = NumbersOf(tensor.data_type());
    out.shape.assign(tensor.dims().begin(), tensor.dims().end());
    out.bytes = Content(tensor);
    return out;
  }

  Result<ImportedNode> ExportNode(const onnx::GraphProto& graph, int index) {
    const onnx::NodeProto& node = graph.node(index);
    ImportedNode out;
    out.type = node.op_type();
    if (!IsDefaultDomain(node.domain())) out.domain = node.domain();
    out.module = ModulePath(node.name());
    out.place = NodePlace(graph, index);
    out.inputs.assign(node.input().begin(), node.input().end());
    out.outputs.assign(node.output().begin(), node.output().end());
    for (const AttributeProto& attribute : node.attribute()) {
      PW_ASSIGN(auto value, ExportAttribute(attribute, out.place));
      if (value) out.attributes[attribute.name()] = std::move(*value);
    }
    return out;
  }

  // Nothing for types that no operator needs here (sparse tensors, lists of tensors, types).
  Result<std::optional<ImportedAttribute>> ExportAttribute(const AttributeProto& attribute,
                                                           const std::string& place) {
    using Exported = std::optional<ImportedAttribute>;
    switch (attribute.type()) {
      case AttributeProto::INT: return Exported(static_cast<int64_t>(attribute.i()));
      case AttributeProto::FLOAT: return Exported(static_cast<double>(attribute.f()));
      case AttributeProto::STRING: return Exported(attribute.s());
      case AttributeProto::INTS:
        return Exported(std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
      case AttributeProto::FLOATS:
        return Exported(std::vector<double>(attribute.floats().begin(), attribute.floats().end()));
      case AttributeProto::STRINGS:
        return Exported(
            std::vector<std::string>(attribute.strings().begin(), attribute.strings().end()));
      case AttributeProto::TENSOR: {
        PW_ASSIGN(ImportedTensor tensor, ExportTensor(attribute.t(), place));
        return Exported(std::move(tensor));
      }
      case AttributeProto::GRAPH: {
        PW_ASSIGN(auto graph, ExportSubGraph(attribute.g(), place));
        return Exported(std::shared_ptr<const ImportedGraph>(std::move(graph)));
      }
      default: return Exported();
    }
  }

  // Shared, since attributes are values and sub-graphs are large.
  Result<std::shared_ptr<ImportedGraph>> ExportSubGraph(const onnx::GraphProto& graph,
                                                        const std::string& place) {
    auto out = std::make_shared<ImportedGraph>();
    for (const auto& input : graph.input()) out->inputs.push_back(input.name());
    for (const auto& output : graph.output()) out->outputs.push_back(output.name());
    for (const auto& tensor : graph.initializer()) {
      PW_ASSIGN(ImportedTensor constant, ExportTensor(tensor, place));
      out->constants.push_back({tensor.name(), std::move(constant)});
    }
    PW_ASSIGN(const std::vector<int> order, SortNodes(graph));
    for (const int index : order) {
      PW_ASSIGN(ImportedNode node, ExportNode(graph, index));
      out->nodes.push_back(std::move(node));
    }
    return out;
  }

  void AddShapes(const onnx::NodeProto& node) {
    for (const auto& name : node.output()) {
      const KnownTensor* known = name.empty() ? nullptr : input_.types.Find(name);
      if (known == nullptr || known->assumed || !known->type.has_tensor_type()) continue;
      if (auto shape = StaticShape(known->type)) program_.shapes[name] = std::move(*shape);
    }
  }

  const EmitInput& input_;
  const onnx::GraphProto& graph_;
  const Sources* probed_;
  const OnnxOptions& options_;
  bool several_batches_ = false;
  ImportedModel program_;
  std::unordered_map<std::string_view, const onnx::TensorProto*> stored_;
  std::unordered_set<std::string_view> read_;  // by a node, a sub-graph or as a graph output
  int64_t content_ = 0;                        // bytes carried along
};

}  // namespace

Result<ImportedModel> ToImportedModel(const EmitInput& input, const Sources* probed,
                                      const OnnxOptions& options) {
  return Exporter(input, probed, options).Run();
}

}  // namespace placewright::onnx_import
