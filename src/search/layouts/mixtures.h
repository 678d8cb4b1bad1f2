// Experts that are modules: parts of one tensor, routed by a product with as many outputs as there are
// parts, that go to weights of their own.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_MIXTURES_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_MIXTURES_H_

#include <vector>

#include "graph/graph.h"
#include "search/layouts/products.h"

namespace placewright {

// Of every mixture, of every expert in it, the modules that no other expert and nothing else has
// forward ops in. ModelStructure says what a mixture is.
std::vector<std::vector<std::vector<ModuleId>>> FindMixtures(const Graph& graph,
                                                             const NamedAxes& axes,
                                                             const std::vector<Product>& products);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_MIXTURES_H_
