// The tables that the completion scripts of bash and zsh have in common: both shells read the same
// `case` patterns, and differ in what they do for one.
#ifndef PLACEWRIGHT_CLI_SHELL_CASE_TABLES_H_
#define PLACEWRIGHT_CLI_SHELL_CASE_TABLES_H_

#include <functional>
#include <string>
#include <vector>

#include "cli/shell/command_tree.h"

namespace placewright {

// The text as one word of a POSIX shell, in single quotes; zsh reads it likewise.
std::string ShellQuoted(const std::string& text);
// The same, without quotes where the text needs none.
std::string ShellWord(const std::string& text);

// What can stand in one place: words, files, both or nothing.
struct Choices {
  std::vector<std::string> words;
  bool files = false;
};
// What the arguments of a command may be; its sub-commands are not among them.
Choices ArgumentChoices(const CommandNode& command);

// What a shell does to offer something, as a command of its language.
struct ShellOffers {
  std::function<std::string(const Choices&)> value;          // of an option
  std::function<std::string(const CommandNode&)> options;    // the command's
  std::function<std::string(const CommandNode&)> arguments;  // and its sub-commands
};

// Branches of three `case` statements, a line each, over the whole tree.
struct CaseTables {
  std::string commands;  // "command|word": the command that this leads to, in $command
  std::string values;    // "command|option": offers its value and returns
  std::string places;    // "command|dash" and "command|word": offers options, or arguments
};
CaseTables MakeCaseTables(const CommandNode& program, const ShellOffers& offers);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_SHELL_CASE_TABLES_H_
