// Where every op runs.
#ifndef PLACEWRIGHT_PLAN_PLACEMENT_H_
#define PLACEWRIGHT_PLAN_PLACEMENT_H_

#include <placewright/base/result.h>
#include <placewright/cluster/cluster.h>
#include <placewright/graph/graph.h>

#include <string>
#include <utility>
#include <vector>

namespace placewright {

using Placement = IdVector<OpId, DeviceId>;

// An op and the device it moves to. A legal set of moves keeps colocation groups together; views
// move with their group and have to be listed, too.
struct OpMove {
  OpId op;
  DeviceId device;
};

// Op name -> device name, as files state it.
using NamedPlacement = std::vector<std::pair<std::string, std::string>>;

// Every op exactly once, known devices. Views may be left out: they follow their storage's group.
// Errors: kUnknownName, kDuplicateName, kPlanMismatch (ops missing; the first are named).
Result<Placement> ResolvePlacement(const NamedPlacement& named, const Graph& graph,
                                   const Cluster& cluster);
NamedPlacement NamePlacement(const Placement& placement, const Graph& graph,
                             const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_PLACEMENT_H_
