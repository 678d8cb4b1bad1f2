// Output shapes of ops whose file lists none, from the shapes and constants that they read.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_SHAPES_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_SHAPES_H_

#include <vector>

#include "formats/graphdef/records.h"
#include "graph/graph.h"

namespace placewright::graphdef {

// What one output is, as far as it is known.
struct Made {
  DType dtype = DType::kF32;
  int64_t data_type = 0;  // TensorFlow's number; 0: unknown
  Shape shape;            // no -1 in it
  // Integers, where the output is a small constant or a view of one; else nullptr.
  const std::vector<int64_t>* value = nullptr;
};

// `inputs` are the node's data inputs, in order. Nothing where the type has no rule, or an input
// that the rule needs is unknown or contradicts it.
Shape InferShape(const Node& node, const std::vector<const Made*>& inputs, size_t output);

// TensorFlow's number of the type of an output.
int64_t InferType(const Node& node, const std::vector<const Made*>& inputs, size_t output);

}  // namespace placewright::graphdef

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_SHAPES_H_
