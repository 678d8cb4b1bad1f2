// `costs calibrate`: what one measured step of a plan says of modelled times.
#ifndef PLACEWRIGHT_CLI_COMMANDS_COSTS_CALIBRATE_H_
#define PLACEWRIGHT_CLI_COMMANDS_COSTS_CALIBRATE_H_

#include <memory>

#include "cli/commands/command.h"

namespace placewright {

// The command below `costs`.
std::unique_ptr<Command> MakeCostsCalibrateCommand();

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_COSTS_CALIBRATE_H_
