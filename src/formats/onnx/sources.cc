#include "formats/onnx/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "formats/onnx/attributes.h"
#include "formats/onnx/external.h"
#include "formats/onnx/scope.h"
#include "formats/onnx/shapes/fold.h"
#include "formats/onnx/weightless.h"

namespace placewright::onnx_import {
namespace {

// Floats and quantized weights; a rank above 0 distinguishes a weight from a setting.
TensorKind KindOfInitializer(const onnx::TensorProto& tensor) {
  const auto element = ElementTypeOf(tensor.data_type());
  if (!element || tensor.dims_size() == 0) return TensorKind::kConstant;
  switch (element->dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kC64:
    case DType::kC128:
    case DType::kI8:
    case DType::kU8:
    case DType::kOpaque: return TensorKind::kParameter;
    default: return TensorKind::kConstant;
  }
}

std::unordered_set<std::string> ListedParameters(const onnx::ModelProto& model) {
  std::unordered_set<std::string> names;
  const std::string list = Metadata(model, "parameters");
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find('\n', at), list.size());
    names.insert(list.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

class Collector {
 public:
  Collector(const onnx::ModelProto& model, const std::string& folder)
      : model_(model), graph_(model.graph()), folder_(folder) {
    out_.folded.assign(static_cast<size_t>(graph_.node_size()), false);
  }

  Result<Sources> Run() {
    AddInputs();
    PW_RETURN_IF_ERROR(AddInitializers());
    const std::vector<bool> weightless = FindWeightlessParameters(graph_);
    // Constants first: a weightless parameter's shape may be one.
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (IsOp(graph_.node(i), "Constant")) PW_RETURN_IF_ERROR(AddConstant(i));
    }
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (weightless[static_cast<size_t>(i)]) PW_RETURN_IF_ERROR(AddWeightlessParameter(i));
    }
    return std::move(out_);
  }

 private:
  void AddInputs() {
    std::unordered_set<std::string_view> initialized;
    for (const auto& tensor : graph_.initializer()) initialized.insert(tensor.name());
    for (const auto& tensor : graph_.sparse_initializer()) {
      initialized.insert(tensor.values().name());
    }
    const auto parameters = ListedParameters(model_);
    for (const auto& input : graph_.input()) {
      if (initialized.count(input.name()) > 0) continue;
      Source source;
      source.name = input.name();
      source.known.type = input.type();
      source.always = true;
      if (parameters.count(input.name()) > 0) {
        source.kind = TensorKind::kParameter;
        source.known.constant = true;
      }
      out_.sources.push_back(std::move(source));
    }
  }

  Status AddInitializers() {
    for (const auto& tensor : graph_.initializer()) {
      PW_RETURN_IF_ERROR(AddDense(tensor, tensor.name(), KindOfInitializer(tensor),
                                  fmt::format("initializer {}", Printable(tensor.name()))));
    }
    for (const auto& tensor : graph_.sparse_initializer()) {
      const std::string& name = tensor.values().name();
      PW_RETURN_IF_ERROR(AddSparse(tensor, name, TensorKind::kParameter,
                                   fmt::format("initializer {}", Printable(name))));
    }
    return Ok();
  }

