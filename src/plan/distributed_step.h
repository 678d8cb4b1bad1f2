// A step that several devices compute together: an ordinary graph of instances, each on one device, with
// what an instance is of and what of the original's inputs each of its own is. Simulator, checker, traces
// and executor need graph and placement alone.
#ifndef PLACEWRIGHT_PLAN_DISTRIBUTED_STEP_H_
#define PLACEWRIGHT_PLAN_DISTRIBUTED_STEP_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "plan/box.h"
#include "plan/placement.h"

namespace placewright {

// An axis within a tensor: dimension `dimension` has outer * size * inner elements, and the axis is the
// middle factor.
struct AxisPlace {
  int32_t dimension = -1;  // -1: the tensor does not have the axis
  int64_t outer = 1, size = 1, inner = 1;
  friend bool operator==(const AxisPlace&, const AxisPlace&) = default;
};

struct DistributedStep {
  Graph graph;
  Placement placement;
  IdVector<OpId, OpId> origin;  // the op that an instance is of; none: it moves or joins pieces
  // Every input of the graph: all of an original input, or a part of it.
  struct InputPiece {
    TensorId original, piece;
    AxisPlace place;  // dimension -1: all of it
    Interval interval;
  };
  std::vector<InputPiece> inputs;
  // By op, or empty: whether on a GPU the kernel of another op of its part does it, so that it takes no time.
  std::vector<char> in_kernel;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_DISTRIBUTED_STEP_H_
