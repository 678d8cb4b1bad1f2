#include "formats/aten/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>
#include <vector>

#include "base/text.h"
#include "formats/aten/aliasing.h"
#include "formats/aten/reader.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

Error Refusal(std::string reason) {
  return MakeError(ErrorCode::kNotExpressible, "an ATen graph cannot hold it: " + reason, "",
                   "Export another way: `placewright export --help` lists the formats.");
}

Json ToJson(const Value& value) {
  if (value.IsNone()) return nullptr;
  if (const bool* flag = value.AsBool()) return *flag;
  if (const int64_t* number = value.AsInt()) return *number;
  if (const double* number = value.AsDouble()) {
    if (std::isnan(*number)) return "nan";
    if (std::isinf(*number)) return *number > 0 ? "inf" : "-inf";
    return *number;
  }
  if (const std::string* text = value.AsString()) return *text;
  if (const InputRef* input = value.AsInput()) return fmt::format("%{}", input->index);
  Json list = Json::array();
  for (const Value& item : *value.AsList()) list.push_back(ToJson(item));
  return list;
}

// Texts that the reader takes for something else.
bool IsPlain(const Value& value) {
  if (const std::string* text = value.AsString()) {
    return !text->starts_with('%') && *text != "inf" && *text != "-inf" && *text != "nan";
  }
  const Value::List* list = value.AsList();
  return list == nullptr || std::all_of(list->begin(), list->end(), IsPlain);
}

class Writer {
 public:
  Writer(const Graph& graph, const IdVector<OpId, bool>& module_stated,
         const NamedPlacement* devices, std::optional<bool> wrapped)
      : graph_(graph), module_stated_(module_stated), devices_(devices), wrapped_(wrapped) {}

  Result<std::string> Write() {
    Json file;
    file["name"] = graph_.name();
    if (graph_.batch() > 0) file["batch"] = graph_.batch();
    if (wrapped_) file["wrapped"] = *wrapped_;
    file["n_ops"] = graph_.op_count();
    file["n_edges"] = graph_.edge_count();
    PW_RETURN_IF_ERROR(AddInputs(file));
    Json& ops = file["ops"] = Json::array();
    for (OpId id : graph_.ops()) {
      PW_ASSIGN(Json op, OpToJson(id));
      ops.push_back(std::move(op));
    }
    Json& outputs = file["outputs"] = Json::array();
    for (TensorId id : graph_.outputs()) outputs.push_back(graph_.tensor(id).name);
    return FormatDocument(file);
  }

 private:
  Result<Json> TypeOf(const Tensor& tensor) const {
    const std::string_view dtype = AtenWord(tensor.dtype);
    if (dtype.empty()) {
      return Refusal(fmt::format("of the tensor \"{}\" {}", Printable(tensor.name, 80),
                                 tensor.dtype == DType::kOpaque
                                     ? "only the bytes are known, no type and no shape"
                                     : "the elements are texts"));
    }
    return Json{{"shape", tensor.shape}, {"dtype", dtype}};
  }

  Status AddInputs(Json& file) const {
    Json parameters = Json::array(), inputs = Json::array();
    for (TensorId id : graph_.tensors()) {
      const Tensor& tensor = graph_.tensor(id);
      if (tensor.producer.valid()) continue;
      PW_ASSIGN(const Json type, TypeOf(tensor));
      Json input = {{"name", tensor.name}, {"kind", AtenWord(tensor.kind)}};
      input.update(type);
      inputs.push_back(std::move(input));
      if (tensor.kind == TensorKind::kParameter) parameters.push_back(tensor.name);
    }
    file["parameters"] = std::move(parameters);
    file["inputs"] = std::move(inputs);
    return Ok();
  }

  Result<Json> OpToJson(OpId id) const {
    const Op& op = graph_.op(id);
    if (graph_.format() != "aten" && AtenBaseName(op.type).empty()) {
      return Refusal(fmt::format("the op \"{}\" is of type \"{}\", no operator of ATen",
                                 Printable(op.name, 80), Printable(op.type, 80)));
    }
    Json json = {{"name", op.name}, {"target", op.type}, {"phase", AtenWord(op.phase)}};
    const std::string& module = graph_.module_path(op.module);
    if (!module.empty() && (module_stated_.empty() || module_stated_[id])) json["scope"] = module;
    if (devices_ != nullptr) json["device"] = (*devices_)[id.index()].second;
    PW_ASSIGN(const AtenOp::Mark mark, MarkOf(op));
    if (mark != AtenOp::Mark::kNone) json["alias"] = AtenWord(mark);
    if (!op.after.empty()) {
      for (OpId other : op.after) json["after"].push_back(graph_.op(other).name);
    }
    json["inputs"] = Json::array();
    for (TensorId input : op.inputs) json["inputs"].push_back(graph_.tensor(input).name);
    PW_RETURN_IF_ERROR(AddArguments(op, json));
    PW_RETURN_IF_ERROR(AddOutputs(op, json));
    return json;
  }

  static Status AddArguments(const Op& op, Json& json) {
    json["args"] = Json::array();
    bool plain = std::all_of(op.args.begin(), op.args.end(), IsPlain);
    for (const Value& value : op.args) json["args"].push_back(ToJson(value));
    for (const NamedValue& named : op.attributes) {
      plain = plain && IsPlain(named.value);
      json["kwargs"][named.name] = ToJson(named.value);
    }
    if (plain) return Ok();
    return Refusal(
        fmt::format("an argument of \"{}\" is a text that stands for a number or a reference there",
                    Printable(op.name, 80)));
  }

