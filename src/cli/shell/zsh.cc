#include <fmt/format.h>

#include "cli/shell/case_tables.h"
#include "cli/shell/completion.h"

namespace placewright {
namespace {

// "name:description" as _describe reads it.
std::string Described(std::string_view name, const std::string& description) {
  std::string text;
  for (char c : name) text += c == ':' ? std::string("\\:") : std::string(1, c);
  return ShellQuoted(text + ":" + description);
}

std::string Offer(const Choices& choices) {
  std::string offer;
  if (!choices.words.empty()) {
    offer = "compadd --";
    for (const std::string& word : choices.words) offer += " " + ShellQuoted(word);
  }
  if (choices.files) offer += offer.empty() ? "_files" : "; _files";
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
  const Choices choices = ArgumentChoices(command);
  if (choices.words.empty() && !choices.files) return "_message 'no more arguments'";
  return Offer(choices);
}

}  // namespace

std::string ZshCompletion(const CommandNode& program) {
  const CaseTables tables = MakeCaseTables(program, {&Offer, &OfferOptions, &OfferArguments});
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
                     tables.commands, tables.values, tables.places);
}

}  // namespace placewright
