// How a step is distributed, op by op and parameter by parameter, read off the step that is executed.
//
// Layouts say what was asked for; a split of what has no rule is a copy, and how gradients come together
// follows from all layouts at once. So this looks at the instances of the compiled step: on which devices
// an op has some, whether they work on parts, and what stands between a parameter's gradients and its
// update. A placed step is its own compiled step, with one instance of each op.
#ifndef PLACEWRIGHT_REPORT_STRATEGY_STEP_STRATEGY_H_
#define PLACEWRIGHT_REPORT_STRATEGY_STEP_STRATEGY_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/layout_spec.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "plan/step_lanes.h"

namespace placewright {

// kSplit: each instance computes a part of the axis; kCopied: each computes everything.
enum class ComputeKind : uint8_t { kPlaced, kSplit, kCopied };

std::string_view ToString(ComputeKind kind);  // "placed", "split", "copied"

// "batch", or "batch x heads" of boxes, each without the path of its module; "": every device has everything.
std::string AxesOfLayout(const LayoutSpec& spec);

struct ComputeStrategy {
  ComputeKind kind = ComputeKind::kPlaced;
  // Of a split, without the path of the module that it is of ("batch", "query.weight[0]"); "" where the layouts
  // do not say it.
  std::string axis;
  std::vector<DeviceId> devices;  // with an instance, ascending
  std::vector<int64_t>
      shares;  // of the axis, parallel to devices; empty: not a split, or not stated
  friend auto operator<=>(const ComputeStrategy&, const ComputeStrategy&) = default;
};

// How the gradients of a parameter come together.
enum class SyncKind : uint8_t {
  kNone,           // gradient and update are on one device
  kAllReduce,      // every device of the parameter has the sum, by a collective
  kServer,         // one device has the parameter, sums the gradients of others and updates it
  kReduceScatter,  // each device sums a part
  kReduceScatterAllReduce,  // some devices sum a part each, and the sums of such devices are added up
  kSummed,                  // every device of the parameter fetches all parts and sums them itself
  kGathered,                // parts of the gradient, not shares of a sum, are put together
  kParts,                   // each device has a part of the parameter and the gradient of that part
  kEverywhere               // every device of the parameter computes the whole gradient
};
// "none", "all-reduce", "parameter-server", ...: as in --json.
std::string_view ToString(SyncKind kind);

struct ParameterStrategy {
  StorageId parameter;  // of the original
  ModuleId module;      // to which it belongs (ParameterModules)
  Bytes bytes;
  SyncKind sync = SyncKind::kNone;
  bool in_buckets = false;        // of an all-reduce: together with other gradients
  std::vector<DeviceId> devices;  // that update it, ascending
};

struct StepStrategy {
  // By op of the original; without devices: a view, or an op that has no instance.
  IdVector<OpId, ComputeStrategy> ops;
  // Of the op's instances, in one step, summed over devices.
  IdVector<OpId, Nanos> times;
  std::vector<ParameterStrategy> parameters;  // ascending; those that nothing touches are left out
};

struct StrategyInputs {
  const Graph& original;
  const Graph& step;                   // compiled of it, or `original` itself
  const IdVector<OpId, OpId>& origin;  // of the step's ops; none: it moves or joins pieces
  const Placement& placement;          // of the step
  const Schedule& schedule;            // of the step
  const Cluster& cluster;
  // The layout of each group of the original, as stated; nullptr: not known. Empty: a placed step.
  std::vector<const LayoutSpec*> spec_of_group;
  const StepLanes* lanes = nullptr;  // of a step in lanes
};

// O(edges of the step * devices) at most: a gradient is followed to the op that made it.
StepStrategy FindStrategy(const StrategyInputs& inputs);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_STRATEGY_STEP_STRATEGY_H_
