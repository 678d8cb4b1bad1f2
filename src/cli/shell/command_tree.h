// The program's commands and options as plain data, read off the parser: what completions and the
// manual page are made of.
#ifndef PLACEWRIGHT_CLI_SHELL_COMMAND_TREE_H_
#define PLACEWRIGHT_CLI_SHELL_COMMAND_TREE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal/command_line.h"

namespace placewright {

// An option, or an argument that stands by itself.
struct OptionNode {
  std::vector<std::string> names;  // "-c", "--cluster"; of an argument its name alone
  std::string value;               // what it takes: "FILE"; "" for a flag
  std::string description;
  bool required = false;
  std::vector<std::string> words;  // values that it knows
  bool takes_file = false;         // besides `words`
};

struct CommandNode {
  std::string path;  // "" for the program itself, "cluster show"
  std::string description, footer;
  std::vector<OptionNode> options, arguments;
  std::vector<CommandNode> commands;

  std::string_view name() const { return std::string_view(path).substr(path.rfind(' ') + 1); }
};

// Values that the options of a command know: "--algo", "inspect --order" (which outranks
// "--order"), "explain CODE".
using KnownWords = std::vector<std::pair<std::string, std::vector<std::string>>>;

// The commands in the order of the help text. Files are taken by what is called FILE, PLAN, GRAPH,
// CASE or CLUSTER, and by the MODEL of capture.
CommandNode ReadCommandTree(CommandLine program, const KnownWords& words);

// The node and all below it, parents first.
std::vector<const CommandNode*> AllCommands(const CommandNode& root);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_SHELL_COMMAND_TREE_H_
