#include "cli/terminal/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/text.h"

namespace placewright {

CommandOption CommandOption::TypeName(const std::string& name) {
  option_->type_name(name);
  return *this;
}
CommandOption CommandOption::Group(const std::string& heading) {
  option_->group(heading);
  return *this;
}
CommandOption CommandOption::Required() {
  option_->required();
  return *this;
}
CommandOption CommandOption::Check(const std::function<std::string(const std::string&)>& check) {
  option_->check(check);
  return *this;
}
CommandOption CommandOption::Repeatable() {
  option_->expected(1)->take_all()->allow_extra_args(false);
  return *this;
}

CommandLine CommandLine::AddCommand(const std::string& name, const std::string& description) {
  return CommandLine(app_->add_subcommand(name, description));
}
void CommandLine::RequireCommand() { app_->require_subcommand(1); }

CommandOption CommandLine::AddOption(const std::string& names, std::string& target,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, target, help));
}
CommandOption CommandLine::AddOption(const std::string& names, std::optional<std::string>& target,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, target, help));
}
CommandOption CommandLine::AddOption(const std::string& names, std::vector<std::string>& target,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, target, help));
}
CommandOption CommandLine::AddOption(const std::string& names, int32_t& target,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, target, help));
}
CommandOption CommandLine::AddOption(const std::string& names, std::vector<int64_t>& target,
                                     const std::string& help) {
  // CLI11's own lists leave empty parts out.
  const auto take = [&target, names](const std::string& text) {
    target.clear();
    for (size_t from = 0; from <= text.size();) {
      const size_t to = std::min(text.find(',', from), text.size());
      int64_t number = 0;
      const char* const end = text.data() + to;
      const auto [read, error] = std::from_chars(text.data() + from, end, number);
      if (error != std::errc() || read != end || number < 1 || number > INT32_MAX) {
        throw CLI::ValidationError(
            names, fmt::format("\"{}\" in \"{}\" is not an integer from 1 to {}",
                               Printable(text.substr(from, to - from), 40), Printable(text, 80),
                               INT32_MAX));
      }
      target.push_back(number);
      from = to + 1;
    }
  };
  return CommandOption(app_->add_option_function<std::string>(names, take, help));
}
CommandOption CommandLine::AddOption(const std::string& names, int64_t& target,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, target, help));
}
CommandOption CommandLine::AddOption(const std::string& names, uint64_t& target,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, target, help));
}
CommandOption CommandLine::AddOption(const std::string& names, std::optional<int32_t>& target,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, target, help));
}
CommandOption CommandLine::AddOption(const std::string& names, std::optional<int64_t>& target,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, target, help));
}
CommandOption CommandLine::AddFlag(const std::string& names, bool& target,
                                   const std::string& help) {
  return CommandOption(app_->add_flag(names, target, help));
}
void CommandLine::Footer(const std::string& text) { app_->footer(text); }

bool CommandLine::Parsed() const { return app_->parsed(); }
bool CommandLine::Given(const std::string& option) const {
  const CLI::Option* const found = app_->get_option_no_throw(option);
  return found != nullptr && found->count() > 0;
}
std::string CommandLine::GivenBeside(const std::vector<std::string>& names) const {
  for (const CLI::Option* option : app_->get_options()) {
    if (option->count() == 0) continue;
    const bool known = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return option->check_name(name);
    });
    if (!known) return option->get_name();
  }
  return "";
}

}  // namespace placewright
