// From the words of layout files to a layout for every colocation group, and back.
#ifndef PLACEWRIGHT_FORMATS_PLAN_LAYOUT_WORDS_H_
#define PLACEWRIGHT_FORMATS_PLAN_LAYOUT_WORDS_H_

#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/layout.h"
#include "plan/layout_spec.h"
#include "sharding/named_axes.h"

namespace placewright {

// Layouts as words say them. What an entry leaves to a planner is open: groups that have no layout yet, each of which
// goes whole to one of the devices.
struct ResolvedLayouts {
  Layouts layouts;
  struct Open {
    std::vector<GroupId> groups;
    std::vector<DeviceId> devices;
  };
  std::vector<Open> open;
};

//   kPlace            the spec's one device
//   kAllReduce        shares of the axis; the groups that do not have it are on every device
//   kParameterServer  the same, but the groups of parameters are on the devices in turn, in the order of the
//                     parameters; those that later entries have take their turns, too
//   kDuplicate        everything on every device
//   kModelParallel    open (the planner of that name has them, search/partition/model_parallel.h)
// Errors, with the place "layouts[2].devices[0]": kField (a glob or group that there is not, an axis that
// there is not or that splits nothing of what the spec names, shares that do not follow one another or do not
// cover the axis, fewer samples than shares, a device twice, a group without a layout), kUnknownName (a
// device), kBatchScaling (the batch of a step that nothing proves to follow it).
Result<ResolvedLayouts> ResolveLayouts(const Graph& graph, const NamedAxes& axes,
                                       const Cluster& cluster, const LayoutSpecs& specs);

// Layouts that can be resolved, with every device by its name and every share stated: as plans keep them.
LayoutSpecs ExpandSpecs(const NamedAxes& axes, const Cluster& cluster, LayoutSpecs specs);

// Of more than eight devices the same by a glob of their names, with equal shares, and boxes of several axes as a mesh,
// where these say it: as files keep them, whose size follows the strategy and not the devices. ExpandSpecs makes of it
// what it was.
LayoutSpecs ShortenSpecs(const NamedAxes& axes, const Cluster& cluster, LayoutSpecs specs);

// The inverse, with as few entries as modules allow: the most frequent layout for "*", as parameter servers where that
// leaves fewer groups over; then each of the others for modules whose groups all have it, or lie as they do by it; and
// for single groups where that is not so. Resolved, every group lies as it does in `layouts`; where the axis of its
// layout splits none of its ops, that is everything on every device. Devices are named, shares stated.
LayoutSpecs StateLayouts(const Graph& graph, const NamedAxes& axes, const Cluster& cluster,
                         const Layouts& layouts);
// The same as files keep them (ShortenSpecs), without all devices of every entry in between.
LayoutSpecs StateShortLayouts(const Graph& graph, const NamedAxes& axes, const Cluster& cluster,
                              const Layouts& layouts);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PLAN_LAYOUT_WORDS_H_
