#include <fmt/format.h>

#include "cli/shell/completion.h"

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

// What makes the replies: words, files, both or none.
std::string Replies(const std::vector<std::string>& words, bool files) {
  if (words.empty() && !files) return "COMPREPLY=()";
  std::string flags = files ? " -f" : "";
  if (!words.empty()) flags += " -W " + ShellQuoted(fmt::format("{}", fmt::join(words, " ")));
  return fmt::format("mapfile -t COMPREPLY < <(compgen{} -- \"$current\")", flags);
}

std::string OptionWords(const CommandNode& command) {
  std::vector<std::string> names;
  for (const OptionNode& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return Replies(names, false);
}

std::string ArgumentWords(const CommandNode& command) {
  std::vector<std::string> words;
  bool files = false;
  for (const CommandNode& sub : command.commands) words.emplace_back(sub.name());
  for (const OptionNode& argument : command.arguments) {
    words.insert(words.end(), argument.words.begin(), argument.words.end());
    files = files || argument.takes_file;
  }
  return Replies(words, files);
}

}  // namespace

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string BashCompletion(const CommandNode& program) {
  std::string commands, values, places;
  for (const CommandNode* command : AllCommands(program)) {
    for (const CommandNode& sub : command->commands) {
      commands += fmt::format("      {}) command={} ;;\n",
                              ShellQuoted(fmt::format("{}|{}", command->path, sub.name())),
                              ShellQuoted(sub.path));
    }
    for (const OptionNode& option : command->options) {
      if (option.value.empty()) continue;
      values += fmt::format("    {}) {}; return ;;\n", Patterns(*command, option),
                            Replies(option.words, option.takes_file));
    }
    places += fmt::format("    {}) {} ;;\n    {}) {} ;;\n", ShellQuoted(command->path + "|dash"),
                          OptionWords(*command), ShellQuoted(command->path + "|word"),
                          ArgumentWords(*command));
  }
  return fmt::format(R"sh(# Completion of placewright for bash 4 and later. In ~/.bashrc:
#   eval "$(placewright completion bash)"
_placewright() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local command='' index place=word
  for ((index = 1; index < COMP_CWORD; ++index)); do
    case "$command|${{COMP_WORDS[index]}}" in
{}    esac
  done
  # Bash makes words of their own of the parts of --option=value.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  case "$command|$previous" in
{}  esac
  [[ $current == -* ]] && place=dash
  case "$command|$place" in
{}  esac
}}
complete -o filenames -F _placewright placewright
)sh",
                     commands, values, places);
}

}  // namespace placewright
