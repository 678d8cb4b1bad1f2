// Whether layouts can be compiled at all.
#ifndef PLACEWRIGHT_SHARDING_LAYOUT_CHECK_H_
#define PLACEWRIGHT_SHARDING_LAYOUT_CHECK_H_

#include "base/result.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/layout.h"
#include "sharding/named_axes.h"

namespace placewright {

// Errors: kField.
Status CheckLayout(const Layout& layout, const NamedAxes& axes, const Cluster& cluster);
// Errors: kField, with the layout as the place.
Status CheckLayouts(const Graph& graph, const NamedAxes& axes, const Layouts& layouts,
                    const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_LAYOUT_CHECK_H_
