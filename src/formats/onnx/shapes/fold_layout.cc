#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "formats/onnx/attributes.h"
#include "formats/onnx/shapes/fold_rules.h"

namespace placewright::onnx_import {
namespace {

using onnx::TensorProto;
using Dims = std::vector<int64_t>;

SmallTensor Int64List(const Dims& values) {
  SmallTensor out;
  out.dims = {static_cast<int64_t>(values.size())};
  out.ints = values;
  return out;
}

Folded FoldShape(const onnx::NodeProto& node, const Dims& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  const auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamp(std::max(IntAttribute(node, "start", 0), -rank));
  const int64_t end = clamp(std::max(IntAttribute(node, "end", rank), -rank));
  if (start >= end) return Int64List({});
  return Int64List(Dims(shape.begin() + start, shape.begin() + end));
}

Folded FoldSize(const Dims& shape) {
  const auto count = ElementCount(shape);
  if (!count || *count >= kMaxQuantity) return std::nullopt;
  SmallTensor out;
  out.ints = {*count};
  return out;
}

// The same content under another shape.
Folded WithShape(const SmallTensor& tensor, Dims dims) {
  if (dims.size() > kMaxRank || ElementCount(dims) != ElementCount(tensor.dims)) {
    return std::nullopt;
  }
  SmallTensor out = tensor;
  out.dims = std::move(dims);
  return out;
}

Folded FoldReshape(const onnx::NodeProto& node, const Inputs& inputs, const SmallTensor& data) {
  auto dims = IntsFrom(node, inputs, "shape", 1);
  if (!dims) return std::nullopt;
  const bool keep_zero = IntAttribute(node, "allowzero", 0) != 0;
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < dims->size(); ++i) {
    if ((*dims)[i] == 0 && !keep_zero) {
      if (i >= data.dims.size()) return std::nullopt;
      (*dims)[i] = data.dims[i];
    }
    if ((*dims)[i] == -1) {
      if (open) return std::nullopt;
      open = i;
    } else {
      if ((*dims)[i] < 0) return std::nullopt;
      known = SaturatingMultiply(known, (*dims)[i]);
    }
  }
  if (open) {
    if (known == 0) return std::nullopt;
    (*dims)[*open] = static_cast<int64_t>(data.size()) / known;
  }
  return WithShape(data, *dims);
}

Folded FoldUnsqueeze(const onnx::NodeProto& node, const Inputs& inputs, const SmallTensor& data) {
  const auto axes = IntsFrom(node, inputs, "axes", 1);
  if (!axes || axes->size() > 8) return std::nullopt;
  const size_t rank = data.dims.size() + axes->size();
  std::vector<bool> added(rank, false);
  for (const int64_t given : *axes) {
    const auto axis = Axis(given, rank);
    if (!axis || added[*axis]) return std::nullopt;
    added[*axis] = true;
  }
  Dims dims;
  for (size_t i = 0, next = 0; i < rank; ++i) dims.push_back(added[i] ? 1 : data.dims[next++]);
  return WithShape(data, dims);
}

Folded FoldSqueeze(const onnx::NodeProto& node, const Inputs& inputs, const SmallTensor& data) {
  const auto axes = IntsFrom(node, inputs, "axes", 1);
  if (!axes && inputs.size() > 1 && inputs[1].present) return std::nullopt;
  std::vector<bool> dropped(data.dims.size(), false);
  for (size_t i = 0; !axes && i < dropped.size(); ++i) dropped[i] = data.dims[i] == 1;
  for (const int64_t given : axes ? *axes : Dims()) {
    const auto axis = Axis(given, data.dims.size());
    if (!axis) return std::nullopt;
    dropped[*axis] = true;
  }
  Dims dims;
  for (size_t i = 0; i < dropped.size(); ++i) {
    if (!dropped[i]) dims.push_back(data.dims[i]);
  }
  return WithShape(data, dims);
}

Folded FoldFlatten(const onnx::NodeProto& node, const SmallTensor& data) {
  const int64_t given = IntAttribute(node, "axis", 1);
  const auto axis = given == static_cast<int64_t>(data.dims.size())
                        ? std::optional(data.dims.size())
                        : Axis(given, data.dims.size());
  if (!axis) return std::nullopt;
  int64_t rows = 1, columns = 1;
  for (size_t i = 0; i < data.dims.size(); ++i) {
    int64_t& side = i < *axis ? rows : columns;
    side = SaturatingMultiply(side, data.dims[i]);
  }
  return WithShape(data, {rows, columns});
}

Folded FoldGather(const onnx::NodeProto& node, const SmallTensor& data,
                  const SmallTensor& indices) {
  const auto axis = Axis(IntAttribute(node, "axis", 0), data.dims.size());
  if (!axis || indices.is_real()) return std::nullopt;
  Dims dims(data.dims.begin(), data.dims.begin() + static_cast<int64_t>(*axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + static_cast<int64_t>(*axis) + 1, data.dims.end());
  const size_t rank = indices.dims.size();
  return Remap(data, dims, [&](const Dims& index) -> std::optional<size_t> {
    const auto first = index.begin() + static_cast<int64_t>(*axis);
    const Dims inner(first, first + static_cast<int64_t>(rank));
    int64_t at = indices.ints[FlatBroadcast(indices.dims, inner)];
    if (at < 0) at += data.dims[*axis];
    if (at < 0 || at >= data.dims[*axis]) return std::nullopt;
    Dims from(index.begin(), first);
    from.push_back(at);
    from.insert(from.end(), first + static_cast<int64_t>(rank), index.end());
    return FlatBroadcast(data.dims, from);
  });
}

Folded FoldConcat(const onnx::NodeProto& node, const Inputs& inputs) {
  const SmallTensor* first = ValueAt(inputs, 0);
  if (first == nullptr) return std::nullopt;
  const auto axis = Axis(IntAttribute(node, "axis", 1), first->dims.size());
  if (!axis) return std::nullopt;
  SmallTensor all;  // the parts one after another
  all.type = first->type;
  Dims dims = first->dims;
  dims[*axis] = 0;
  std::vector<size_t> start;  // of each part in `all`
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SmallTensor* part = ValueAt(inputs, i);
    if (part == nullptr || part->type != all.type || part->dims.size() != dims.size()) {
      return std::nullopt;
    }
    for (size_t d = 0; d < dims.size(); ++d) {
      if (d != *axis && part->dims[d] != dims[d]) return std::nullopt;
    }
    dims[*axis] += part->dims[*axis];
    start.push_back(all.size());
    all.ints.insert(all.ints.end(), part->ints.begin(), part->ints.end());
    all.reals.insert(all.reals.end(), part->reals.begin(), part->reals.end());
    if (static_cast<int64_t>(all.size()) > kMaxFoldedElements) return std::nullopt;
  }
  return Remap(all, dims, [&](const Dims& index) -> std::optional<size_t> {
    Dims from = index;
    size_t part = 0;
    while (from[*axis] >= inputs[part].value->dims[*axis]) {
      from[*axis] -= inputs[part++].value->dims[*axis];
    }
    size_t flat = 0;
    const Dims& shape = inputs[part].value->dims;
    for (size_t d = 0; d < shape.size(); ++d) {
      flat = flat * static_cast<size_t>(shape[d]) + static_cast<size_t>(from[d]);
    }
    return start[part] + flat;
  });
}

struct SliceRange {
  int64_t start = 0, step = 1, count = 0;
};

// One axis of Slice: bounds count from the end if negative and are clamped.
std::optional<SliceRange> RangeOf(int64_t start, int64_t end, int64_t step, int64_t size) {
  if (step == 0 || step == INT64_MIN) return std::nullopt;
  const auto from_end = [&](int64_t at) { return at < 0 ? at + size : at; };
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  SliceRange range;
  range.step = step;
  range.start = std::clamp<int64_t>(from_end(start), 0, std::max<int64_t>(high, 0));
  const int64_t stop = std::clamp<int64_t>(from_end(end), low, std::max(high, low));
  const int64_t span = step > 0 ? stop - range.start : range.start - stop;
  const int64_t stride = step > 0 ? step : -step;
  range.count = span <= 0 || size == 0 ? 0 : (span - 1) / stride + 1;
  return range;
}

Folded FoldSlice(const onnx::NodeProto& node, const Inputs& inputs, const SmallTensor& data) {
  const auto starts = IntsFrom(node, inputs, "starts", 1);
  const auto ends = IntsFrom(node, inputs, "ends", 2);
  auto axes = IntsFrom(node, inputs, "axes", 3);
  auto steps = IntsAt(inputs, 4);
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  if ((inputs.size() > 3 && inputs[3].present && !axes) ||
      (inputs.size() > 4 && inputs[4].present && !steps)) {
    return std::nullopt;
  }
  if (!axes) {
    axes.emplace();
    for (size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (!steps) steps = Dims(starts->size(), 1);
  if (axes->size() != starts->size() || steps->size() != starts->size()) return std::nullopt;
  std::vector<SliceRange> ranges;
  for (const int64_t size : data.dims) ranges.push_back({0, 1, size});
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = Axis((*axes)[i], data.dims.size());
    if (!axis) return std::nullopt;
    const auto range = RangeOf((*starts)[i], (*ends)[i], (*steps)[i], data.dims[*axis]);
    if (!range) return std::nullopt;
    ranges[*axis] = *range;
  }
  Dims dims;
  for (const SliceRange& range : ranges) dims.push_back(range.count);
  return Remap(data, dims, [&](const Dims& index) -> std::optional<size_t> {
    size_t flat = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const int64_t at = ranges[d].start + index[d] * ranges[d].step;
      flat = flat * static_cast<size_t>(data.dims[d]) + static_cast<size_t>(at);
    }
    return flat;
  });
}

Folded FoldTranspose(const onnx::NodeProto& node, const SmallTensor& data) {
  const size_t rank = data.dims.size();
  Dims order = IntsAttribute(node, "perm").value_or(Dims());
  for (size_t i = rank; order.empty() && i-- > 0;) {
    for (size_t d = rank; d-- > 0;) order.push_back(static_cast<int64_t>(d));
  }
  if (order.size() != rank) return std::nullopt;
  Dims dims;
  std::vector<bool> seen(rank, false);
  for (const int64_t axis : order) {
    if (axis < 0 || axis >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(axis)]) {
      return std::nullopt;
    }
    seen[static_cast<size_t>(axis)] = true;
    dims.push_back(data.dims[static_cast<size_t>(axis)]);
  }
  return Remap(data, dims, [&](const Dims& index) -> std::optional<size_t> {
    Dims from(rank);
    for (size_t d = 0; d < rank; ++d) from[static_cast<size_t>(order[d])] = index[d];
    size_t flat = 0;
    for (size_t d = 0; d < rank; ++d) {
      flat = flat * static_cast<size_t>(data.dims[d]) + static_cast<size_t>(from[d]);
    }
    return flat;
  });
}

