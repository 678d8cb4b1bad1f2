// Changes of a distributed step in one place, drawn at random: what a checker refuses, or what changes nothing.
#ifndef TESTS_CHECKER_MUTATIONS_H_
#define TESTS_CHECKER_MUTATIONS_H_

#include <span>

#include "base/random.h"
#include "plan/distributed_step.h"
#include "step_editor.h"

namespace placewright::tests {

// Changes one thing; false where there is none to change.
using Mutate = bool (*)(const DistributedStep& step, StepEditor& editor, Random& random);

struct Mutation {
  const char* name;
  Mutate mutate;
};

// Of any op: its references, arguments, operator, device, origin, collective, ...
std::span<const Mutation> Mutations();

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_MUTATIONS_H_
