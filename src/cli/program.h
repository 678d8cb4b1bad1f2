// The program: parses the command line, runs one command, reports its error.
#ifndef PLACEWRIGHT_CLI_PROGRAM_H_
#define PLACEWRIGHT_CLI_PROGRAM_H_

#include "base/stop.h"

namespace placewright {

// The exit status: 0 ok, 1 internal, 2 usage, 3 bad input, 4 proven infeasible, 5 nothing found in
// the budget, 6 hardware or runtime missing, 130 interrupted. `started`: of the process.
int RunProgram(int argc, const char* const* argv, Clock::time_point started);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_PROGRAM_H_
