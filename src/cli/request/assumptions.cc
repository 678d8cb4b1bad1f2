#include "cli/request/assumptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/request/cost_store.h"
#include "cli/request/models.h"
#include "cli/shell/case_tables.h"
#include "cost/work.h"
#include "formats/text/file.h"
#include "report/table.h"

namespace placewright {
namespace {

constexpr size_t kMaxShown = 8;
constexpr size_t kMaxListed = 100;

std::string_view ProductName(OpClass op_class) {
  switch (op_class) {
    case OpClass::kGemm:
    case OpClass::kGemv: return "matrix products";
    case OpClass::kRecurrent: return "recurrent layers";
    default: return "convolutions";
  }
}

// "a, b and 3 more".
std::string FirstFew(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMaxShown); ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", Printable(names[i], 80));
  }
  if (names.size() > kMaxShown) text += fmt::format(" and {} more", names.size() - kMaxShown);
  return text;
}

// Where its times come from, as far as the sources' shares do not say it.
std::vector<std::string> NotesOnCosts(const Inputs& inputs) {
  std::vector<std::string> notes = {
      DescribeMeasured(inputs.cost_report.measured, inputs.links.size(), inputs.cost_store),
      DescribePlanLinks(inputs.plan_links), DescribePrecision(inputs)};
  notes.erase(std::remove(notes.begin(), notes.end(), ""), notes.end());
  return notes;
}

}  // namespace

std::vector<std::string> DescribeAssumptions(const LoadedGraph& loaded) {
  std::vector<std::string> lines;
  if (!loaded.assumed_dimensions.empty()) {
    std::vector<std::string> values;
    for (const auto& [name, value] : loaded.assumed_dimensions) {
      values.push_back(fmt::format("{}={}", Printable(name, 60), value));
    }
    lines.push_back(
        fmt::format("assumed {}; give --batch or --dim for real sizes", FirstFew(values)));
  }
  if (!loaded.assumed_shapes.empty()) {
    lines.push_back(
        fmt::format("assumed the output shapes of {} op{}: {}", loaded.assumed_shapes.size(),
                    loaded.assumed_shapes.size() == 1 ? "" : "s", FirstFew(loaded.assumed_shapes)));
  }
  const std::vector<std::string> notes = NotesOn(loaded);
  lines.insert(lines.end(), notes.begin(), notes.end());
  return lines;
}

std::vector<std::string> DescribeAssumptions(const Inputs& inputs) {
  std::vector<std::string> lines = DescribeAssumptions(inputs.graph);
  for (const std::string& note : inputs.cluster.cluster.notes()) lines.push_back(note);
  for (std::string& note : NotesOnCosts(inputs)) lines.push_back(std::move(note));
  return lines;
}

std::vector<std::string> NotesOn(const LoadedGraph& loaded) {
  std::vector<std::string> notes = loaded.notes;
  const Graph& graph = loaded.graph;
  if (graph.format() != "onnx") return notes;
  for (OpId op : graph.ops()) {
    if (graph.op(op).phase != Phase::kForward) return notes;
  }
  const bool file = loaded.path != kStandardInput;
  const std::string model = file ? loaded.path : "model.onnx";
  notes.push_back(fmt::format(
      "an ONNX model holds a forward pass only, so this is no training step; {}`placewright "
      "capture {} --train adam --loss cross-entropy -o {}` records one",
      file ? "" : "saved to a file, ", Printable(ShellWord(model), 200),
      Printable(ShellWord(RecordedPath(model)), 200)));
  return notes;
}

std::string DescribePrecision(const Inputs& inputs) {
  const Graph& graph = inputs.graph.graph;
  const Cluster& cluster = inputs.cluster.cluster;
  std::map<std::string, DeviceId> devices;  // one of each kind that has TF32
  for (const DeviceId id : cluster.devices()) {
    if (HasTf32(cluster.kind(id))) devices.emplace(cluster.kind(id).name, id);
  }
  // What is timed in TF32, and what would be faster in it, each with the kinds.
  std::map<std::string_view, std::set<std::string>> taken, left;
  for (const OpId op : graph.ops()) {
    if (devices.empty()) break;
    if (graph.op(op).is_view || ComputeDType(graph, op) != DType::kF32) continue;
    const OpClass op_class = WorkOf(graph, op).op_class;
    if (!UsesTf32(FloatPrecision::kTf32, op_class)) continue;
    for (const auto& [name, device] : devices) {
      if (inputs.costs.source(op, device) != CostSource::kModelled) continue;
      if (!IsFasterInTf32(op_class, cluster.kind(device))) continue;
      (UsesTf32(inputs.precision, op_class) ? taken : left)[ProductName(op_class)].insert(name);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [what, kinds] : taken) {
    parts.push_back(
        fmt::format("float32 {} are timed in TF32 on {}", what, fmt::join(kinds, ", ")));
  }
  for (const auto& [what, kinds] : left) {
    parts.push_back(
        fmt::format("float32 {} are timed in FP32 on {}", what, fmt::join(kinds, ", ")));
  }
  if (parts.empty()) return "";
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (!left.empty() && inputs.precision == FloatPrecision::kPyTorch) {
    text +=
        "; after torch.set_float32_matmul_precision(\"high\") they are faster: --precision tf32";
  }
  return text;
}

void AddNotes(const LoadedGraph& loaded, Json* object) { (*object)["notes"] = NotesOn(loaded); }

void AddNotes(const Inputs& inputs, Json* object) {
  AddNotes(inputs.graph, object);
  for (const std::string& note : inputs.cluster.cluster.notes()) (*object)["notes"].push_back(note);
  for (std::string& note : NotesOnCosts(inputs)) (*object)["notes"].push_back(std::move(note));
}

void AddAssumedShapes(const LoadedGraph& loaded, Json* object) {
  Json list = Json::array();
  for (size_t i = 0; i < std::min(loaded.assumed_shapes.size(), kMaxListed); ++i) {
    list.push_back(loaded.assumed_shapes[i]);
  }
  (*object)["assumed_shapes"] = std::move(list);
}

void AddAssumedDimensions(const LoadedGraph& loaded, Json* object) {
  Json map = Json::object();
  for (const auto& [name, value] : loaded.assumed_dimensions) map[name] = value;
  (*object)["assumed_dimensions"] = std::move(map);
}

}  // namespace placewright
