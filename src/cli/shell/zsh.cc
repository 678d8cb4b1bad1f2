#include <fmt/format.h>

#include "cli/shell/completion.h"

namespace placewright {
namespace {

std::string Patterns(const CommandNode& command, const OptionNode& option) {
  std::string patterns;
  for (const std::string& name : option.names) {
    patterns += (patterns.empty() ? "" : "|") + ShellQuoted(command.path + "|" + name);
  }
  return patterns;
}

// "name:description" as _describe reads it.
std::string Described(std::string_view name, const std::string& description) {
  std::string text;
  for (char c : name) text += c == ':' ? std::string("\\:") : std::string(1, c);
  return ShellQuoted(text + ":" + description);
}

// What offers words, files, both or nothing.
std::string Offer(const std::vector<std::string>& words, bool files) {
  std::string offer;
  if (!words.empty()) {
    offer = "compadd --";
    for (const std::string& word : words) offer += " " + ShellQuoted(word);
  }
  if (files) offer += offer.empty() ? "_files" : "; _files";
  return offer.empty() ? "_message 'a value'" : offer;
}

std::string OfferOptions(const CommandNode& command) {
  std::string offer = "described=(";
  for (const OptionNode& option : command.options) {
    for (const std::string& name : option.names) offer += Described(name, option.description) + " ";
  }
  return offer + "); _describe -o option described";
}

std::string OfferArguments(const CommandNode& command) {
  if (!command.commands.empty()) {
    std::string offer = "described=(";
    for (const CommandNode& sub : command.commands) {
      offer += Described(sub.name(), sub.description) + " ";
    }
    return offer + "); _describe command described";
  }
  std::vector<std::string> words;
  bool files = false;
  for (const OptionNode& argument : command.arguments) {
    words.insert(words.end(), argument.words.begin(), argument.words.end());
    files = files || argument.takes_file;
  }
  if (words.empty() && !files) return "_message 'no more arguments'";
  return Offer(words, files);
}

}  // namespace

std::string ZshCompletion(const CommandNode& program) {
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
                            Offer(option.words, option.takes_file));
    }
    places += fmt::format("    {}) {} ;;\n    {}) {} ;;\n", ShellQuoted(command->path + "|dash"),
                          OfferOptions(*command), ShellQuoted(command->path + "|word"),
                          OfferArguments(*command));
  }
  return fmt::format(R"sh(#compdef placewright
# Completion of placewright for zsh: as a file `_placewright` in a folder of $fpath, or in ~/.zshrc
# after compinit:
#   eval "$(placewright completion zsh)"
_placewright() {{
  local command='' place=word previous=${{words[CURRENT-1]}}
  local -i index
  local -a described
  for ((index = 2; index < CURRENT; ++index)); do
    case "$command|${{words[index]}}" in
{}    esac
  done
  if [[ $PREFIX == --*=* ]]; then
    previous=${{PREFIX%%=*}}
    compset -P '*='
  fi
  case "$command|$previous" in
{}  esac
  [[ $PREFIX == -* ]] && place=dash
  case "$command|$place" in
{}  esac
}}
if [[ $funcstack[1] == _placewright ]]; then
  _placewright "$@"
else
  compdef _placewright placewright
fi
)sh",
                     commands, values, places);
}

}  // namespace placewright
