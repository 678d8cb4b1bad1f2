#include "formats/aten/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "formats/aten/aliasing.h"
#include "formats/aten/format.h"
#include "formats/aten/reader.h"
#include "formats/aten/slopes.h"
#include "formats/text/document_text.h"
#include "graph/same_graph.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

Error Refusal(std::string reason) {
  return MakeError(ErrorCode::kNotExpressible, "an ATen graph cannot hold it: " + reason, "",
                   "Export another way: `placewright export --help` lists the formats.");
}

template <class Items, class AppendItem>
void AppendList(std::string& out, const Items& items, const AppendItem& append) {
  const char* separator = "";
  out += '[';
  for (const auto& item : items) {
    out += std::exchange(separator, ",");
    append(item);
  }
  out += ']';
}

void Append(std::string& out, const Value& value) {
  if (value.IsNone()) {
    out += "null";
  } else if (const bool* flag = value.AsBool()) {
    out += *flag ? "true" : "false";
  } else if (const int64_t* whole = value.AsInt()) {
    AppendJson(out, *whole);
  } else if (const double* number = value.AsDouble()) {
    if (std::isfinite(*number)) return AppendJson(out, *number);
    out += std::isnan(*number) ? "\"nan\"" : *number > 0 ? "\"inf\"" : "\"-inf\"";
  } else if (const std::string* text = value.AsString()) {
    AppendJson(out, *text);
  } else if (const InputRef* input = value.AsInput()) {
    out += "\"%";
    AppendJson(out, int64_t{input->index});
    out += '"';
  } else {
    AppendList(out, *value.AsList(), [&](const Value& item) { Append(out, item); });
  }
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
  // `step`: whose graph it is, one of `original`; none: no distributed step. All outlive it.
  Writer(const Graph& graph, const IdVector<OpId, bool>& module_stated,
         const NamedPlacement* devices, std::optional<bool> wrapped,
         const DistributedStep* step = nullptr, const Graph* original = nullptr)
      : graph_(graph),
        module_stated_(module_stated),
        devices_(devices),
        wrapped_(wrapped),
        step_(step),
        original_(original),
        held_(graph.Held()) {}

  Result<std::string> Write() {
    file_.AddMember("name", graph_.name());
    if (graph_.batch() > 0) file_.AddMember("batch", graph_.batch());
    if (const BatchScaling* laws = graph_.batch_scaling()) {
      file_.AddMember("batch_proof", BatchProofToJson(*laws));
      if (laws->reason.empty()) laws_ = laws;
    }
    if (wrapped_) file_.AddMember("wrapped", *wrapped_);
    file_.AddMember("n_ops", graph_.op_count());
    file_.AddMember("n_edges", graph_.edge_count());
    PW_RETURN_IF_ERROR(AddInputs());
    file_.StartList("ops");
    for (OpId id : graph_.ops()) PW_RETURN_IF_ERROR(AddOp(id, file_.StartElement()));
    file_.EndList();
    if (graph_.collective_count() > 0) AddCollectives();
    Json outputs = Json::array();
    for (TensorId id : graph_.outputs()) outputs.push_back(graph_.tensor(id).name);
    file_.AddMember("outputs", outputs);
    return std::move(file_).Finish();
  }

 private:
  // Its shape, type and slopes, as the last members of an object.
  Status AddType(TensorId id, std::string& out) const {
    const Tensor& tensor = graph_.tensor(id);
    const std::string_view dtype = AtenWord(tensor.dtype);
    if (dtype.empty()) {
      return Refusal(fmt::format("of the tensor \"{}\" {}", Printable(tensor.name, 80),
                                 tensor.dtype == DType::kOpaque
                                     ? "only the bytes are known, no type and no shape"
                                     : "the elements are texts"));
    }
    out += "\"shape\":";
    AppendList(out, tensor.shape, [&](int64_t size) { AppendJson(out, size); });
    AddWord("dtype", dtype, out);
    if (laws_ != nullptr && !laws_->dimensions[id].empty()) {
      out += ",\"slopes\":";
      AppendShapeSlopes(laws_->dimensions[id], tensor.shape.size(), out);
    }
    out += '}';
    return Ok();
  }

  // A further member.
  static void AddWord(std::string_view key, std::string_view text, std::string& out) {
    out += ",\"";
    out += key;
    out += "\":";
    AppendJson(out, text);
  }

  Status AddInputs() {
    std::vector<TensorId> inputs;
    Json parameters = Json::array();
    for (TensorId id : graph_.tensors()) {
      const Tensor& tensor = graph_.tensor(id);
      if (tensor.producer.valid()) continue;
      inputs.push_back(id);
      if (tensor.kind == TensorKind::kParameter) parameters.push_back(tensor.name);
    }
    file_.AddMember("parameters", parameters);
    file_.StartList("inputs");
    for (TensorId id : inputs) {
      const Tensor& tensor = graph_.tensor(id);
      std::string& out = file_.StartElement();
      out += "{\"name\":";
      AppendJson(out, tensor.name);
      AddWord("kind", AtenWord(tensor.kind), out);
      if (tensor.below > 0) fmt::format_to(std::back_inserter(out), ",\"below\":{}", tensor.below);
      if (step_ != nullptr) AddPiece(step_->inputs[inputs_written_++], out);
      out += ',';
      PW_RETURN_IF_ERROR(AddType(id, out));
    }
    file_.EndList();
    return Ok();
  }

  void AddPiece(const DistributedStep::InputPiece& piece, std::string& out) const {
    out += ",\"of\":{\"input\":";
    AppendJson(out, original_->tensor(piece.original).name);
    const auto append = [&](const AxisPart& part) {
      const auto& [place, interval] = part;
      fmt::format_to(std::back_inserter(out),
                     R"("dimension":{},"outer":{},"size":{},"inner":{},"from":{},"to":{})",
                     place.dimension, place.outer, place.size, place.inner, interval.from,
                     interval.to);
    };
    if (piece.box.size() == 1) {
      out += ',';
      append(piece.box.front());
    } else if (!piece.box.empty()) {
      out += ",\"box\":";
      AppendList(out, piece.box, [&](const AxisPart& part) {
        out += '{';
        append(part);
        out += '}';
      });
    }
    out += '}';
  }

  void AddCollectives() {
    file_.StartList("collectives");
    for (const CollectiveId id : graph_.collectives()) {
      const Collective& collective = graph_.collective(id);
      std::string& out = file_.StartElement();
      out += "{\"name\":";
      AppendJson(out, collective.name);
      out += ",\"members\":";
      AppendList(out, collective.members,
                 [&](OpId member) { AppendJson(out, graph_.op(member).name); });
      out += '}';
    }
    file_.EndList();
  }

  Status AddOp(OpId id, std::string& out) const {
    const Op& op = graph_.op(id);
    if (step_ == nullptr && graph_.format() != "aten" && AtenBaseName(op.type).empty()) {
      return Refusal(fmt::format("the op \"{}\" is of type \"{}\", no operator of ATen",
                                 Printable(op.name, 80), Printable(op.type, 80)));
    }
    out += "{\"name\":";
    AppendJson(out, op.name);
    AddWord("target", op.type, out);
    AddWord("phase", AtenWord(op.phase), out);
    const std::string& module = graph_.module_path(op.module);
    if (module_stated_.empty() || module_stated_[id]) {
      AddWord("scope", module, out);
    }
    if (devices_ != nullptr) AddWord("device", (*devices_)[id.index()].second, out);
    if (step_ != nullptr && step_->origin[id].valid()) {
      AddWord("of", original_->op(step_->origin[id]).name, out);
    }
    PW_ASSIGN(const AtenOp::Mark mark, MarkOf(op));
    if (mark != AtenOp::Mark::kNone) AddWord("alias", AtenWord(mark), out);
    if (!op.after.empty()) {
      out += ",\"after\":";
      AppendList(out, op.after, [&](OpId other) { AppendJson(out, graph_.op(other).name); });
    }
    const auto tensor_name = [&](TensorId t) { AppendJson(out, graph_.tensor(t).name); };
    if (!held_[id].empty()) {
      out += ",\"holds\":";
      AppendList(out, held_[id], tensor_name);
    }
    out += ",\"inputs\":";
    AppendList(out, op.inputs, tensor_name);
    PW_RETURN_IF_ERROR(AddArguments(op, out));
    if (laws_ != nullptr && !laws_->arguments[id].empty()) {
      out += ",\"slopes\":";
      AppendArgumentLaws(op, laws_->arguments[id], out);
    }
    return AddOutputs(op, out);
  }

  static Status AddArguments(const Op& op, std::string& out) {
    bool plain = std::all_of(op.args.begin(), op.args.end(), IsPlain);
    out += ",\"args\":";
    AppendList(out, op.args, [&](const Value& value) { Append(out, value); });
    const char* separator = ",\"kwargs\":{";
    for (const NamedValue& named : op.attributes) {
      plain = plain && IsPlain(named.value);
      out += std::exchange(separator, ",");
      AppendJson(out, named.name);
      out += ':';
      Append(out, named.value);
    }
    if (!op.attributes.empty()) out += '}';
    if (plain) return Ok();
    return Refusal(
        fmt::format("an argument of \"{}\" is a text that stands for a number or a reference there",
                    Printable(op.name, 80)));
  }

  // Outputs that were not computed are null; a `null` more distinguishes an only output "op:0" from
  // "op".
  Status AddOutputs(const Op& op, std::string& out) const {
    out += ",\"outputs\":[";
    int32_t count = 0;
    const char* separator = "";
    for (TensorId id : op.outputs) {
      const Tensor& tensor = graph_.tensor(id);
      for (; count < tensor.output_index; ++count) {
        out += std::exchange(separator, ",");
        out += "null";
      }
      out += std::exchange(separator, ",");
      out += '{';
      PW_RETURN_IF_ERROR(AddType(id, out));
      ++count;
    }
    const bool numbered = !op.outputs.empty() && graph_.tensor(op.outputs[0]).name != op.name;
    if (count == 1 && numbered && !ReturnsList(op.type)) out += ",null";
    out += "]}";
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
    std::set<StorageId> written, expected;
    for (TensorId tensor : op.writes) written.insert(graph_.tensor(tensor).storage);
    for (int32_t input : aliasing.writes) expected.insert(StorageOfInput(op, input));
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
        expected.insert(output.storage);
      } else if (!fresh) {
        return false;
      }
    }
    return written == expected;
  }

  StorageId StorageOfInput(const Op& op, int32_t input) const {
    if (static_cast<size_t>(input) >= op.inputs.size()) return StorageId();
    return graph_.tensor(op.inputs[static_cast<size_t>(input)]).storage;
  }

  const Graph& graph_;
  const IdVector<OpId, bool>& module_stated_;
  const NamedPlacement* devices_;
  const std::optional<bool> wrapped_;
  const DistributedStep* const step_;
  const Graph* const original_;
  DocumentText file_;
  const BatchScaling* laws_ = nullptr;  // where the graph scales
  size_t inputs_written_ = 0;
  const Csr<OpId, TensorId> held_;
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

