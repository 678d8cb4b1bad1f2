#include "cli/shell/case_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace placewright {
namespace {

// "'plan|-c'|'plan|--cluster'": the patterns of an option's names within a command.
std::string Patterns(const CommandNode& command, const OptionNode& option) {
  std::string patterns;
  for (const std::string& name : option.names) {
    patterns += (patterns.empty() ? "" : "|") + ShellQuoted(command.path + "|" + name);
  }
  return patterns;
}

}  // namespace

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ShellWord(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("_-./@%+=:,").find(c) != std::string_view::npos;
  });
  return plain ? text : ShellQuoted(text);
}

Choices ArgumentChoices(const CommandNode& command) {
  Choices choices;
  for (const OptionNode& argument : command.arguments) {
    choices.words.insert(choices.words.end(), argument.words.begin(), argument.words.end());
    choices.files = choices.files || argument.takes_file;
  }
  return choices;
}

CaseTables MakeCaseTables(const CommandNode& program, const ShellOffers& offers) {
  CaseTables tables;
  for (const CommandNode* command : AllCommands(program)) {
    for (const CommandNode& sub : command->commands) {
      tables.commands += fmt::format("      {}) command={} ;;\n",
                                     ShellQuoted(fmt::format("{}|{}", command->path, sub.name())),
                                     ShellQuoted(sub.path));
    }
    for (const OptionNode& option : command->options) {
      if (option.value.empty()) continue;
      tables.values += fmt::format("    {}) {}; return ;;\n", Patterns(*command, option),
                                   offers.value({option.words, option.takes_file}));
    }
    tables.places += fmt::format("    {}) {} ;;\n    {}) {} ;;\n",
                                 ShellQuoted(command->path + "|dash"), offers.options(*command),
                                 ShellQuoted(command->path + "|word"), offers.arguments(*command));
  }
  return tables;
}

}  // namespace placewright
