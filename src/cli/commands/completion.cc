#include "cli/shell/completion.h"

#include <CLI/CLI.hpp>
#include <array>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/shell/known_words.h"

namespace placewright {
namespace {

struct Shell {
  std::string_view name;
  std::string (*script)(const CommandNode& program);
};
constexpr std::array kShells = {Shell{"bash", BashCompletion}, Shell{"zsh", ZshCompletion},
                                Shell{"fish", FishCompletion}};

class CompletionCommand : public Command {
 public:
  CLI::App* Register(CLI::App& program) override {
    program_ = &program;
    CLI::App* app = program.add_subcommand("completion", "Print a completion script for a shell");
    app->add_option("SHELL", shell_, "bash, zsh or fish")->required();
    app->footer(
        "Examples:\n"
        "  eval \"$(placewright completion bash)\"     in ~/.bashrc; zsh likewise in ~/.zshrc\n"
        "  placewright completion fish > ~/.config/fish/completions/placewright.fish");
    return app;
  }

  Result<int> Run(Context& context) override {
    std::vector<std::string> names;
    for (const Shell& shell : kShells) {
      names.emplace_back(shell.name);
      if (shell.name == shell_) return Print(shell, context.console);
    }
    return MakeError(
        ErrorCode::kUsage,
        "no completion for the shell \"" + Printable(shell_) + "\"" + DidYouMean(shell_, names), "",
        "There is one for bash, zsh and fish.");
  }

 private:
  int Print(const Shell& shell, Console& console) const {
    const std::string script = shell.script(ReadCommandTree(*program_, WordsOfTheProgram()));
    if (console.json) {
      Json object;
      object["schema"] = "placewright.completion/1";
      object["shell"] = shell.name;
      object["script"] = script;
      console.PrintJson(object);
    } else {
      console.Print(script);
    }
    return 0;
  }

  const CLI::App* program_ = nullptr;  // outlives every run of the command
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletionCommand() { return std::make_unique<CompletionCommand>(); }

}  // namespace placewright
