// A small program for the tests of this folder.
#ifndef PLACEWRIGHT_CLI_SHELL_TEST_TREE_H_
#define PLACEWRIGHT_CLI_SHELL_TEST_TREE_H_

#include <CLI/CLI.hpp>

#include "cli/shell/command_tree.h"

namespace placewright {

// `run FILE [--algo NAME] [-o FILE] [--fast]` and `show all WHAT`.
inline CommandNode TestTree() {
  CLI::App program("It's a test: 100% \\ safe.", "placewright");
  std::string text;
  bool flag = false;
  CLI::App* run = program.add_subcommand("run", "Runs 'it'");
  run->add_option("FILE", text, "What to run")->required();
  run->add_option("--algo", text, "Which")->type_name("NAME");
  run->add_option("-o,--output", text, "Where to")->type_name("FILE");
  run->add_flag("--fast", flag, "Faster: a flag");
  run->footer(".begins with a dot\nExamples:\n  placewright run x");
  CLI::App* show = program.add_subcommand("show", "Shows");
  show->add_subcommand("all", "Everything")->add_option("WHAT", text, "Word");
  return ReadCommandTree(CommandLine(&program), {{"--algo", {"fast", "slow"}}, {"WHAT", {"this"}}});
}

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_SHELL_TEST_TREE_H_
