// Which parts the instances of a step compute, against the layouts that its plan states.
#ifndef CHECK_PLAN_DISTRIBUTED_SHARE_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_SHARE_CHECK_H_

#include "check_plan/distributed/group_layouts.h"
#include "check_plan/distributed/interpreter.h"
#include "check_plan/violation.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"
#include "plan/layout_spec.h"
#include "sharding/named_axes.h"

namespace placewright::check {

// An instance on a device computes the share that its group's layout gives that device, along each axis of the layout
// that the rule of its op has and that nothing in the group forbids to split (sharding/unsplit_writes.h); of others it
// computes everything: kWrongPart. Also whole on an axis, though the rule would have it, may be
//   what one device draws for all;
//   an op that writes in place what another op has made whole;
//   a batch norm whose arguments are not those of its operator;
//   a view of a broadcast's copy, or of a parameter, or its cast, that has been gathered.
// `cuts`: of the instances, as Interpret found them.
MaybeViolation CheckShares(const Graph& original, const NamedAxes& axes,
                           const DistributedStep& step, const Cluster& cluster,
                           const GroupLayouts& layouts, const IdVector<OpId, FoundCut>& cuts);

// Where the plan says that batch norms have statistics of their part alone, they have: each whose parts can have
// them (their statistics are read by the backward in the same parts alone, and every part has more than one element
// of a channel): kWrongStatistics.
MaybeViolation CheckLocalNorms(const Graph& original, const NamedAxes& axes,
                               const DistributedStep& step, const IdVector<OpId, FoundCut>& cuts);

// Buffers of all-reduces are not above `fusion` (0: there are none), without `broadcasts` nothing is broadcast, and
// gradients are made apart where `gradients_apart` says so, and nowhere else: kWrongArgument.
MaybeViolation CheckSwitches(const Graph& original, const DistributedStep& step,
                             const DistributionSpec& spec);

// The device to which a broadcast or a gather has brought what the instance is a view of; the view is beside that. Of
// gathers those of parameters and their casts. Where the plan fetches anew, views are made of what is there: beside that,
// too. None: it views something else.
DeviceId BroughtTo(const DistributedStep& step, OpId instance, const GroupLayouts& layouts);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_SHARE_CHECK_H_