Folded FoldExpand(const Inputs& inputs, const SmallTensor& data) {
  const auto target = IntsAt(inputs, 1);
  const auto dims = target && ElementCount(*target) ? Broadcast(data.dims, *target) : std::nullopt;
  if (!dims) return std::nullopt;
  return Remap(data, *dims,
               [&](const Dims& index) { return std::optional(FlatBroadcast(data.dims, index)); });
}

Folded FoldTile(const Inputs& inputs, const SmallTensor& data) {
  const auto repeats = IntsAt(inputs, 1);
  if (!repeats || repeats->size() != data.dims.size() || !ElementCount(*repeats)) {
    return std::nullopt;
  }
  Dims dims = data.dims;
  for (size_t d = 0; d < dims.size(); ++d) dims[d] = SaturatingMultiply(dims[d], (*repeats)[d]);
  return Remap(data, dims, [&](const Dims& index) -> std::optional<size_t> {
    size_t flat = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      flat =
          flat * static_cast<size_t>(data.dims[d]) + static_cast<size_t>(index[d] % data.dims[d]);
    }
    return flat;
  });
}

Folded FoldRange(const Inputs& inputs) {
  const SmallTensor* start = ValueAt(inputs, 0);
  const SmallTensor* limit = ValueAt(inputs, 1);
  const SmallTensor* delta = ValueAt(inputs, 2);
  if (start == nullptr || limit == nullptr || delta == nullptr || start->is_real() ||
      limit->is_real() || delta->is_real() || start->size() != 1 || limit->size() != 1 ||
      delta->size() != 1) {
    return std::nullopt;
  }
  const int64_t step = delta->ints[0];
  int64_t span = 0;
  if (step == 0 || step == INT64_MIN ||
      __builtin_sub_overflow(limit->ints[0], start->ints[0], &span) || span == INT64_MIN) {
    return std::nullopt;
  }
  if (step < 0) span = -span;
  const int64_t count = span <= 0 ? 0 : (span - 1) / std::abs(step) + 1;
  Folded out = Zeros(start->type, {count});
  if (!out) return std::nullopt;
  for (size_t i = 0; i < out->size(); ++i) {
    out->ints[i] = start->ints[0] + static_cast<int64_t>(i) * step;
  }
  return out;
}