// The text form without the name of the format, and what it leaves out: arguments and outputs.
std::string Content(const Graph& graph) {
  std::string text = ToText(graph);
  const std::string format = fmt::format(" ({}), batch ", graph.format());
  const size_t at = text.find(format);
  if (at != std::string::npos) text.erase(at, format.size());
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    text += "arguments of " + op.name + ":";
    for (const Value& value : op.args) text += " " + ToString(value);
    for (const NamedValue& named : op.attributes) {
      text += fmt::format(" {}={}", named.name, ToString(named.value));
    }
    text += "\n";
  }
  for (TensorId output : graph.outputs()) text += "output " + graph.tensor(output).name + "\n";
  return text;
}

}  // namespace

Status CheckReadsBack(std::string_view text, const Graph& graph) {
  Result<Graph> read = ReadAtenGraph(text);
  if (!read.ok()) return Refusal(read.error().ToString());
  if (SameGraph(graph, read.value())) return Ok();
  const std::string before = Content(graph), after = Content(read.value());
  if (before == after) return Ok();
  const auto [wanted, found] = FirstDifference(before, after);
  return Refusal(fmt::format("\"{}\" would read back as \"{}\"", Printable(wanted, 160),
                             Printable(found, 160)));
}

Result<std::string> FormatAtenGraph(const Graph& graph, const IdVector<OpId, bool>& module_stated,
                                    const NamedPlacement* devices, std::optional<bool> wrapped) {
  return Writer(graph, module_stated, devices, wrapped).Write();
}

