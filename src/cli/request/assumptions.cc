#include "cli/request/assumptions.h"

#include <fmt/format.h>

#include <algorithm>

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
      DescribeMeasured(inputs.cost_report.measured, inputs.cost_store), DescribePrecision(inputs)};
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
  std::vector<std::string> kinds;
  std::vector<DeviceId> devices;
  for (DeviceId id : cluster.devices()) {
    const DeviceKind& kind = cluster.kind(id);
    if (!HasTf32(kind)) continue;
    if (std::find(kinds.begin(), kinds.end(), kind.name) != kinds.end()) continue;
    kinds.push_back(kind.name);
    devices.push_back(id);
  }
  bool products = false, convolutions = false;
  for (OpId op : graph.ops()) {
    if (devices.empty() || (products && convolutions)) break;
    if (graph.op(op).is_view || ComputeDType(graph, op) != DType::kF32) continue;
    const bool modelled = std::any_of(devices.begin(), devices.end(), [&](DeviceId device) {
      return inputs.costs.source(op, device) == CostSource::kModelled;
    });
    if (!modelled) continue;
    switch (WorkOf(graph, op).op_class) {
      case OpClass::kGemm: products = true; break;
      case OpClass::kConvDense:
      case OpClass::kConvWinograd:
      case OpClass::kConvPointwise: convolutions = true; break;
      default: break;
    }
  }
  if (!products && !convolutions) return "";
  const auto both = [&](std::string_view precision) {
    return fmt::format("float32 {} are timed in {} on {}",
                       products && convolutions ? "matrix products and convolutions"
                       : products               ? "matrix products"
                                                : "convolutions",
                       precision, fmt::join(kinds, ", "));
  };
  switch (inputs.precision) {
    case FloatPrecision::kTf32: return both("TF32");
    case FloatPrecision::kFp32: return both("FP32, without TF32");
    case FloatPrecision::kPyTorch: break;
  }
  std::string text;
  if (convolutions) {
    text = fmt::format("float32 convolutions are timed in TF32 on {}, as PyTorch computes them",
                       fmt::join(kinds, ", "));
  }
  if (products) {
    text += convolutions ? ", and matrix products in FP32"
                         : fmt::format("float32 matrix products are timed in FP32 on {}",
                                       fmt::join(kinds, ", "));
    text +=
        "; after torch.set_float32_matmul_precision(\"high\") they are faster: --precision tf32";
  }
  return text;
}

void AddNotes(const LoadedGraph& loaded, Json* object) { (*object)["notes"] = NotesOn(loaded); }

void AddNotes(const Inputs& inputs, Json* object) {
  AddNotes(inputs.graph, object);
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
