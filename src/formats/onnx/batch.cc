#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/text.h"
#include "formats/onnx/sources.h"

namespace placewright::onnx_import {
namespace {

using Dim = onnx::TensorShapeProto_Dimension;

// The dimensions of a true graph input.
struct InputShape {
  std::string_view input;
  onnx::TensorShapeProto* dims;
};

std::vector<InputShape> InputShapes(Sources* sources) {
  std::vector<InputShape> all;
  for (Source& source : sources->sources) {
    onnx::TypeProto& type = source.known.type;
    if (source.kind != TensorKind::kInput || !type.has_tensor_type()) continue;
    if (!type.tensor_type().has_shape() || type.tensor_type().shape().dim_size() == 0) continue;
    all.push_back({source.name, type.mutable_tensor_type()->mutable_shape()});
  }
  return all;
}

// What --dim calls an open dimension.
std::string NameOf(const InputShape& shape, int index) {
  const std::string& symbol = shape.dims->dim(index).dim_param();
  return symbol.empty() ? fmt::format("{}[{}]", shape.input, index) : symbol;
}

// Each once, in file order.
std::vector<std::string> OpenDimensions(const std::vector<InputShape>& inputs) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const InputShape& shape : inputs) {
    for (int i = 0; i < shape.dims->dim_size(); ++i) {
      if (shape.dims->dim(i).has_dim_value()) continue;
      std::string name = NameOf(shape, i);
      if (seen.insert(name).second) names.push_back(std::move(name));
    }
  }
  return names;
}

void SetDimensions(const std::vector<InputShape>& inputs,
                   const std::map<std::string, int64_t>& values) {
  for (const InputShape& shape : inputs) {
    for (int i = 0; i < shape.dims->dim_size(); ++i) {
      if (shape.dims->dim(i).has_dim_value()) continue;
      const auto value = values.find(NameOf(shape, i));
      if (value != values.end()) shape.dims->mutable_dim(i)->set_dim_value(value->second);
    }
  }
}

// Of open dimensions by name, as far as the tensors given for inputs say it; the first that does counts.
std::map<std::string, int64_t> GivenDimensions(
    const std::vector<InputShape>& inputs,
    const std::map<std::string, std::vector<int64_t>>& sizes) {
  std::map<std::string, int64_t> values;
  for (const InputShape& shape : inputs) {
    auto given = sizes.find(std::string(shape.input));
    if (given == sizes.end()) given = sizes.find("input:" + std::string(shape.input));
    if (given == sizes.end()) continue;
    if (given->second.size() != static_cast<size_t>(shape.dims->dim_size())) continue;
    for (int i = 0; i < shape.dims->dim_size(); ++i) {
      const int64_t size = given->second[static_cast<size_t>(i)];
      if (!shape.dims->dim(i).has_dim_value() && size > 0) values.emplace(NameOf(shape, i), size);
    }
  }
  return values;
}

bool HasSymbolicBatch(const std::vector<InputShape>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const InputShape& shape) { return !shape.dims->dim(0).has_dim_value(); });
}

// Symbolic batches: every first dimension without a value, and wherever its symbol recurs.
void SetSymbolicBatch(const std::vector<InputShape>& inputs, int64_t batch) {
  std::set<std::string> symbols;
  for (const InputShape& shape : inputs) {
    const Dim& first = shape.dims->dim(0);
    if (!first.has_dim_value() && !first.dim_param().empty()) symbols.insert(first.dim_param());
  }
  for (const InputShape& shape : inputs) {
    for (int i = 0; i < shape.dims->dim_size(); ++i) {
      Dim* dim = shape.dims->mutable_dim(i);
      if (dim->has_dim_value()) continue;
      if (i == 0 || symbols.count(dim->dim_param()) > 0) dim->set_dim_value(batch);
    }
  }
}

// Fixed batches: of each input the first dimension that equals the recorded batch; without a
// record, first dimensions that equal that of the first input. Returns what was replaced.
int64_t SetFixedBatch(const std::vector<InputShape>& inputs, int64_t recorded, int64_t batch) {
  if (inputs.empty()) return 0;
  const int64_t old = recorded > 0 ? recorded : inputs[0].dims->dim(0).dim_value();
  for (const InputShape& shape : inputs) {
    const int last = recorded > 0 ? shape.dims->dim_size() : 1;
    for (int i = 0; i < last; ++i) {
      if (shape.dims->dim(i).dim_value() != old) continue;
      shape.dims->mutable_dim(i)->set_dim_value(batch);
      break;
    }
  }
  return old;
}

Status CheckDimension(std::string_view name, int64_t value) {
  if (value >= 1 && value <= INT32_MAX) return Ok();
  return MakeError(ErrorCode::kField, fmt::format("{} must be between 1 and 2^31 - 1, not {}",
                                                  Printable(name), value));
}

Status CheckNamed(const std::map<std::string, int64_t>& dimensions,
                  const std::vector<std::string>& open) {
  for (const auto& [name, value] : dimensions) {
    PW_RETURN_IF_ERROR(CheckDimension(name, value));
    if (std::find(open.begin(), open.end(), name) != open.end()) continue;
    return MakeError(
        ErrorCode::kUnknownName,
        fmt::format("--dim names the dimension '{}', which no graph input has{}", Printable(name),
                    DidYouMean(name, open)),
        "",
        open.empty() ? "Leave --dim out: all dimensions of the graph inputs have values."
                     : fmt::format("The open dimensions are {}.", ListDimensions(open, "", ", ")));
  }
  return Ok();
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

std::string ListDimensions(const std::vector<std::string>& names, std::string_view suffix,
                           std::string_view separator) {
  constexpr size_t kMax = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMax); ++i) {
    if (i > 0) text += separator;
    text += fmt::format("{}{}", Printable(names[i], 60), suffix);
  }
  if (names.size() > kMax) text += fmt::format(" and {} more", names.size() - kMax);
  return text;
}

Status ApplyDimensions(const onnx::ModelProto& model, const OnnxOptions& options,
                       Sources* sources) {
  const std::vector<InputShape> inputs = InputShapes(sources);
  const bool symbolic = HasSymbolicBatch(inputs);
  PW_RETURN_IF_ERROR(CheckNamed(options.dimensions, OpenDimensions(inputs)));
  SetDimensions(inputs, options.dimensions);
  if (options.batch) {
    PW_RETURN_IF_ERROR(CheckDimension("the batch", *options.batch));
    if (HasSymbolicBatch(inputs)) {
      SetSymbolicBatch(inputs, *options.batch);
    } else if (!symbolic) {
      sources->replaced_batch = SetFixedBatch(inputs, RecordedBatch(model), *options.batch);
    } else {
      return MakeError(ErrorCode::kUsage,
                       fmt::format("--batch {} has nothing to set: --dim gives every symbolic "
                                   "first dimension a value already",
                                   *options.batch),
                       "", "Leave --batch or that --dim out.");
    }
  }
  const auto given = GivenDimensions(inputs, options.input_sizes);
  sources->given_dimensions = !given.empty();
  SetDimensions(inputs, given);
  sources->open_dimensions = OpenDimensions(inputs);
  sources->batch_is_open = HasSymbolicBatch(inputs);
  if (!options.assume_dimensions) return Ok();
  for (const std::string& name : sources->open_dimensions) sources->assumed_dimensions[name] = 1;
  SetDimensions(inputs, sources->assumed_dimensions);
  sources->open_dimensions.clear();
  return Ok();
}

}  // namespace placewright::onnx_import
