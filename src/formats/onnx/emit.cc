#include "formats/onnx/emit.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "base/utf8.h"
#include "formats/onnx/attributes.h"
#include "formats/onnx/scope.h"
#include "formats/onnx/settings.h"

namespace placewright::onnx_import {
namespace {

// What the graph needs to know about one tensor.
struct Layout {
  DType dtype = DType::kOpaque;
  std::vector<int64_t> shape;  // empty for kOpaque
  Bytes opaque_bytes;
};

class Emitter {
 public:
  Emitter(const EmitInput& input, OnnxReport* report)
      : input_(input),
        graph_(input.model.graph()),
        report_(report),
        names_(UniqueNodeNames(graph_)),
        builder_(GraphName(input.model), "onnx") {
    builder_.set_batch(input.batch);
  }

  Result<GraphBuilder> Run() && {
    PW_RETURN_IF_ERROR(CheckNames());
    PW_RETURN_IF_ERROR(CheckShapes());
    FindReadNames();
    for (const Source& source : input_.sources.sources) {
      if (source.always || read_.count(source.name) > 0) PW_RETURN_IF_ERROR(AddSource(source));
    }
    for (const int index : input_.order) {
      if (!input_.sources.folded[static_cast<size_t>(index)]) PW_RETURN_IF_ERROR(AddOp(index));
    }
    std::vector<TensorId> outputs;
    for (const auto& output : graph_.output()) outputs.push_back(ids_.at(output.name()));
    builder_.SetOutputs(std::move(outputs));
    return std::move(builder_);
  }

 private:
  static std::string GraphName(const onnx::ModelProto& model) {
    const std::string name = Metadata(model, "model");
    return Printable(name.empty() ? model.graph().name() : name);
  }

  // All names that a node reads: inputs (absent ones too, as ""), then captured tensors.
  static std::vector<std::string_view> ReadsOf(const onnx::NodeProto& node) {
    std::vector<std::string_view> names(node.input().begin(), node.input().end());
    const Reads reads = CapturedNames(node);
    names.insert(names.end(), reads.captured.begin(), reads.captured.end());
    return names;
  }

  Status CheckName(std::string_view name, const std::string& place) {
    if (IsUtf8(name)) return Ok();
    return MakeError(ErrorCode::kField, fmt::format("'{}' is no UTF-8 name", Printable(name)),
                     place);
  }

  Status CheckNames() {
    for (const Source& source : input_.sources.sources) {
      PW_RETURN_IF_ERROR(CheckName(source.name, "graph inputs and initializers"));
    }
    for (int i = 0; i < graph_.node_size(); ++i) {
      const onnx::NodeProto& node = graph_.node(i);
      const std::string place = NodePlace(graph_, i);
      if (node.op_type().empty()) {
        return MakeError(ErrorCode::kField, "a node without an operator type", place);
      }
      for (const std::string* text : {&node.name(), &node.op_type(), &node.domain()}) {
        PW_RETURN_IF_ERROR(CheckName(*text, place));
      }
      for (const auto& attribute : node.attribute()) {
        PW_RETURN_IF_ERROR(CheckName(attribute.name(), place));
      }
      for (const auto& name : node.output()) PW_RETURN_IF_ERROR(CheckName(name, place));
      for (const std::string_view name : ReadsOf(node)) {
        if (name.empty() || input_.types.Find(name) != nullptr) continue;
        return UnknownTensor(name, place);
      }
    }
    for (const auto& output : graph_.output()) {
      if (input_.types.Find(output.name()) == nullptr) {
        return UnknownTensor(output.name(), "graph.output");
      }
    }
    return Ok();
  }

  Error UnknownTensor(std::string_view name, std::string place) const {
    constexpr size_t kMaxCandidates = 20000;
    std::vector<std::string> candidates;
    for (const Source& source : input_.sources.sources) {
      if (candidates.size() < kMaxCandidates) candidates.emplace_back(source.name);
    }
    for (const auto& node : graph_.node()) {
      for (const auto& output : node.output()) {
        if (candidates.size() < kMaxCandidates) candidates.push_back(output);
      }
    }
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("no input, initializer or node makes tensor '{}'{}",
                                 Printable(name), DidYouMean(std::string(name), candidates)),
                     std::move(place));
  }