  // Outputs that were not computed are null; a `null` more tells an only output "op:0" from "op".
  Status AddOutputs(const Op& op, Json& json) const {
    Json& outputs = json["outputs"] = Json::array();
    for (TensorId id : op.outputs) {
      const Tensor& tensor = graph_.tensor(id);
      while (static_cast<int32_t>(outputs.size()) < tensor.output_index) outputs.push_back(nullptr);
      PW_ASSIGN(Json type, TypeOf(tensor));
      outputs.push_back(std::move(type));
    }
    const bool numbered = !op.outputs.empty() && graph_.tensor(op.outputs[0]).name != op.name;
    if (outputs.size() == 1 && numbered && !ReturnsList(op.type)) outputs.push_back(nullptr);
    return Ok();
  }

  // The first mark under which the reader gives the op the aliases that it has.
  Result<AtenOp::Mark> MarkOf(const Op& op) const {
    const AliasSchema schema =
        AliasOf(op.type, op.args, op.attributes, static_cast<int32_t>(op.inputs.size()));
    for (AtenOp::Mark mark : {AtenOp::Mark::kNone, AtenOp::Mark::kView, AtenOp::Mark::kInPlace}) {
      if (mark != AtenOp::Mark::kNone && op.inputs.empty()) break;
      if (Agrees(op, AliasingOf(mark, schema))) return mark;
    }
    return Refusal(
        fmt::format("what \"{}\" views or writes cannot be marked", Printable(op.name, 80)));
  }

  bool Agrees(const Op& op, const AtenAliasing& aliasing) const {
    std::vector<StorageId> written, expected;
    for (TensorId tensor : op.writes) written.push_back(graph_.tensor(tensor).storage);
    for (int32_t input : aliasing.writes) expected.push_back(StorageOfInput(op, input));
    for (TensorId id : op.outputs) {
      const Tensor& output = graph_.tensor(id);
      const auto k = static_cast<size_t>(output.output_index);
      const bool fresh = graph_.storage(output.storage).first == id;
      if (aliasing.view != AliasKind::kFresh) {
        // What is a view although strides forbid one was marked as one.
        const bool view = output.storage == StorageOfInput(op, aliasing.view_of);
        if (view != (aliasing.view == AliasKind::kView)) return false;
        if (!view && !fresh) return false;
      } else if (k < aliasing.returned.size()) {
        if (output.storage != StorageOfInput(op, aliasing.returned[k])) return false;
        expected.push_back(output.storage);
      } else if (!fresh) {
        return false;
      }
    }
    return Distinct(std::move(written)) == Distinct(std::move(expected));
  }

  StorageId StorageOfInput(const Op& op, int32_t input) const {
    if (static_cast<size_t>(input) >= op.inputs.size()) return StorageId();
    return graph_.tensor(op.inputs[static_cast<size_t>(input)]).storage;
  }

  static std::vector<StorageId> Distinct(std::vector<StorageId> ids) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

  const Graph& graph_;
  const IdVector<OpId, bool>& module_stated_;
  const NamedPlacement* devices_;
  const std::optional<bool> wrapped_;
};

// The first line in which two texts differ, as (in a, in b).
std::pair<std::string_view, std::string_view> FirstDifference(std::string_view a,
                                                              std::string_view b) {
  while (true) {
    const std::string_view line_a = a.substr(0, a.find('\n'));
    const std::string_view line_b = b.substr(0, b.find('\n'));
    if (line_a != line_b || line_a.size() == a.size() || line_b.size() == b.size()) {
      return {line_a, line_b};
    }
    a.remove_prefix(line_a.size() + 1);
    b.remove_prefix(line_b.size() + 1);
  }
}

// The text form without the name of the format.
std::string Content(const Graph& graph) {
  std::string text = ToText(graph);
  const std::string format = fmt::format(" ({}), batch ", graph.format());
  const size_t at = text.find(format);
  if (at != std::string::npos) text.erase(at, format.size());
  return text;
}

Status VerifyReadsBack(const std::string& text, const Graph& graph) {
  Result<Graph> read = ReadAtenGraph(text);
  if (!read.ok()) return Refusal(read.error().ToString());
  const std::string before = Content(graph), after = Content(read.value());
  if (before == after) return Ok();
  const auto [wanted, found] = FirstDifference(before, after);
  return Refusal(fmt::format("\"{}\" would read back as \"{}\"", Printable(wanted, 160),
                             Printable(found, 160)));
}

}  // namespace

Result<std::string> WriteAtenGraph(const Graph& graph, const IdVector<OpId, bool>& module_stated,
                                   const NamedPlacement* devices, std::optional<bool> wrapped) {
  PW_ASSIGN(std::string text, Writer(graph, module_stated, devices, wrapped).Write());
  PW_RETURN_IF_ERROR(VerifyReadsBack(text, graph));
  return text;
}

Result<std::string> WriteAtenPlan(const PlanInputs& plan, const Placement& placement) {
  if (plan.graph.costs || plan.graph.times) {
    return Refusal("the times that the graph's file gives its ops");
  }
  const NamedPlacement devices = NamePlacement(placement, plan.graph.graph, plan.cluster.cluster);
  return WriteAtenGraph(plan.graph.graph, plan.graph.module_stated, &devices, plan.graph.wrapped);
}

}  // namespace placewright
