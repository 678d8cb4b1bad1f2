// Gives every op a module path where the file states none. A part of GraphBuilder::Build.
//
//   optimizer op  module of the parameter it serves (colocation.h), from the parameter's name
//   backward op   1. module of the forward op whose parameter or saved tensor it reads;
//                 2. else that of the first op, by id, that consumes its result (its gradient's
//                    consumer: a backward op, or the update of a parameter);
//   forward op    1. deepest module that holds the parameters that it reads, itself or
//                    through views, by their names;
//                 2. else deepest module that holds all ops it reads from;
//                 3. else deepest module that holds all ops that read it;
//   otherwise     rules 2 and 3 of forward ops, else the root.
//
// Autograd saves inputs and outputs of the forward op F and hands them to F's backward ops, so a
// tensor that a backward op reads names F only up to its maker and its readers. Among these the
// backward op takes the one that touches most of the tensors it reads; then the one whose type it
// names (gelu_backward, gelu); then, for a `*_backward` op, the maker of the tensor, and for any
// other op (mm, mul), a reader; then the least id. Views made by backward ops are looked through.
#ifndef PLACEWRIGHT_GRAPH_OWNERSHIP_MODULE_ATTRIBUTION_H_
#define PLACEWRIGHT_GRAPH_OWNERSHIP_MODULE_ATTRIBUTION_H_

#include <span>
#include <string>

#include "graph/graph.h"

namespace placewright {

// `stated`: by op, the module that the file states, or "". Fills in Op::module and the modules
// (the root first, then by least op). Needs storages, edges, a topological order and `served`.
// Complexity: O(edges * longest path name), plus the readers of each saved tensor.
void AttributeModules(GraphData& graph, std::span<const std::string> stated,
                      const IdVector<OpId, StorageId>& served);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_OWNERSHIP_MODULE_ATTRIBUTION_H_
