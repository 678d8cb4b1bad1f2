// What a command declares: its arguments, options and texts. The one door to CLI11, whose headers
// take seconds a source to compile and stay behind it (command_line.cc; program.cc parses).
#ifndef PLACEWRIGHT_CLI_TERMINAL_COMMAND_LINE_H_
#define PLACEWRIGHT_CLI_TERMINAL_COMMAND_LINE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace placewright {

// A handle to one option or positional argument; cheap to copy, valid while the program lives.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CommandOption TypeName(const std::string& name);  // as --help shows its value: "FILE"
  CommandOption Group(const std::string& heading);  // under which --help lists it
  CommandOption Required();
  // `check` returns what is wrong with a value; "" if nothing is.
  CommandOption Check(const std::function<std::string(const std::string&)>& check);
  // May be repeated and takes one value each time.
  CommandOption Repeatable();

 private:
  CLI::Option* option_;
};

// A handle to the program or one of its commands; cheap to copy, valid while the program lives.
class CommandLine {
 public:
  CommandLine() = default;
  explicit CommandLine(CLI::App* app) : app_(app) {}

  CommandLine AddCommand(const std::string& name, const std::string& description);
  void RequireCommand();  // one of the commands below it must be given

  // `names`: "-o,--output", or "FILE" for a positional argument. `target` keeps its value where
  // the option is not given, and must outlive the program's parsing.
  CommandOption AddOption(const std::string& names, std::string& target, const std::string& help);
  CommandOption AddOption(const std::string& names, std::optional<std::string>& target,
                          const std::string& help);
  CommandOption AddOption(const std::string& names, std::vector<std::string>& target,
                          const std::string& help);
  // Integers from 1 on with commas between them, in one text.
  CommandOption AddOption(const std::string& names, std::vector<int64_t>& target,
                          const std::string& help);
  CommandOption AddOption(const std::string& names, int32_t& target, const std::string& help);
  CommandOption AddOption(const std::string& names, int64_t& target, const std::string& help);
  CommandOption AddOption(const std::string& names, uint64_t& target, const std::string& help);
  CommandOption AddOption(const std::string& names, std::optional<int32_t>& target,
                          const std::string& help);
  CommandOption AddOption(const std::string& names, std::optional<int64_t>& target,
                          const std::string& help);
  CommandOption AddFlag(const std::string& names, bool& target, const std::string& help);
  void Footer(const std::string& text);  // below the options of --help: examples

  // After parsing.
  bool Parsed() const;                          // whether this command was given
  bool Given(const std::string& option) const;  // whether it has that option and it was
  // The first option given that has none of the names; "" if there is none.
  std::string GivenBeside(const std::vector<std::string>& names) const;

  const CLI::App* app() const { return app_; }

 private:
  CLI::App* app_ = nullptr;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_TERMINAL_COMMAND_LINE_H_
