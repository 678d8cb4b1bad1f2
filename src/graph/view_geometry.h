// Which bytes of its storage a view touches: offset, shape and strides of every output of an ATen
// view op, from the layout of its input and the op's arguments.
//
// The file states shapes only. A fresh tensor is taken to be row-major contiguous; where a view
// cannot be derived under that assumption (a `view` of a tensor that was really channels-last, an
// unknown view op), the layout is inexact: it covers its input's whole byte range, and so does
// every view of it. That is never too little, and never more than the storage.
#ifndef PLACEWRIGHT_GRAPH_VIEW_GEOMETRY_H_
#define PLACEWRIGHT_GRAPH_VIEW_GEOMETRY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace placewright {

// Where a tensor lies in its storage, in elements of its own dtype.
struct Layout {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // one per dimension, >= 0
  int64_t offset = 0;            // of the first element, from the start of the storage
};

// The row-major contiguous layout.
Layout ContiguousLayout(DType dtype, const std::vector<int64_t>& shape, int64_t offset = 0);
// True if the elements lie in row-major order without gaps (dimensions of size 1 do not matter).
bool IsContiguous(const Layout& layout);

// The bytes from the first to behind the last element, or nullopt if they exceed kMaxQuantity.
struct ByteRange {
  Bytes offset, length;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};
std::optional<ByteRange> HullOf(const Layout& layout);

// `base` seen in another shape without copying, as by `view`; nullopt if that is impossible.
std::optional<Layout> ReshapeLayout(const Layout& base, const std::vector<int64_t>& shape);

// The layout of output `output` (its dtype and shape are known, its place is not) of the view op
// `op` whose viewed input lies as `base`. nullopt: not derivable. Ops of other formats than ATen
// are taken to be reshapes.
std::optional<Layout> DeriveView(const Op& op, const Layout& base, const Tensor& output);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_VIEW_GEOMETRY_H_