  Status AddDense(const onnx::TensorProto& tensor, std::string_view name, TensorKind kind,
                  const std::string& place) {
    PW_RETURN_IF_ERROR(CheckTensor(tensor, place));
    Source source;
    source.name = name;
    source.kind = kind;
    source.known.constant = true;
    source.known.type =
        TensorType(tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()});
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
      PW_ASSIGN(ExternalTensor external, FindExternal(tensor, folder_, place));
      source.known.value = std::move(external.value);
      out_.external_files.insert(external.location);
      auto& missing = out_.missing_files;
      if (external.missing &&
          std::find(missing.begin(), missing.end(), external.location) == missing.end()) {
        missing.push_back(external.location);
      }
    } else {
      source.known.value = ReadSmallTensor(tensor);
    }
    Add(std::move(source));
    return Ok();
  }

  Status AddSparse(const onnx::SparseTensorProto& tensor, std::string_view name, TensorKind kind,
                   const std::string& place) {
    PW_RETURN_IF_ERROR(CheckTensor(tensor.values(), place + ".values"));
    PW_RETURN_IF_ERROR(CheckTensor(tensor.indices(), place + ".indices"));
    Source source;
    source.name = name;
    source.kind = kind;
    source.known.constant = true;
    source.known.type =
        TensorType(tensor.values().data_type(), {tensor.dims().begin(), tensor.dims().end()});
    int64_t bytes = 0;
    for (const onnx::TensorProto* part : {&tensor.values(), &tensor.indices()}) {
      const auto count = ElementCount({part->dims().begin(), part->dims().end()});
      bytes = SaturatingAdd(bytes, StoredBytes(*ElementTypeOf(part->data_type()), *count));
    }
    source.opaque_bytes = Bytes(bytes);
    Add(std::move(source));
    return Ok();
  }

  Status AddConstant(int index) {
    const onnx::NodeProto& node = graph_.node(index);
    const std::string place = NodePlace(graph_, index);
    out_.folded[static_cast<size_t>(index)] = true;
    if (node.output_size() != 1 || node.output(0).empty()) {
      return MakeError(ErrorCode::kField, "a Constant must have one output", place);
    }
    const std::string& name = node.output(0);
    if (const auto* value = FindAttribute(node, "value"); value != nullptr && value->has_t()) {
      return AddDense(value->t(), name, TensorKind::kConstant, place);
    }
    if (const auto* value = FindAttribute(node, "sparse_value");
        value != nullptr && value->has_sparse_tensor()) {
      return AddSparse(value->sparse_tensor(), name, TensorKind::kConstant, place);
    }
    Source source;
    source.name = name;
    source.kind = TensorKind::kConstant;
    source.known.constant = true;
    PW_ASSIGN(source.known.type, ListedType(node, place));
    source.known.value = ConstantValue(node);
    Add(std::move(source));
    return Ok();
  }

  // The type of a Constant that is given as numbers or strings in an attribute.
  Result<onnx::TypeProto> ListedType(const onnx::NodeProto& node, const std::string& place) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "value_int") return TensorType(onnx::TensorProto::INT64, {});
      if (attribute.name() == "value_float") return TensorType(onnx::TensorProto::FLOAT, {});
      if (attribute.name() == "value_string") return TensorType(onnx::TensorProto::STRING, {});
      if (attribute.name() == "value_ints") {
        return TensorType(onnx::TensorProto::INT64, {attribute.ints_size()});
      }
      if (attribute.name() == "value_floats") {
        return TensorType(onnx::TensorProto::FLOAT, {attribute.floats_size()});
      }
      if (attribute.name() == "value_strings") {
        return TensorType(onnx::TensorProto::STRING, {attribute.strings_size()});
      }
    }
    return MakeError(ErrorCode::kField, "a Constant without a value", place);
  }

  // Folds the node if its shape is a known constant; otherwise it stays an op.
  Status AddWeightlessParameter(int index) {
    const onnx::NodeProto& node = graph_.node(index);
    const auto shape = by_name_.find(node.input(0));
    if (shape == by_name_.end()) return Ok();
    const auto& value = out_.sources[shape->second].known.value;
    if (!value || value->is_real() || value->dims.size() != 1) return Ok();
    int32_t element = onnx::TensorProto::FLOAT;
    if (const auto* fill = FindAttribute(node, "value")) element = fill->t().data_type();
    const auto type = ElementTypeOf(element);
    const auto count = ElementCount(value->ints);
    if (!type || !count || StoredBytes(*type, *count) >= kMaxQuantity ||
        value->ints.size() > kMaxRank) {
      return MakeError(ErrorCode::kField, "a parameter of an impossible shape or element type",
                       NodePlace(graph_, index));
    }
    out_.folded[static_cast<size_t>(index)] = true;
    Source source;
    source.name = node.output(0);
    source.kind = TensorKind::kParameter;
    source.always = true;
    source.known.constant = true;
    source.known.type = TensorType(element, value->ints);
    Add(std::move(source));
    return Ok();
  }

  void Add(Source source) {
    by_name_.emplace(source.name, out_.sources.size());
    out_.sources.push_back(std::move(source));
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& graph_;
  const std::string& folder_;
  Sources out_;
  std::unordered_map<std::string_view, size_t> by_name_;  // of constants
};

}  // namespace

std::string Metadata(const onnx::ModelProto& model, std::string_view key) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() == key) return entry.value();
  }
  return "";
}

Result<Sources> CollectSources(const onnx::ModelProto& model, const std::string& folder) {
  return Collector(model, folder).Run();
}

}  // namespace placewright::onnx_import
