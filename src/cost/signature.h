// What the time of an op on a device depends on, as text: the operator, shapes, dtypes and layouts of
// its inputs, the values of its other arguments. Ops of one signature are measured as one.
#ifndef PLACEWRIGHT_COST_SIGNATURE_H_
#define PLACEWRIGHT_COST_SIGNATURE_H_

#include <string>

#include "graph/graph.h"

namespace placewright {

struct Signature {
  // "aten.addmm.default(f32[1024], f32[24,768], f32[768,1024;1,768])": strides behind a semicolon,
  // where the tensor is not contiguous.
  std::string text;
  // The same at every batch: numbers that follow the batch as what they follow, "f32[1n,768]"; the
  // layout by the order of its dimensions. Empty where the graph has no proof of how it scales.
  std::string family;
};

// Complexity: O(inputs and arguments of the op). `as`: with the arguments of this op, which has the same
// inputs and numbers.
Signature SignatureOf(const Graph& graph, OpId op);
Signature SignatureOf(const Graph& graph, OpId op, const Op& as);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_SIGNATURE_H_
