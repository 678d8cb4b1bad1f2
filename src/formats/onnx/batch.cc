#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <set>

#include "base/text.h"
#include "formats/onnx/sources.h"

namespace placewright::onnx_import {
namespace {

using Dim = onnx::TensorShapeProto_Dimension;

// The dimensions of a true graph input, or nullptr.
onnx::TensorShapeProto* DimsOf(Source* source) {
  if (source->kind != TensorKind::kInput || !source->known.type.has_tensor_type() ||
      !source->known.type.tensor_type().has_shape()) {
    return nullptr;
  }
  return source->known.type.mutable_tensor_type()->mutable_shape();
}

std::vector<onnx::TensorShapeProto*> InputDims(Sources* sources) {
  std::vector<onnx::TensorShapeProto*> all;
  for (Source& source : sources->sources) {
    auto* dims = DimsOf(&source);
    if (dims != nullptr && dims->dim_size() > 0) all.push_back(dims);
  }
  return all;
}

// Symbolic batches: every first dimension without a value, and wherever its symbol recurs. Returns
// whether there were any.
bool SetSymbolicBatch(const std::vector<onnx::TensorShapeProto*>& inputs, int64_t batch) {
  std::set<std::string> symbols;
  bool any = false;
  for (const auto* dims : inputs) {
    const Dim& first = dims->dim(0);
    if (first.has_dim_value()) continue;
    any = true;
    if (!first.dim_param().empty()) symbols.insert(first.dim_param());
  }
  for (auto* dims : inputs) {
    for (int i = 0; i < dims->dim_size(); ++i) {
      Dim* dim = dims->mutable_dim(i);
      if (dim->has_dim_value()) continue;
      if (i == 0 || symbols.count(dim->dim_param()) > 0) dim->set_dim_value(batch);
    }
  }
  return any;
}

// Fixed batches: of each input the first dimension that equals the recorded batch; without a
// record, first dimensions that equal that of the first input.
void SetFixedBatch(const std::vector<onnx::TensorShapeProto*>& inputs, int64_t recorded,
                   int64_t batch) {
  if (inputs.empty()) return;
  const int64_t old = recorded > 0 ? recorded : inputs[0]->dim(0).dim_value();
  for (auto* dims : inputs) {
    const int last = recorded > 0 ? dims->dim_size() : 1;
    for (int i = 0; i < last; ++i) {
      if (dims->dim(i).dim_value() != old) continue;
      dims->mutable_dim(i)->set_dim_value(batch);
      break;
    }
  }
}

Status CheckDimension(std::string_view name, int64_t value) {
  if (value >= 1 && value <= INT32_MAX) return Ok();
  return MakeError(ErrorCode::kField, fmt::format("{} must be between 1 and 2^31 - 1, not {}",
                                                  Printable(name), value));
}

}  // namespace

int64_t RecordedBatch(const onnx::ModelProto& model) {
  const std::string text = Metadata(model, "batch");
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of("_- ", at), text.size());
    const size_t first = text[at] == 'b' ? at + 1 : at;
    int64_t value = 0;
    const auto parsed = std::from_chars(text.data() + first, text.data() + end, value);
    const bool whole = first < end && parsed.ec == std::errc() && parsed.ptr == text.data() + end;
    // A bare number counts only if it is the whole text.
    if (whole && value > 0 && (first > at || (at == 0 && end == text.size()))) return value;
    at = end + 1;
  }
  return 0;
}

Status ApplyDimensions(const onnx::ModelProto& model, const OnnxOptions& options,
                       Sources* sources) {
  const auto inputs = InputDims(sources);
  for (const auto& [symbol, value] : options.dimensions) {
    PW_RETURN_IF_ERROR(CheckDimension(symbol, value));
    for (auto* dims : inputs) {
      for (Dim& dim : *dims->mutable_dim()) {
        if (!dim.has_dim_value() && dim.dim_param() == symbol) dim.set_dim_value(value);
      }
    }
  }
  if (!options.batch) return Ok();
  PW_RETURN_IF_ERROR(CheckDimension("the batch", *options.batch));
  if (!SetSymbolicBatch(inputs, *options.batch)) {
    SetFixedBatch(inputs, RecordedBatch(model), *options.batch);
  }
  return Ok();
}

}  // namespace placewright::onnx_import
