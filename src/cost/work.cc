#include "cost/work.h"

#include <array>

#include "base/words.h"
#include "cost/rows/rules.h"

namespace placewright {
namespace {

// "aten.add_.Tensor": "add_" if that has a row, else "add".
const WorkRow* FindAtenRow(std::string_view name) {
  static const RowsByWord<WorkRow> kRows(AtenRows(), &WorkRow::types);
  std::string_view base = name.substr(0, name.find('.'));
  if (const WorkRow* row = kRows.Find(base)) return row;
  if (base.size() > 1 && base.ends_with('_') && !base.ends_with("__")) {
    base.remove_suffix(1);
    return kRows.Find(base);
  }
  return nullptr;
}

const WorkRow* FindOnnxRow(std::string_view type) {
  static const RowsByWord<WorkRow> kRows(OnnxRows(), &WorkRow::types),
      kContribRows(ContribRows(), &WorkRow::types);
  const size_t dot = type.rfind('.');
  const std::string_view domain = dot == std::string_view::npos ? "" : type.substr(0, dot);
  const std::string_view name = dot == std::string_view::npos ? type : type.substr(dot + 1);
  if (domain == "com.microsoft" || domain == "ai.onnx.ml") {
    if (const WorkRow* row = kContribRows.Find(name)) return row;
    if (domain == "ai.onnx.ml") return nullptr;
  } else if (!domain.empty() && domain != "ai.onnx") {
    return nullptr;
  }
  return kRows.Find(name);
}

bool IsFloating(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 ||
         dtype == DType::kBF16 || dtype == DType::kC64 || dtype == DType::kC128;
}

}  // namespace

std::string_view ToString(OpClass op_class) {
  static constexpr std::array<std::string_view, kOpClassCount> kNames = {
      "view",          "gemm",           "gemv",           "conv-dense",
      "conv-winograd", "conv-pointwise", "conv-depthwise", "recurrent",
      "normalization", "pooling",        "reduction",      "elementwise",
      "data-movement", "creation",       "random",         "other"};
  return kNames[static_cast<size_t>(op_class)];
}

const WorkRow* FindWorkRow(std::string_view type) {
  static const RowsByWord<WorkRow> kTensorflowRows(TensorflowRows(), &WorkRow::types),
      kPlacewrightRows(PlacewrightRows(), &WorkRow::types),
      kStoredRows(StoredRows(), &WorkRow::types);
  if (type.starts_with("aten.")) return FindAtenRow(type.substr(5));
  if (type.starts_with("tf.")) return kTensorflowRows.Find(type.substr(3));
  // Draws that count, of a rewritten ATen graph.
  if (type.starts_with("placewright.counter_")) return FindAtenRow(type.substr(12));
  if (type.starts_with("placewright.")) {
    const std::string_view name = type.substr(12);
    return kPlacewrightRows.Find(name.substr(0, name.find('.')));
  }
  if (type.starts_with("stored.")) {
    const std::string_view name = type.substr(7);
    return kStoredRows.Find(name.substr(0, name.find('.')));
  }
  return FindOnnxRow(type);
}

Work WorkOf(const Graph& graph, OpId id) { return WorkOf(graph, graph.op(id)); }

Work WorkOf(const Graph& graph, const Op& stated) {
  const OpView op(graph, stated);
  Work work;
  if (op.op().is_view) {
    work.op_class = OpClass::kView;
    return work;
  }
  static constexpr WorkRow kUnknown{"", OpClass::kOther, ByBytes, 0};
  const WorkRow* row = FindWorkRow(op.op().type);
  if (row == nullptr) row = &kUnknown;
  work.op_class = row->op_class;
  row->rule(op, *row, work);
  return work;
}

DType ComputeDType(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  const TensorId none;
  TensorId first = none;
  for (const std::vector<TensorId>* list : {&op.inputs, &op.outputs}) {
    for (TensorId tensor : *list) {
      if (IsFloating(graph.tensor(tensor).dtype)) return graph.tensor(tensor).dtype;
      if (first == none) first = tensor;
    }
  }
  return first == none ? DType::kF32 : graph.tensor(first).dtype;
}

}  // namespace placewright
