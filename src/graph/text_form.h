// A graph as text, for goldens and for reading: inputs, ops with what they read and make, storages,
// order edges and groups. Equal graphs give equal text; it is not read back.
//
//   graph tiny (aten), batch 2: 2 ops, 1 edges, 2 groups
//   input param:w parameter f32[4,4] s0.0 [0,64)
//   op t = aten.t.default(param:w) forward @fc g0 view
//     t f32[4,4] s0.0 [0,64) strides [1,4]
//   op mm = aten.mm.default(x, t) forward @fc g1
//     mm f32[2,4] s2.0 [0,32)
//   storage s0 param:w parameter 64 B, written by: start
//   order a -> b write after read
//   group g0: t
//   batch 2, 3, 7: scales
//   slope mm[0] 1
//   law view.args[1][0] linear 4
//
// `s0.1 [0,64)` is version 1 of storage 0, bytes 0 to 64. `x.1` among an op's inputs: it reads
// version 1, though the tensor x was made with an earlier one. The last lines are there where the
// graph has laws of its batch: dimension 0 of mm grows by 1 a sample.
#ifndef PLACEWRIGHT_GRAPH_TEXT_FORM_H_
#define PLACEWRIGHT_GRAPH_TEXT_FORM_H_

#include <string>

#include "graph/graph.h"

namespace placewright {

std::string ToText(const Graph& graph);

// "f32[24,384]", "opaque[]"
std::string TypeText(const Tensor& tensor);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_TEXT_FORM_H_
