#include "formats/onnx/shapes/fold.h"

#include <algorithm>

#include "formats/onnx/attributes.h"
#include "formats/onnx/shapes/fold_rules.h"

namespace placewright::onnx_import {

const SmallTensor* ValueAt(const Inputs& inputs, size_t i) {
  return i < inputs.size() ? inputs[i].value : nullptr;
}

std::optional<std::vector<int64_t>> IntsAt(const Inputs& inputs, size_t i) {
  const SmallTensor* value = ValueAt(inputs, i);
  if (value == nullptr || value->is_real() || value->dims.size() > 1) return std::nullopt;
  return value->ints;
}

std::optional<std::vector<int64_t>> IntsFrom(const onnx::NodeProto& node, const Inputs& inputs,
                                             const char* attribute, size_t i) {
  if (auto ints = IntsAttribute(node, attribute)) return ints;
  return IntsAt(inputs, i);
}

std::optional<size_t> Axis(int64_t axis, size_t rank) {
  const auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + limit : axis);
}

std::optional<std::vector<int64_t>> Broadcast(const std::vector<int64_t>& a,
                                              const std::vector<int64_t>& b) {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i) {  // i counts from the right
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    dims[rank - 1 - i] = x == 1 ? y : x;
  }
  return dims;
}

Folded Zeros(int32_t type, std::vector<int64_t> dims) {
  const auto count = ElementCount(dims);
  if (!count || *count > kMaxFoldedElements || dims.size() > kMaxRank || !IsFoldable(type)) {
    return std::nullopt;
  }
  SmallTensor out;
  out.type = type;
  out.dims = std::move(dims);
  (out.is_real() ? out.reals.resize(static_cast<size_t>(*count))
                 : out.ints.resize(static_cast<size_t>(*count)));
  return out;
}

size_t FlatBroadcast(const std::vector<int64_t>& dims, const std::vector<int64_t>& index) {
  size_t flat = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t at = dims[i] == 1 ? 0 : index[index.size() - dims.size() + i];
    flat = flat * static_cast<size_t>(dims[i]) + static_cast<size_t>(at);
  }
  return flat;
}

Folded Remap(const SmallTensor& source, std::vector<int64_t> dims, const IndexMap& map) {
  Folded out = Zeros(source.type, std::move(dims));
  if (!out) return std::nullopt;
  std::vector<int64_t> index(out->dims.size(), 0);
  for (size_t i = 0; i < out->size(); ++i) {
    const auto from = map(index);
    if (!from || *from >= source.size()) return std::nullopt;
    if (source.is_real()) {
      out->reals[i] = source.reals[*from];
    } else {
      out->ints[i] = source.ints[*from];
    }
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < out->dims[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

std::optional<SmallTensor> ConstantValue(const onnx::NodeProto& node) {
  if (const auto* value = FindAttribute(node, "value"); value != nullptr && value->has_t()) {
    return CheckTensor(value->t(), "").ok() ? ReadSmallTensor(value->t()) : std::nullopt;
  }
  SmallTensor out;
  if (const auto* value = FindAttribute(node, "value_int")) {
    out.ints = {value->i()};
    return out;
  }
  if (const auto ints = IntsAttribute(node, "value_ints")) {
    out.ints = *ints;
    out.dims = {static_cast<int64_t>(ints->size())};
  } else if (const auto* real = FindAttribute(node, "value_float")) {
    out.type = onnx::TensorProto::FLOAT;
    out.reals = {real->f()};
  } else if (const auto* reals = FindAttribute(node, "value_floats")) {
    out.type = onnx::TensorProto::FLOAT;
    out.reals.assign(reals->floats().begin(), reals->floats().end());
    out.dims = {static_cast<int64_t>(out.reals.size())};
  } else {
    return std::nullopt;
  }
  if (static_cast<int64_t>(out.size()) > kMaxFoldedElements) return std::nullopt;
  return out;
}

std::optional<std::vector<SmallTensor>> Fold(const onnx::NodeProto& node, const Inputs& inputs) {
  if (!IsDefaultDomain(node.domain())) return std::nullopt;
  if (node.op_type() == "Split") return FoldSplit(node, inputs);
  if (node.output_size() != 1) return std::nullopt;
  Folded out = node.op_type() == "Constant" ? ConstantValue(node) : FoldLayout(node, inputs);
  if (!out) out = FoldMath(node, inputs);
  if (!out) return std::nullopt;
  return std::vector<SmallTensor>{std::move(*out)};
}

}  // namespace placewright::onnx_import
