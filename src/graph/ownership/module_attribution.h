// Gives every op a module path where the file states none. A part of GraphBuilder::Build.
//
//   optimizer op  module of the parameter it serves (colocation.h), from the parameter's name
//   backward op   1. module of the forward op that it differentiates (differentiated_ops.h); a sum
//                    of gradients of a parameter: that of the parameter; a sum of gradients of
//                    another tensor: the deepest module that holds all forward ops that read it,
//                    unless that holds its maker, too, to whose module it belongs then. So layers
//                    are alike to the first and the last: each adds up the gradients of its input;
//                 2. else that of the first op, by id, that consumes its result;
//   forward op    1. deepest module that holds the parameters that it reads, itself or
//                    through views, by their names;
//                 2. else deepest module that holds all ops it reads from;
//                 3. else deepest module that holds all ops that read it;
//   otherwise     rules 2 and 3 of forward ops, else the root.
//
// An ATen file is in the order of the calls, so a forward op lies in every module that holds both
// the last op before it and the first one after it of which the file states a module. Rule 2 may go
// deeper than that, but not elsewhere, and not into a module that states its own ops; where it
// would, and instead of rule 3, the op belongs to the module of the only forward op that reads it,
// if that lies there, else to the deepest of those modules.
#ifndef PLACEWRIGHT_GRAPH_OWNERSHIP_MODULE_ATTRIBUTION_H_
#define PLACEWRIGHT_GRAPH_OWNERSHIP_MODULE_ATTRIBUTION_H_

#include <optional>
#include <span>
#include <string>

#include "graph/graph.h"

namespace placewright {

// By op: the module that the file states, "" for the root, or nothing.
using StatedModules = std::span<const std::optional<std::string>>;

// Fills in Op::module and the modules
// (the root first, then by smallest op id). Needs storages, edges, a topological order and
// `served`. Complexity: O(edges * longest path name), plus that of DifferentiatedOps.
void AttributeModules(GraphData& graph, StatedModules stated,
                      const IdVector<OpId, StorageId>& served);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_OWNERSHIP_MODULE_ATTRIBUTION_H_
