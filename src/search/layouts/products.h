// The matrix products of a forward pass, in named axes: what a step shows of its layers.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_PRODUCTS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_PRODUCTS_H_

#include <vector>

#include "graph/graph.h"
#include "sharding/named_axes.h"

namespace placewright {

struct Product {
  OpId op;
  TensorId weight;               // the parameter among its operands; none: both are activations
  TensorId read;                 // the other operand
  std::vector<AxisId> batch;     // in both operands and in the output
  std::vector<AxisId> features;  // in the weight and in the output alone
  std::vector<AxisId> summed;    // in both operands and not in the output
};

// Of the forward phase, in the graph's order: ops of the classes gemm and gemv (cost/work.h) whose rule has
// two operands. Axes of size 1 are left out.
std::vector<Product> ForwardProducts(const Graph& graph, const NamedAxes& axes);

// Whether the op only moves or views one tensor.
bool MovesOneTensor(const Graph& graph, OpId op);

// The parameter that a tensor holds: itself, through views, copies and changes of precision; or none.
TensorId ParameterIn(const Graph& graph, TensorId tensor);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_PRODUCTS_H_
