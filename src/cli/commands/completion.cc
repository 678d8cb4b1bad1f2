#include "cli/shell/completion.h"

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
  CommandLine Register(CommandLine program) override {
    program_ = program;
    CommandLine app = program.AddCommand("completion", "Print a completion script for a shell");
    app.AddOption("SHELL", shell_, "bash, zsh or fish").Required();
    app.Footer(
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
    const std::string script = shell.script(ReadCommandTree(program_, WordsOfTheProgram()));
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

  CommandLine program_;  // outlives every run of the command
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletionCommand() { return std::make_unique<CompletionCommand>(); }

}  // namespace placewright
