// Where a tensor lies in its storage (offset, shape, strides), and how selecting, slicing,
// transposing, expanding and reshaping it move it. Nothing here copies: what needs a copy, or is
// out of range, is nullopt.
#ifndef PLACEWRIGHT_GRAPH_ALIASING_LAYOUT_H_
#define PLACEWRIGHT_GRAPH_ALIASING_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace placewright {

// In elements of its own dtype.
struct StridedLayout {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // one per dimension, >= 0
  int64_t offset = 0;            // of the first element, from the start of the storage
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
};
using MaybeLayout = std::optional<StridedLayout>;

// The row-major contiguous layout.
StridedLayout ContiguousLayout(DType dtype, const std::vector<int64_t>& shape, int64_t offset = 0);
// True if the elements lie in row-major order without gaps (dimensions of size 1 do not matter).
bool IsContiguous(const StridedLayout& layout);

// The bytes from the first to behind the last element, or nullopt if they exceed kMaxQuantity.
struct ByteRange {
  Bytes offset, length;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};
std::optional<ByteRange> HullOf(const StridedLayout& layout);

// False if the product does not fit.
inline bool CheckedMultiply(int64_t a, int64_t b, int64_t& product) {
  return !__builtin_mul_overflow(a, b, &product);
}
// A dimension argument, counted from the end if negative; nullopt if out of range.
std::optional<size_t> Dimension(int64_t dim, int64_t rank);

// One index of a dimension, which goes away; negative from the end.
MaybeLayout SelectDim(StridedLayout layout, size_t dim, int64_t index);
// [start, end) by `step` along one dimension, with Python's clamping.
MaybeLayout SliceDim(StridedLayout layout, size_t dim, int64_t start, int64_t end, int64_t step);
MaybeLayout SwapDims(StridedLayout layout, int64_t a, int64_t b);
// Dimension i of the result is dimension dims[i] of the base.
MaybeLayout PermuteDims(const StridedLayout& base, const std::vector<int64_t>& dims);
// Dimensions `from` go to the places `to`; the others keep their order in the places left.
MaybeLayout MoveDims(const StridedLayout& base, const std::vector<int64_t>& from,
                     const std::vector<int64_t>& to);
// Broadcast to `shape`: stride 0 along new dimensions and those of size 1 that grow.
MaybeLayout ExpandLayout(const StridedLayout& base, const std::vector<int64_t>& shape);
// `base` seen in another shape, as by `view`.
MaybeLayout ReshapeLayout(const StridedLayout& base, const std::vector<int64_t>& shape);

// The same bytes read with another element size: the innermost dimension grows or shrinks.
MaybeLayout Reinterpret(const StridedLayout& base, DType dtype);
// Complex numbers as pairs of `dtype` in a last dimension of two, and back.
MaybeLayout ViewAsReal(const StridedLayout& base, DType dtype);
MaybeLayout ViewAsComplex(const StridedLayout& base, DType dtype);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_ALIASING_LAYOUT_H_
