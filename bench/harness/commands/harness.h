// The command `bench` with those below it.
#ifndef PLACEWRIGHT_BENCH_HARNESS_COMMANDS_HARNESS_H_
#define PLACEWRIGHT_BENCH_HARNESS_COMMANDS_HARNESS_H_

#include <memory>

#include "cli/commands/command.h"

namespace placewright {

std::unique_ptr<Command> MakeHarnessCommand();

// The commands below it.
std::unique_ptr<Command> MakeBenchSeedsCommand();
std::unique_ptr<Command> MakeBenchTraversalCommand();

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_COMMANDS_HARNESS_H_
