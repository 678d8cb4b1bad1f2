// From layouts as they are stated to one for every colocation group.
#ifndef PLACEWRIGHT_COMPILE_LAYOUT_SPECS_H_
#define PLACEWRIGHT_COMPILE_LAYOUT_SPECS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/layout.h"
#include "plan/layout_spec.h"
#include "sharding/named_axes.h"

namespace placewright {

// `total` in as many intervals as there are weights, in proportion to them: every weight above 0 gets 1 at
// first, the rest goes by largest remainder, ties to the first. `total` >= the number of weights above 0.
std::vector<int64_t> SharesInProportion(int64_t total, const std::vector<double>& weights);

// The colocation groups that a glob over module paths names: those with an op in a module that it matches. One
// without ops of its own follows what is stated for its views. Ascending.
std::vector<GroupId> GroupsNamed(const Graph& graph, std::string_view glob);

// The groups that hold parameters, in the order of these: parameter servers have them in turn.
std::vector<GroupId> ParameterGroups(const Graph& graph);

// In which of `parts` parts each of the groups is.
using CutGroups = std::function<Result<std::vector<int32_t>>(const std::vector<GroupId>& groups,
                                                             size_t parts)>;

//   kPlace            the spec's one device
//   kAllReduce        shares of the axis; the groups that do not have it are on every device
//   kParameterServer  the same, but the groups of parameters are on the devices in turn, in the order of the
//                     parameters
//   kDuplicate        everything on every device
//   kModelParallel    the groups cut into one part a device, as `cut` says (search/partition/model_parallel.h)
// Errors, with the place "layouts[2].devices[0]": kField (a glob or group that there is not, an axis that
// there is not or that splits nothing of what the spec names, shares that do not follow one another or do not
// cover the axis, fewer samples than shares, a device twice, a group without a layout, model parallelism that nothing
// cuts), kUnknownName (a
// device), kBatchScaling (the batch of a step that nothing proves to follow it).
Result<Layouts> ResolveLayouts(const Graph& graph, const NamedAxes& axes, const Cluster& cluster,
                               const LayoutSpecs& specs, const CutGroups& cut = {});

// Layouts that can be resolved, with every device by its name and every share stated: as plans keep them.
LayoutSpecs ExpandSpecs(const NamedAxes& axes, const Cluster& cluster, LayoutSpecs specs);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_LAYOUT_SPECS_H_
