// The program: parses the command line, runs one command, reports its error.
#ifndef PLACEWRIGHT_CLI_PROGRAM_H_
#define PLACEWRIGHT_CLI_PROGRAM_H_

#include <memory>
#include <vector>

#include "base/stop.h"
#include "cli/commands/command.h"

namespace placewright {

// The exit status: 0 ok, 1 internal, 2 usage, 3 bad input, 4 proven infeasible, 5 nothing found in
// the budget, 6 hardware or runtime missing, 130 interrupted. `started`: of the process; `make`: its
// commands, in the order in which --help lists them.
int RunProgram(int argc, const char* const* argv, Clock::time_point started,
               std::vector<std::unique_ptr<Command>> (*make)());

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_PROGRAM_H_
