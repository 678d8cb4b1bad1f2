// The ways to break a rewritten step that are mistakes of engines: each drawn at random in a distributed step.
#ifndef TESTS_CHECKER_NAMED_CORRUPTIONS_H_
#define TESTS_CHECKER_NAMED_CORRUPTIONS_H_

#include <span>

#include "base/random.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"
#include "step_editor.h"

namespace placewright::tests {

struct NamedCorruption {
  const char* name;  // as a property of a test
  // Changes one thing; false where there is none to change. `original`: what `step` was compiled from.
  bool (*corrupt)(const Graph& original, const DistributedStep& step, StepEditor& editor,
                  Random& random);
};

//   stale_gathered_parameter        an op reads a copy of a parameter that was gathered before an update of it, in the place
//                                   of the one gathered behind
//   micro_batch_counted_twice       a sum over micro-batches adds what it has, or an op reads what another micro-batch made
//   recomputed_with_another_draw    a mask that is computed again has another number, another seed, or is of another part
//   sum_in_the_wrong_sub_group      devices of two sub-groups that complete one sum are exchanged, or a sum adds a piece
//                                   that is none of its group's
std::span<const NamedCorruption> NamedCorruptions();

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_NAMED_CORRUPTIONS_H_
