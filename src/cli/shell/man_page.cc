#include "cli/shell/man_page.h"

#include <fmt/format.h>

namespace placewright {
namespace {

// Text of one line in troff: nothing in it is a request or an escape, dashes stay dashes.
std::string Plain(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out = "\\&";
  for (char c : text) {
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      case '\n': out += ' '; break;
      default: out += c;
    }
  }
  return out;
}

// Lines as they are.
std::string Verbatim(std::string_view text) {
  std::string out = ".PP\n.nf\n";
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string line = Plain(text.substr(0, end));
    out += (line.empty() ? "\\&" : line) + "\n";
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return out + ".fi\n";
}

std::string Entry(const OptionNode& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "\\fB" : ", \\fB") + Plain(name) + "\\fR";
  }
  const bool argument = !option.names.front().starts_with('-');
  if (!argument && !option.value.empty()) names += " \\fI" + Plain(option.value) + "\\fR";
  return fmt::format(".TP\n{}\n{}{}\n", names, Plain(option.description),
                     option.required ? " (required)" : "");
}

std::string Usage(const CommandNode& command) {
  std::string usage = "\\fBplacewright";
  if (!command.path.empty()) usage += " " + Plain(command.path);
  usage += "\\fR";
  if (!command.commands.empty()) usage += " \\fICOMMAND\\fR";
  for (const OptionNode& argument : command.arguments) {
    const std::string name = "\\fI" + Plain(argument.names.front()) + "\\fR";
    usage += argument.required ? " " + name : " [" + name + "]";
  }
  return usage + " [\\fIOPTIONS\\fR]\n";
}

std::string Section(const CommandNode& command) {
  std::string text = fmt::format(".SS {}\n{}.PP\n{}.\n", Plain(command.path), Usage(command),
                                 Plain(command.description));
  for (const OptionNode& argument : command.arguments) text += Entry(argument);
  for (const OptionNode& option : command.options) text += Entry(option);
  if (!command.footer.empty()) text += Verbatim(command.footer);
  return text;
}

}  // namespace

std::string ManPage(const CommandNode& program, std::string_view version) {
  std::string text = fmt::format(
      ".TH PLACEWRIGHT 1 \"\" \"placewright {}\" \"User Commands\"\n"
      ".SH NAME\nplacewright \\- places the ops of a deep\\-learning training step on devices\n"
      ".SH SYNOPSIS\n{}.SH DESCRIPTION\n{}\n.SH OPTIONS\n",
      Plain(version), Usage(program), Plain(program.description));
  for (const OptionNode& option : program.options) text += Entry(option);
  text += ".SH COMMANDS\n";
  for (const CommandNode* command : AllCommands(program)) {
    if (!command->path.empty()) text += Section(*command);
  }
  return text +
         ".SH \"EXIT STATUS\"\n"
         ".TP\n0\ndone\n"
         ".TP\n1\na defect of the program itself\n"
         ".TP\n2\nthe command line cannot be understood\n"
         ".TP\n3\nbad input: the message names file, place and remedy\n"
         ".TP\n4\nproven infeasible\n"
         ".TP\n5\nnothing that fits was found in the budget\n"
         ".TP\n6\nhardware or a library is missing\n"
         ".TP\n130\ninterrupted; the best plan so far was written\n"
         ".SH ENVIRONMENT\n.TP\nNO_COLOR\nif it is set, nothing is coloured\n"
         ".TP\nCOLUMNS\nthe width of the output (default: that of the terminal)\n";
}

}  // namespace placewright
