#include "cli/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "base/out_of_memory.h"
#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/terminal/emergency_memory.h"

namespace placewright {
namespace {

// The innermost command that was named on the command line.
const CLI::App* NamedCommand(const CLI::App& program) {
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string FullName(const CLI::App* app) {
  return app->get_parent() == nullptr ? app->get_name()
                                      : FullName(app->get_parent()) + " " + app->get_name();
}

// "--time" without its dashes, which make every option begin as every other does.
std::string WithoutDashes(const std::string& option) {
  return option.substr(std::min(option.find_first_not_of('-'), option.size()));
}

std::vector<std::string> OptionNames(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  return names;
}

// " (did you mean --time?)", or "".
std::string NearOptions(const std::string& name, const CLI::App* app) {
  std::vector<std::string> bare;
  for (const std::string& option : OptionNames(app)) bare.push_back(WithoutDashes(option));
  std::string text;
  for (const std::string& near : NearNames(WithoutDashes(name), bare)) {
    text += (text.empty() ? " (did you mean --" : ", --") + near;
  }
  return text.empty() ? text : text + "?)";
}

// "--time", or the name of a positional argument.
std::string NameOf(const CLI::Option& option) { return option.get_name(); }

// An option of one value that was given several times, or nullptr.
const CLI::Option* RepeatedOption(const CLI::App* app) {
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_items_expected_max() <= 1 && option->count() > 1 &&
        option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw) {
      return option;
    }
  }
  return nullptr;
}

// No option and no argument means anything when it is empty.
Status RejectEmptyValues(const CLI::App* app) {
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& value : option->results()) {
      if (!value.empty()) continue;
      return MakeError(ErrorCode::kUsage, NameOf(*option) + " has an empty value", "",
                       "Give it one, or leave it out: see `" + FullName(app) + " --help`.");
    }
  }
  for (const CLI::App* sub : app->get_subcommands()) PW_RETURN_IF_ERROR(RejectEmptyValues(sub));
  return Ok();
}

// "-" as an input is standard input, which can be read once. As an output the command judges it.
Status RejectSecondStandardInput(const CLI::App* app, std::string& first) {
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_group() == "Output") continue;
    for (const std::string& value : option->results()) {
      if (value != "-") continue;
      if (!first.empty()) {
        return MakeError(
            ErrorCode::kUsage,
            "standard input (-) is given twice: as " + first + " and as " + NameOf(*option), "",
            "It can be read once; name a file for the other.");
      }
      first = NameOf(*option);
    }
  }
  for (const CLI::App* sub : app->get_subcommands()) {
    PW_RETURN_IF_ERROR(RejectSecondStandardInput(sub, first));
  }
  return Ok();
}

// `help` and `help COMMAND` as the --help that is meant; what is no command is left to the parser.
std::vector<const char*> WithHelp(const CLI::App& program, int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (argc < 2 || std::strcmp(words[1], "help") != 0) return words;
  words.erase(words.begin() + 1);
  const std::vector<std::string> commands = CommandNames(&program);
  const bool known =
      argc == 2 || words[1][0] == '-' || std::count(commands.begin(), commands.end(), words[1]) > 0;
  if (known) words.push_back("--help");
  return words;
}

// What CLI11 threw, as an error that says what would have been right.
Error UsageError(const CLI::ParseError& thrown, const CLI::App& program) {
  const CLI::App* app = NamedCommand(program);
  std::string message = thrown.what();
  const std::vector<std::string> commands = CommandNames(app);
  const std::vector<std::string> rest = program.remaining(true);
  const std::string word = rest.empty() ? "" : rest.front();
  if (word.size() > 1 && word.front() == '-') {
    const std::string name = word.substr(0, word.find('='));
    if (app->get_option_no_throw(name) != nullptr) {
      return MakeError(
          ErrorCode::kUsage, "option " + Printable(name) + " stands before its command", "",
          "Options go after the command: `" + FullName(app) + " ... " + Printable(name) + "`.");
    }
    message = "unknown option " + Printable(name) + NearOptions(name, app);
  } else if (!word.empty() && !commands.empty()) {
    message = "unknown command " + Printable(word) + DidYouMean(word, commands);
  } else if (!word.empty()) {
    message = "unexpected argument " + Printable(word);
  } else if (const CLI::Option* repeated = RepeatedOption(app)) {
    message = NameOf(*repeated) + " is given more than once";
  } else if (!commands.empty()) {
    message = "no command was given";
  }
  return MakeError(ErrorCode::kUsage, std::move(message), "",
                   "See `" + FullName(app) + " --help`.");
}

void AddOutputOptions(CLI::App* app, Console& console) {
  const auto subcommands = app->get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* sub : subcommands) AddOutputOptions(sub, console);
  app->add_flag("--json", console.json, "Print one JSON object (docs/json.md)")->group("Output");
  app->add_flag("-q,--quiet", console.quiet, "No notes and no progress on standard error")
      ->group("Output");
}

// Asked for before anything is parsed, so that usage errors come in the asked form, too.
bool AsksForJson(int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) return true;
  }
  return false;
}

