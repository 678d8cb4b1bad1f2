// Scripts that make a shell complete the program's commands, options and their values. All three
// follow the words before the cursor from command to command, then complete the value of the
// option before the cursor, else an option (after a dash), a command or an argument.
#ifndef PLACEWRIGHT_CLI_SHELL_COMPLETION_H_
#define PLACEWRIGHT_CLI_SHELL_COMPLETION_H_

#include <string>

#include "cli/shell/command_tree.h"

namespace placewright {

std::string BashCompletion(const CommandNode& program);
std::string ZshCompletion(const CommandNode& program);
std::string FishCompletion(const CommandNode& program);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_SHELL_COMPLETION_H_
