// From a layout for every colocation group to as few entries of a layout file as modules allow: the inverse of
// layout_specs.h.
#ifndef PLACEWRIGHT_COMPILE_MODULE_SPECS_H_
#define PLACEWRIGHT_COMPILE_MODULE_SPECS_H_

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/layout.h"
#include "plan/layout_spec.h"
#include "sharding/named_axes.h"

namespace placewright {

// The most frequent layout for "*", as parameter servers where that leaves fewer groups over; then each of the others for
// modules whose groups all have it, or lie as they do by it; and for single groups where that is not so. Resolved, every
// group lies as it does in `layouts`; where the axis of its layout splits none of its ops, that is everything on every
// device. Devices are named, shares stated.
LayoutSpecs StateLayouts(const Graph& graph, const NamedAxes& axes, const Cluster& cluster,
                         const Layouts& layouts);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_MODULE_SPECS_H_
