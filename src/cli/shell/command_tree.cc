#include "cli/shell/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

namespace placewright {
namespace {

// What takes a file, of all commands or of one.
constexpr std::array<std::string_view, 6> kFiles = {"FILE", "PLAN",    "GRAPH",
                                                    "CASE", "CLUSTER", "capture MODEL"};

const std::vector<std::string>* KnownWordsOf(const KnownWords& words, const std::string& key) {
  for (const auto& [name, values] : words) {
    if (name == key) return &values;
  }
  return nullptr;
}

OptionNode ReadOption(const CLI::Option& option, const std::string& command,
                      const KnownWords& words) {
  OptionNode node;
  for (const std::string& name : option.get_snames()) node.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) node.names.push_back("--" + name);
  const bool argument = option.get_positional();
  if (argument) node.names = {option.get_name(true)};
  if (argument) {
    node.value = node.names.front();
  } else if (option.get_items_expected_max() > 0) {
    node.value = option.get_type_name();
  }
  node.description = option.get_description();
  node.required = option.get_required();
  const auto takes_file = [](const std::string& value) {
    return std::find(kFiles.begin(), kFiles.end(), value) != kFiles.end();
  };
  node.takes_file = takes_file(node.value) || takes_file(command + " " + node.value);
  for (const std::string& name : node.names) {
    const std::vector<std::string>* known = KnownWordsOf(words, command + " " + name);
    if (known == nullptr) known = KnownWordsOf(words, name);
    if (known != nullptr) node.words = *known;
  }
  return node;
}

CommandNode ReadCommand(const CLI::App& app, const std::string& path, const KnownWords& words) {
  CommandNode node;
  node.path = path;
  node.description = app.get_description();
  node.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    OptionNode read = ReadOption(*option, path, words);
    (option->get_positional() ? node.arguments : node.options).push_back(std::move(read));
  }
  const auto all = [](const CLI::App*) { return true; };
  for (const CLI::App* command : app.get_subcommands(all)) {
    const std::string& name = command->get_name();
    node.commands.push_back(ReadCommand(*command, path.empty() ? name : path + " " + name, words));
  }
  return node;
}

void Append(const CommandNode& node, std::vector<const CommandNode*>* all) {
  all->push_back(&node);
  for (const CommandNode& command : node.commands) Append(command, all);
}

}  // namespace

CommandNode ReadCommandTree(CommandLine program, const KnownWords& words) {
  return ReadCommand(*program.app(), "", words);
}

std::vector<const CommandNode*> AllCommands(const CommandNode& root) {
  std::vector<const CommandNode*> all;
  Append(root, &all);
  return all;
}

}  // namespace placewright