// What --version and --help say: `text`, or an object with `word` under the name `what`.
void PrintWords(Console& console, const std::string& what, const std::string& word,
                const std::string& text) {
  if (!console.json) return console.Print(text);
  Json object;
  object["schema"] = "placewright." + what + "/1";
  object[what] = word;
  console.PrintJson(object);
}

// The first word that is no option, behind `help`.
std::string NamedCommand(std::span<const char* const> words) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i];
    if (!word.starts_with("-") && (i > 1 || word != "help")) return word;
  }
  return "";
}

// Whether the text has the word by itself.
bool Names(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const auto goes_on = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
    };
    if ((at == 0 || !goes_on(text[at - 1])) && (end == text.size() || !goes_on(text[end])))
      return true;
  }
  return false;
}

// Of an error that says no place: the argument whose value or name it is about, else the command. The message names
// these, so that it is for programs alone.
void AddPlace(const CLI::App& program, Error& error) {
  if (!error.place.empty()) return;
  const CLI::App* app = NamedCommand(program);
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& value : option->results()) {
      const bool is_named = value.size() > 1 && Names(error.message, '"' + value + '"');
      if (!is_named && (error.file.empty() || error.file != value)) continue;
      error.place = NameOf(*option);
      // What stands where a file could, and is none.
      if (error.file.empty() && error.code == ErrorCode::kUnknownName) error.file = value;
      return;
    }
  }
  for (const std::string& option : OptionNames(app)) {
    if (error.place.empty() && Names(error.message, option)) error.place = option;
  }
  if (error.place.empty()) error.place = FullName(app);
}

// What the words say, parsed by `program`, into which the commands have been registered as `apps`.
Result<int> RunParsed(CLI::App& program, const std::vector<std::unique_ptr<Command>>& commands,
                      const std::vector<CommandLine>& apps, int argc, const char* const* argv,
                      Context& context) {
  Console& console = context.console;
  try {
    std::vector<const char*> words = WithHelp(program, argc, argv);
    program.parse(static_cast<int>(words.size()), words.data());
    PW_RETURN_IF_ERROR(RejectEmptyValues(&program));
    std::string standard_input;
    PW_RETURN_IF_ERROR(RejectSecondStandardInput(&program, standard_input));
  } catch (const CLI::CallForVersion&) {
    PrintWords(console, "version", PLACEWRIGHT_VERSION, program.version() + "\n");
    return 0;
  } catch (const CLI::CallForHelp&) {
    const std::string help = program.help();
    PrintWords(console, "help", help, help);
    return 0;
  } catch (const CLI::ParseError& thrown) {
    return UsageError(thrown, program);
  }
  for (size_t i = 0; i < commands.size(); ++i) {
    if (apps[i].Parsed()) return commands[i]->Run(context);
  }
  return MakeError(ErrorCode::kUsage, "no command was given");
}

Result<int> ParseAndRun(int argc, const char* const* argv,
                        const std::vector<std::unique_ptr<Command>>& commands, Context& context) {
  CLI::App program("Places the ops of a deep-learning training step on CPUs and GPUs.",
                   "placewright");
  program.set_version_flag("--version", "placewright " PLACEWRIGHT_VERSION, "Print the version");
  program.require_subcommand(1);
  program.get_formatter()->column_width(30);
  program.footer(
      "Examples:\n"
      "  placewright plan model.json.gz -c 4xP100\n"
      "  placewright inspect model.onnx\n"
      "`placewright help COMMAND` and `placewright COMMAND --help` say more about a command.");
  std::vector<CommandLine> apps;
  for (const auto& command : commands) {
    apps.push_back(command->Register(CommandLine(&program)));
  }
  for (size_t i = 0; i < commands.size(); ++i) {
    if (commands[i]->ReadsAllWords() && apps[i].app()->get_name() == NamedCommand(context.words)) {
      return commands[i]->Run(context);
    }
  }
  AddOutputOptions(&program, context.console);  // before the command or after it
  Result<int> done = RunParsed(program, commands, apps, argc, argv, context);
  if (!done.ok() && context.console.json) AddPlace(program, done.error());
  return done;
}

int Report(const Error& error, Console& console) {
  console.PrintError(error);
  return InfoOf(error.code).exit_status;
}

}  // namespace

int RunProgram(int argc, const char* const* argv, Clock::time_point started,
               std::vector<std::unique_ptr<Command>> (*make)()) {
  // A reader that closes the pipe must not kill us before a plan is written.
  std::signal(SIGPIPE, SIG_IGN);
  // Nor must a limit on file sizes: the write fails, is reported, and leaves no half file.
  std::signal(SIGXFSZ, SIG_IGN);
  KeepMemoryReserve();
  Console console;
  console.json = AsksForJson(argc, argv);
  Context context{console, started, {argv, static_cast<size_t>(argc)}};
  int status = 0;
  try {
    const Result<int> result = ParseAndRun(argc, argv, make(), context);
    status = result.ok() ? result.value() : Report(result.error(), console);
  } catch (const std::bad_alloc&) {
    status = Report(OutOfMemory(), console);
  } catch (const std::exception& thrown) {
    status = Report(MakeError(ErrorCode::kInternal, thrown.what()), console);
  }
  const Status finished = console.Finish();
  if (finished.ok()) return status;
  console.json = false;  // what is written there has no reader
  return Report(finished.error(), console);
}

}  // namespace placewright
