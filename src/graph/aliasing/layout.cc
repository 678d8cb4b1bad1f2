#include "graph/aliasing/layout.h"

#include <algorithm>
#include <utility>

namespace placewright {
StridedLayout ContiguousLayout(DType dtype, const std::vector<int64_t>& shape, int64_t offset) {
  StridedLayout layout{dtype, shape, std::vector<int64_t>(shape.size(), 1), offset};
  for (size_t i = shape.size(); i-- > 1;) {
    layout.strides[i - 1] = SaturatingMultiply(layout.strides[i], std::max<int64_t>(shape[i], 1));
  }
  return layout;
}

bool IsContiguous(const StridedLayout& layout) {
  int64_t expected = 1;
  for (size_t i = layout.shape.size(); i-- > 0;) {
    if (layout.shape[i] == 0) return true;
    if (layout.shape[i] == 1) continue;
    if (layout.strides[i] != expected) return false;
    expected = SaturatingMultiply(expected, layout.shape[i]);
  }
  return true;
}

std::optional<ByteRange> HullOf(const StridedLayout& layout) {
  __int128 last = 0;
  const __int128 limit = kMaxQuantity;
  bool empty = false;
  for (size_t i = 0; i < layout.shape.size(); ++i) {
    if (layout.shape[i] == 0) empty = true;
    if (layout.shape[i] > 1) {
      last += static_cast<__int128>(layout.shape[i] - 1) * layout.strides[i];
    }
    if (last > limit) return std::nullopt;
  }
  const __int128 size = SizeOf(layout.dtype);
  const __int128 length = empty ? 0 : (last + 1) * size;
  const __int128 offset = layout.offset * size;
  if (offset < 0 || offset + length > limit) return std::nullopt;
  return ByteRange{Bytes(static_cast<int64_t>(offset)), Bytes(static_cast<int64_t>(length))};
}

std::optional<size_t> Dimension(int64_t dim, int64_t rank) {
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= rank) return std::nullopt;
  return static_cast<size_t>(dim);
}

MaybeLayout SelectDim(StridedLayout layout, size_t dim, int64_t index) {
  const int64_t size = layout.shape[dim];
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  layout.offset += index * layout.strides[dim];
  layout.shape.erase(layout.shape.begin() + static_cast<int64_t>(dim));
  layout.strides.erase(layout.strides.begin() + static_cast<int64_t>(dim));
  return layout;
}

MaybeLayout SliceDim(StridedLayout layout, size_t dim, int64_t start, int64_t end, int64_t step) {
  const int64_t size = layout.shape[dim];
  if (step < 1) return std::nullopt;
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<int64_t>(start, 0, size);
  end = std::clamp<int64_t>(end, start, size);
  const int64_t length = (end - start) / step + ((end - start) % step != 0 ? 1 : 0);
  if (start < size) layout.offset += start * layout.strides[dim];
  layout.shape[dim] = length;
  if (length <= 1) step = 1;
  if (!CheckedMultiply(layout.strides[dim], step, layout.strides[dim])) return std::nullopt;
  return layout;
}

MaybeLayout SwapDims(StridedLayout layout, int64_t a, int64_t b) {
  const auto i = Dimension(a, layout.rank()), j = Dimension(b, layout.rank());
  if (!i || !j) return std::nullopt;
  std::swap(layout.shape[*i], layout.shape[*j]);
  std::swap(layout.strides[*i], layout.strides[*j]);
  return layout;
}

MaybeLayout PermuteDims(const StridedLayout& base, const std::vector<int64_t>& dims) {
  if (dims.size() != base.shape.size()) return std::nullopt;
  StridedLayout layout = base;
  std::vector<bool> used(dims.size(), false);
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto from = Dimension(dims[i], base.rank());
    if (!from || used[*from]) return std::nullopt;
    used[*from] = true;
    layout.shape[i] = base.shape[*from];
    layout.strides[i] = base.strides[*from];
  }
  return layout;
}

MaybeLayout MoveDims(const StridedLayout& base, const std::vector<int64_t>& from,
                     const std::vector<int64_t>& to) {
  if (from.size() != to.size()) return std::nullopt;
  const size_t rank = base.shape.size();
  std::vector<int64_t> order(rank, -1);
  std::vector<bool> moved(rank, false);
  for (size_t i = 0; i < from.size(); ++i) {
    const auto source = Dimension(from[i], base.rank()), target = Dimension(to[i], base.rank());
    if (!source || !target || moved[*source] || order[*target] >= 0) return std::nullopt;
    order[*target] = static_cast<int64_t>(*source);
    moved[*source] = true;
  }
  size_t next = 0;  // the others keep their order in the places left
  for (int64_t& dim : order) {
    if (dim >= 0) continue;
    while (moved[next]) ++next;
    dim = static_cast<int64_t>(next++);
  }
  return PermuteDims(base, order);
}

