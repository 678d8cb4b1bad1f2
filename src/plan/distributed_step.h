// A step that several devices compute together: an ordinary graph of instances, each on one device, with
// what an instance is of and what of the original's inputs each of its own is. Simulator, checker, traces
// and executor need graph and placement alone.
#ifndef PLACEWRIGHT_PLAN_DISTRIBUTED_STEP_H_
#define PLACEWRIGHT_PLAN_DISTRIBUTED_STEP_H_

#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "plan/box.h"
#include "plan/placement.h"

namespace placewright {

// Counts the steps where random draws count (transforms/counter_draws.h).
inline constexpr std::string_view kStepCounter = "buffer:placewright.step";

struct DistributedStep {
  Graph graph;
  Placement placement;
  IdVector<OpId, OpId> origin;  // the op that an instance is of; none: it moves or joins pieces
  // Every input of the graph: all of an original input, or a part of it.
  struct InputPiece {
    TensorId original, piece;
    TensorBox box;
  };
  std::vector<InputPiece> inputs;
  // By op, or empty: whether on a GPU the kernel of another op of its part does it, so that it takes no time.
  std::vector<char> in_kernel;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_DISTRIBUTED_STEP_H_