Result<std::string> FormatAtenStep(const DistributedStep& step, const Graph& original,
                                   const Cluster& cluster) {
  const NamedPlacement devices = NamePlacement(step.placement, step.graph, cluster);
  return Writer(step.graph, {}, &devices, std::nullopt, &step, &original).Write();
}

Result<std::string> WriteAtenGraph(const Graph& graph, const IdVector<OpId, bool>& module_stated,
                                   const NamedPlacement* devices, std::optional<bool> wrapped) {
  PW_ASSIGN(std::string text, FormatAtenGraph(graph, module_stated, devices, wrapped));
  PW_RETURN_IF_ERROR(CheckReadsBack(text, graph));
  return text;
}

Result<std::string> WriteAtenPlan(const PlanInputs& plan, const Placement& placement) {
  PW_ASSIGN(std::string text, FormatAtenPlan(plan, placement));
  PW_RETURN_IF_ERROR(CheckReadsBack(text, plan.graph.graph));
  return text;
}

Result<std::string> FormatAtenPlan(const PlanInputs& plan, const Placement& placement) {
  if (plan.graph.costs || plan.graph.times) {
    return Refusal("the times that the graph's file gives its ops");
  }
  const NamedPlacement devices = NamePlacement(placement, plan.graph.graph, plan.cluster.cluster);
  const auto* file = plan.graph.Details<AtenDetails>();
  if (file == nullptr) return FormatAtenGraph(plan.graph.graph, {}, &devices);
  return FormatAtenGraph(plan.graph.graph, file->module_stated, &devices, file->wrapped);
}

}  // namespace placewright
