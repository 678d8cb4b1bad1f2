// The manual page of the program.
#ifndef PLACEWRIGHT_CLI_SHELL_MAN_PAGE_H_
#define PLACEWRIGHT_CLI_SHELL_MAN_PAGE_H_

#include <string>
#include <string_view>

#include "cli/shell/command_tree.h"

namespace placewright {

// A page of section 1 in the man macros of troff: every command with its options and what its help
// says below them. Depends on nothing but the arguments: no date.
std::string ManPage(const CommandNode& program, std::string_view version);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_SHELL_MAN_PAGE_H_
