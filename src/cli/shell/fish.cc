#include <fmt/format.h>

#include "cli/shell/completion.h"

namespace placewright {
namespace {

// Within single quotes fish knows \' and \\ only.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string At(const CommandNode& command) {
  return fmt::format("complete -c placewright -n {}",
                     Quoted("__placewright_at " + Quoted(command.path)));
}

std::string OptionLine(const CommandNode& command, const OptionNode& option) {
  std::string line = At(command);
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    line += fmt::format(" {} {}", is_long ? "-l" : "-s", name.substr(is_long ? 2 : 1));
  }
  if (!option.value.empty()) line += option.takes_file ? " -r -F" : " -x";
  if (!option.words.empty()) {
    line += " -a " + Quoted(fmt::format("{}", fmt::join(option.words, " ")));
  }
  return line + " -d " + Quoted(option.description) + "\n";
}

std::string ArgumentLine(const CommandNode& command, const OptionNode& argument) {
  std::string line = At(command);
  if (argument.takes_file) line += " -F";
  if (!argument.words.empty()) {
    line += " -a " + Quoted(fmt::format("{}", fmt::join(argument.words, " ")));
  }
  return line + " -d " + Quoted(argument.description) + "\n";
}

}  // namespace

std::string FishCompletion(const CommandNode& program) {
  std::string cases, lines;
  for (const CommandNode* command : AllCommands(program)) {
    for (const CommandNode& sub : command->commands) {
      cases +=
          fmt::format("            case {}\n                set command {}\n",
                      Quoted(fmt::format("{}|{}", command->path, sub.name())), Quoted(sub.path));
      lines += fmt::format("{} -a {} -d {}\n", At(*command), Quoted(sub.name()),
                           Quoted(sub.description));
    }
    for (const OptionNode& option : command->options) lines += OptionLine(*command, option);
    for (const OptionNode& argument : command->arguments) {
      if (!argument.takes_file && argument.words.empty()) continue;
      lines += ArgumentLine(*command, argument);
    }
  }
  return fmt::format(
      R"(# Completion of placewright for fish: in ~/.config/fish/completions/placewright.fish
function __placewright_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l command ''
    for word in $words
        switch "$command|$word"
{}        end
    end
    test "$command" = "$argv[1]"
end
complete -c placewright -f
{})",
      cases, lines);
}

}  // namespace placewright