MaybeLayout ExpandLayout(const StridedLayout& base, const std::vector<int64_t>& shape) {
  if (shape.size() < base.shape.size()) return std::nullopt;
  StridedLayout layout = base;
  layout.shape = shape;
  layout.strides.assign(shape.size(), 0);
  const size_t added = shape.size() - base.shape.size();
  for (size_t i = 0; i < base.shape.size(); ++i) {
    if (base.shape[i] == shape[added + i]) {
      layout.strides[added + i] = base.strides[i];
    } else if (base.shape[i] != 1) {
      return std::nullopt;
    }
  }
  return layout;
}

// Runs of dimensions that are dense among themselves are merged to one; the new dimensions are then
// cut out of the runs from the innermost outwards.
MaybeLayout ReshapeLayout(const StridedLayout& base, const std::vector<int64_t>& shape) {
  if (shape == base.shape) return base;
  if (IsContiguous(base)) {
    int64_t before = 1, after = 1;
    for (int64_t size : base.shape) before = SaturatingMultiply(before, size);
    for (int64_t size : shape) after = SaturatingMultiply(after, size);
    if (before != after) return std::nullopt;
    return ContiguousLayout(base.dtype, shape, base.offset);
  }
  struct Run {
    int64_t size, stride;
  };
  std::vector<Run> runs;  // innermost first
  for (size_t i = base.shape.size(); i-- > 0;) {
    const int64_t size = base.shape[i], stride = base.strides[i];
    if (size == 1) continue;
    int64_t dense = 0;
    if (!runs.empty() && CheckedMultiply(runs.back().size, runs.back().stride, dense) &&
        dense == stride) {
      runs.back().size = SaturatingMultiply(runs.back().size, size);
    } else {
      runs.push_back({size, stride});
    }
  }
  StridedLayout layout{base.dtype, shape, std::vector<int64_t>(shape.size(), 1), base.offset};
  size_t run = 0;
  int64_t used = 1;  // elements of the current run already given to inner dimensions
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    while (run < runs.size() && used == runs[run].size) {
      ++run;
      used = 1;
    }
    if (run == runs.size() || shape[i] == 0 || (runs[run].size / used) % shape[i] != 0) {
      return std::nullopt;
    }
    layout.strides[i] = runs[run].stride * used;
    used *= shape[i];
  }
  while (run < runs.size() && used == runs[run].size) {
    ++run;
    used = 1;
  }
  if (run != runs.size()) return std::nullopt;
  return layout;
}

MaybeLayout Reinterpret(const StridedLayout& base, DType dtype) {
  const int64_t from = SizeOf(base.dtype), to = SizeOf(dtype);
  if (from == 0 || to == 0) return std::nullopt;
  StridedLayout layout = base;
  layout.dtype = dtype;
  if (from == to) return layout;
  if (base.shape.empty() || base.strides.back() != 1) return std::nullopt;
  const int64_t large = std::max(from, to), small = std::min(from, to), factor = large / small;
  if (large % small != 0) return std::nullopt;
  for (size_t i = 0; i + 1 < base.shape.size(); ++i) {
    if (from > to) {
      if (!CheckedMultiply(base.strides[i], factor, layout.strides[i])) return std::nullopt;
    } else {
      if (base.strides[i] % factor != 0) return std::nullopt;
      layout.strides[i] = base.strides[i] / factor;
    }
  }
  if (from > to) {
    if (!CheckedMultiply(base.shape.back(), factor, layout.shape.back())) return std::nullopt;
    if (!CheckedMultiply(base.offset, factor, layout.offset)) return std::nullopt;
    return layout;
  }
  if (base.shape.back() % factor != 0 || base.offset % factor != 0) return std::nullopt;
  layout.shape.back() = base.shape.back() / factor;
  layout.offset = base.offset / factor;
  return layout;
}

MaybeLayout ViewAsReal(const StridedLayout& base, DType dtype) {
  if (SizeOf(base.dtype) != 2 * SizeOf(dtype)) return std::nullopt;
  StridedLayout layout = base;
  layout.dtype = dtype;
  for (int64_t& stride : layout.strides) {
    if (!CheckedMultiply(stride, 2, stride)) return std::nullopt;
  }
  if (!CheckedMultiply(layout.offset, 2, layout.offset)) return std::nullopt;
  layout.shape.push_back(2);
  layout.strides.push_back(1);
  return layout;
}

MaybeLayout ViewAsComplex(const StridedLayout& base, DType dtype) {
  if (base.shape.empty() || base.shape.back() != 2 || base.strides.back() != 1 ||
      2 * SizeOf(base.dtype) != SizeOf(dtype) || base.offset % 2 != 0) {
    return std::nullopt;
  }
  StridedLayout layout = base;
  layout.dtype = dtype;
  layout.shape.pop_back();
  layout.strides.pop_back();
  layout.offset /= 2;
  for (int64_t& stride : layout.strides) {
    if (stride % 2 != 0) return std::nullopt;
    stride /= 2;
  }
  return layout;
}

}  // namespace placewright
