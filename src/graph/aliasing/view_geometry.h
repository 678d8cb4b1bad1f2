// Which bytes of its storage a view touches: offset, shape and strides of every output of an ATen
// view op, from the layout of its input and the op's arguments.
//
// The file states shapes only. A fresh tensor is taken to be row-major contiguous; where a view
// cannot be derived under that assumption (a `view` of a tensor that was really channels-last, an
// unknown view op), the layout is inexact: it covers its input's whole byte range, and so does
// every view of it. That is never too little, and never more than the storage.
#ifndef PLACEWRIGHT_GRAPH_ALIASING_VIEW_GEOMETRY_H_
#define PLACEWRIGHT_GRAPH_ALIASING_VIEW_GEOMETRY_H_

#include "graph/aliasing/layout.h"
#include "graph/graph.h"

namespace placewright {

// The layout of output `output` (its dtype and shape are known, its place is not) of the view op
// `op` whose viewed input lies as `base`. nullopt: not derivable. Ops of other formats than ATen
// are taken to be reshapes.
MaybeLayout DeriveView(const Op& op, const StridedLayout& base, const Tensor& output);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_ALIASING_VIEW_GEOMETRY_H_
