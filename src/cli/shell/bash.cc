#include <fmt/format.h>

#include "cli/shell/case_tables.h"
#include "cli/shell/completion.h"

namespace placewright {
namespace {

std::string Replies(const Choices& choices) {
  if (choices.words.empty() && !choices.files) return "COMPREPLY=()";
  std::string flags = choices.files ? " -f" : "";
  if (!choices.words.empty()) {
    flags += " -W " + ShellQuoted(fmt::format("{}", fmt::join(choices.words, " ")));
  }
  return fmt::format("mapfile -t COMPREPLY < <(compgen{} -- \"$current\")", flags);
}

std::string OptionWords(const CommandNode& command) {
  Choices names;
  for (const OptionNode& option : command.options) {
    names.words.insert(names.words.end(), option.names.begin(), option.names.end());
  }
  return Replies(names);
}

std::string ArgumentWords(const CommandNode& command) {
  Choices choices;
  for (const CommandNode& sub : command.commands) choices.words.emplace_back(sub.name());
  const Choices own = ArgumentChoices(command);
  choices.words.insert(choices.words.end(), own.words.begin(), own.words.end());
  choices.files = own.files;
  return Replies(choices);
}

}  // namespace

std::string BashCompletion(const CommandNode& program) {
  const CaseTables tables = MakeCaseTables(program, {&Replies, &OptionWords, &ArgumentWords});
  return fmt::format(R"sh(# Completion of placewright for bash 4 and later. In ~/.bashrc:
#   eval "$(placewright completion bash)"
_placewright() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local command='' index place=word glued=''
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
  # And of those of MODEL@PRESET: they are matched as a whole, and completed behind the @.
  if [[ $current == '@' ]]; then
    glued="$previous@" current=''
  elif [[ $previous == '@' ]]; then
    glued="${{COMP_WORDS[COMP_CWORD-2]}}@"
  fi
  current="$glued$current"
  case "$command|$previous" in
{}  esac
  [[ $current == -* ]] && place=dash
  case "$command|$place" in
{}  esac
  COMPREPLY=("${{COMPREPLY[@]#"$glued"}}")
}}
complete -o filenames -F _placewright placewright
)sh",
                     tables.commands, tables.values, tables.places);
}

}  // namespace placewright