Folded FoldConstantOfShape(const onnx::NodeProto& node, const Inputs& inputs) {
  const auto dims = IntsAt(inputs, 0);
  if (!dims) return std::nullopt;
  const auto* attribute = FindAttribute(node, "value");
  if (attribute == nullptr) return Zeros(TensorProto::FLOAT, *dims);
  if (!CheckTensor(attribute->t(), "").ok()) return std::nullopt;
  const Folded value = ReadSmallTensor(attribute->t());
  if (!value || value->size() != 1) return std::nullopt;
  return Remap(*value, *dims, [](const Dims&) { return std::optional<size_t>(0); });
}

}  // namespace

std::optional<std::vector<SmallTensor>> FoldSplit(const onnx::NodeProto& node,
                                                  const Inputs& inputs) {
  const SmallTensor* data = ValueAt(inputs, 0);
  if (data == nullptr) return std::nullopt;
  const auto axis = Axis(IntAttribute(node, "axis", 0), data->dims.size());
  if (!axis) return std::nullopt;
  const auto parts = static_cast<size_t>(node.output_size());
  auto sizes = IntsFrom(node, inputs, "split", 1);
  if (!sizes && inputs.size() > 1 && inputs[1].present) return std::nullopt;
  if (!sizes) {
    // Equal parts; the last may be smaller (opset 18).
    const auto count = static_cast<int64_t>(parts);
    const int64_t each = (data->dims[*axis] + count - 1) / count;
    sizes = Dims(parts, each);
    sizes->back() = data->dims[*axis] - each * (count - 1);
  }
  if (sizes->size() != parts) return std::nullopt;
  std::vector<SmallTensor> out;
  int64_t start = 0;
  for (const int64_t size : *sizes) {
    if (size < 0 || size > data->dims[*axis] - start) return std::nullopt;
    Dims dims = data->dims;
    dims[*axis] = size;
    Folded part = Remap(*data, dims, [&](const Dims& index) {
      Dims from = index;
      from[*axis] += start;
      size_t flat = 0;
      for (size_t d = 0; d < from.size(); ++d) {
        flat = flat * static_cast<size_t>(data->dims[d]) + static_cast<size_t>(from[d]);
      }
      return std::optional(flat);
    });
    if (!part) return std::nullopt;
    out.push_back(std::move(*part));
    start += size;
  }
  return out;
}