  Status CheckShapes() {
    for (const int index : input_.order) {
      if (input_.sources.folded[static_cast<size_t>(index)]) continue;
      for (const auto& name : graph_.node(index).output()) {
        if (name.empty()) continue;
        const KnownTensor& known = *input_.types.Find(name);
        if (!IsComplete(known.type)) return ShapeError(index, name, known);
      }
    }
    for (const Source& source : input_.sources.sources) {
      if (IsComplete(source.known.type)) continue;
      return MakeError(ErrorCode::kGraphShape,
                       fmt::format("graph input '{}' has no static shape: {}",
                                   Printable(source.name), Describe(source.known.type)),
                       fmt::format("input {}", Printable(source.name)), DimensionRemedy());
    }
    return Ok();
  }

  // What would give every graph input a shape.
  std::string DimensionRemedy() const {
    const std::vector<std::string>& open = input_.sources.open_dimensions;
    if (open.empty()) return "Export the model with static shapes; none may be negative.";
    return fmt::format("Give the open dimensions values: {}--dim {}.",
                       input_.sources.batch_is_open ? "--batch N, or " : "",
                       ListDimensions(open, "=N", " --dim "));
  }

  // With all graph inputs known, it is the batch or the op itself that cannot be.
  std::string OpRemedy() const {
    const int64_t batch = input_.sources.replaced_batch;
    if (batch == 0) return "Fix the op's attributes and inputs, or export the model again.";
    return fmt::format("Leave --batch out (the model's is {}), or export the model at that batch.",
                       batch);
  }

  // Names the op and the tensor, and why its shape is unknown: an input of the graph or external
  // data without a size, or what libonnx said.
  Error ShapeError(int index, const std::string& name, const KnownTensor& known) const {
    const onnx::NodeProto& node = graph_.node(index);
    std::string message = fmt::format(
        "the shape of tensor '{}', made by {} '{}', is unknown: {}", Printable(name), OpType(node),
        Printable(names_[static_cast<size_t>(index)]), Describe(known.type));
    std::string remedy = OpRemedy();
    for (const Source& source : input_.sources.sources) {
      if (IsComplete(source.known.type)) continue;
      remedy = DimensionRemedy();
      message += fmt::format("; graph input '{}' is {}", Printable(source.name),
                             Describe(source.known.type));
      break;
    }
    if (!known.failure.empty()) message += fmt::format("; shape inference: {}", known.failure);
    if (!input_.sources.missing_files.empty()) {
      const std::string file = Printable(input_.sources.missing_files.front());
      message += fmt::format("; external data '{}' is missing", file);
      const bool open = !input_.sources.open_dimensions.empty();
      remedy = fmt::format("{} '{}' beside the model.",
                           open ? DimensionRemedy() + " If that is not enough, put" : "Put", file);
    }
    return MakeError(ErrorCode::kGraphShape, std::move(message), NodePlace(graph_, index),
                     std::move(remedy));
  }

