// A step and layouts as one distributed graph: instances of ops, each on one device, and what moves, joins
// and sums the pieces of tensors between them. The result is an ordinary graph: simulator, checker, traces
// and executor see nothing else.
//
// Every op becomes one instance on each device of its group's layout. Where its rule lets the layout's axis
// be split, an instance computes its interval; else it computes everything. An input is fetched in the state
// in which the instance needs it: a part, or all of it, from wherever its pieces are. Partial sums go on
// through linear ops and are completed before any other reader.
//
// Why the result equals the original: an instance of a split op computes, by the op's rule, its interval of
// every output, a partial sum, or all of it (sharding/op_rule.h, proven by execution), given the same of its
// inputs; fetching preserves values (rewrites/); so by induction over the graph's order every piece is what
// its state says. Sums are associated otherwise: floating point results differ by rounding.
#ifndef PLACEWRIGHT_COMPILE_COMPILER_H_
#define PLACEWRIGHT_COMPILE_COMPILER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "compile/part_prices.h"
#include "cost/cost_table.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"
#include "plan/layout.h"
#include "plan/step_lanes.h"
#include "plan/step_switches.h"
#include "sharding/named_axes.h"

namespace placewright {

struct CompileOptions {
  bool collectives =
      true;  // false: sums and gathers are made by every device for itself, nothing is a Broadcast
  StepSwitches switches = {};  // gradients are made apart where they leave that open
};

// `axes` are the graph's. Errors: kField (a layout without shares, an axis that there is not, shares that
// do not cover it, a device twice; a tensor that is read after it was
// written in place through a view that its layout does not split),
// those of GraphBuilder.
Result<DistributedStep> Compile(const Graph& graph, const NamedAxes& axes, const Layouts& layouts,
                                const Cluster& cluster, const CompileOptions& options = {});

// A step in which the first device of each class has the ops of all, and collectives are those of the first devices, with
// what they hold of links. Arguments of its ops that say where a part begins are those of some device of the class.
struct StepInLanes {
  DistributedStep step;
  StepLanes lanes;
  IdVector<CollectiveId, CostTable::CollectiveCost> collectives;
};
class ArrayWriter;
// Of a writer that has written in lanes, once. Precondition: the step was packed in its lanes (search/evaluation) with
// these switches, in the order that it is to run in. Errors: those of GraphBuilder; kPlanInvalid where a link has both
// collectives and transfers, so that no other one says how busy it is.
Result<StepInLanes> PrintInLanes(const Graph& graph, const StepSwitches& switches,
                                 PartPrices& parts, ArrayWriter& writer);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_COMPILER_H_