Folded FoldLayout(const onnx::NodeProto& node, const Inputs& inputs) {
  const std::string_view type = node.op_type();
  if (type == "Shape" || type == "Size") {
    if (inputs.empty() || inputs[0].shape == nullptr) return std::nullopt;
    return type == "Shape" ? FoldShape(node, *inputs[0].shape) : FoldSize(*inputs[0].shape);
  }
  const SmallTensor* data = ValueAt(inputs, 0);
  if (data == nullptr) return std::nullopt;
  const SmallTensor* second = ValueAt(inputs, 1);
  if (type == "Identity") return *data;
  if (type == "Concat") return FoldConcat(node, inputs);
  if (type == "Gather" && second != nullptr) return FoldGather(node, *data, *second);
  if (type == "Slice") return FoldSlice(node, inputs, *data);
  if (type == "Unsqueeze") return FoldUnsqueeze(node, inputs, *data);
  if (type == "Squeeze") return FoldSqueeze(node, inputs, *data);
  if (type == "Reshape") return FoldReshape(node, inputs, *data);
  if (type == "Flatten") return FoldFlatten(node, *data);
  if (type == "Transpose") return FoldTranspose(node, *data);
  if (type == "Expand") return FoldExpand(inputs, *data);
  if (type == "Tile") return FoldTile(inputs, *data);
  if (type == "Range") return FoldRange(inputs);
  if (type == "ConstantOfShape") return FoldConstantOfShape(node, inputs);
  return std::nullopt;
}

}  // namespace placewright::onnx_import