  void FindReadNames() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (input_.sources.folded[static_cast<size_t>(i)]) continue;
      for (const std::string_view name : ReadsOf(graph_.node(i))) read_.insert(name);
    }
    for (const auto& output : graph_.output()) read_.insert(output.name());
  }

  // `op_bytes`: what a tensor that is none (a sequence, say) is taken to hold.
  Result<Layout> LayoutOf(const KnownTensor& known, std::string_view name, Bytes op_bytes) const {
    Layout layout;
    const auto shape = StaticShape(known.type);
    if (!shape) {
      layout.opaque_bytes = op_bytes;
      return layout;
    }
    const int32_t type = known.type.has_tensor_type() ? known.type.tensor_type().elem_type()
                                                      : known.type.sparse_tensor_type().elem_type();
    const ElementType element = *ElementTypeOf(type);
    const int64_t bytes = StoredBytes(element, *ElementCount(*shape));
    if (bytes >= kMaxQuantity || *ElementCount(*shape) >= kMaxQuantity) {
      return MakeError(ErrorCode::kField, "a tensor of 2^60 bytes or more",
                       fmt::format("tensor {}", Printable(name)));
    }
    layout.dtype = element.dtype;
    if (element.dtype == DType::kOpaque) {
      layout.opaque_bytes = Bytes(bytes);
    } else {
      layout.shape = *shape;
    }
    return layout;
  }

  Status AddSource(const Source& source) {
    PW_ASSIGN(Layout layout, LayoutOf(source.known, source.name, Bytes(0)));
    if (source.opaque_bytes.count > 0) layout = {DType::kOpaque, {}, source.opaque_bytes};
    PW_ASSIGN(const TensorId id,
              builder_.AddInput(std::string(source.name), source.kind, layout.dtype, layout.shape,
                                layout.opaque_bytes));
    bytes_[source.name] = BytesOf(layout);
    ids_[source.name] = id;
    return Ok();
  }

  static Bytes BytesOf(const Layout& layout) {
    if (layout.dtype == DType::kOpaque) return layout.opaque_bytes;
    return Bytes(SaturatingMultiply(*ElementCount(layout.shape), SizeOf(layout.dtype)));
  }

  // Inputs and args of an op: args hold a reference for each ONNX input, null where it is absent.
  Bytes AddInputs(const onnx::NodeProto& node, OpSpec* spec) {
    Bytes total;
    const auto reads = ReadsOf(node);
    for (size_t i = 0; i < reads.size(); ++i) {
      const bool positional = i < static_cast<size_t>(node.input_size());
      if (reads[i].empty()) {
        spec->args.emplace_back();
        continue;
      }
      if (positional) spec->args.emplace_back(InputRef{static_cast<int32_t>(spec->inputs.size())});
      spec->inputs.push_back(ids_.at(reads[i]));
      total = Bytes(SaturatingAdd(total.count, bytes_.at(reads[i]).count));
    }
    return total;
  }

  Status AddOp(int index) {
    const onnx::NodeProto& node = graph_.node(index);
    OpSpec spec;
    spec.name = names_[static_cast<size_t>(index)];
    spec.type = OpType(node);
    spec.module = ModulePath(node.name());
    spec.attributes = NamedAttributes(node);
    AddSettings(node, input_.types, &spec.attributes);
    const Bytes input_bytes = AddInputs(node, &spec);
    const bool view = IsView(node, input_.types, input_.opset);
    bool assumed = false;
    std::vector<std::string_view> made;
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& name = node.output(i);
      // The mask of an inference Dropout, which has no reader.
      if (name.empty() || (view && i > 0 && read_.count(name) == 0)) continue;
      const KnownTensor& known = *input_.types.Find(name);
      PW_ASSIGN(Layout layout, LayoutOf(known, name, input_bytes));
      OutputSpec output;
      output.name = name;
      output.dtype = layout.dtype;
      output.shape = layout.shape;
      output.opaque_bytes = layout.opaque_bytes;
      if (view && i == 0 && layout.dtype != DType::kOpaque) {
        PW_RETURN_IF_ERROR(CheckView(node, index, layout));
        output.alias = OutputSpec::Alias::kView;
        output.alias_of = 0;
      }
      assumed = assumed || (known.assumption);
      bytes_[name] = BytesOf(layout);
      spec.outputs.push_back(std::move(output));
      made.push_back(name);
    }
    if (assumed && report_ != nullptr) {
      report_->assumed_shapes.push_back(fmt::format("{} ({})", spec.name, spec.type));
    }
    PW_ASSIGN(const std::vector<TensorId> ids, builder_.AddOp(std::move(spec)));
    for (size_t i = 0; i < made.size(); ++i) ids_[made[i]] = ids[i];
    return Ok();
  }

  Status CheckView(const onnx::NodeProto& node, int index, const Layout& layout) {
    if (BytesOf(layout) == bytes_.at(node.input(0))) return Ok();
    return MakeError(
        ErrorCode::kGraphShape,
        fmt::format("{} makes '{}' of {} from '{}' of {}: a different size", OpType(node),
                    Printable(node.output(0)), FormatBytes(BytesOf(layout)),
                    Printable(node.input(0)), FormatBytes(bytes_.at(node.input(0)))),
        NodePlace(graph_, index), "Export the model again: its stored shapes contradict it.");
  }

  const EmitInput& input_;
  const onnx::GraphProto& graph_;
  OnnxReport* report_;
  std::vector<std::string> names_;
  GraphBuilder builder_;
  std::unordered_set<std::string_view> read_;  // by an op, a sub-graph or as a graph output
  std::unordered_map<std::string_view, TensorId> ids_;
  std::unordered_map<std::string_view, Bytes> bytes_;
};

}  // namespace

Result<GraphBuilder> EmitBuilder(const EmitInput& input, OnnxReport* report) {
  return Emitter(input, report).Run();
}

Result<Graph> EmitGraph(const EmitInput& input, OnnxReport* report) {
  PW_ASSIGN(GraphBuilder builder, EmitBuilder(input, report));
  return std::move(builder).Build();
}

}  // namespace placewright::onnx_import
