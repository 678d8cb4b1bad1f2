
#include "cli/commands/command.h"
#include "cli/shell/known_words.h"
#include "cli/shell/man_page.h"

namespace placewright {
namespace {

class ManCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    program_ = program;
    CommandLine app = program.AddCommand("man", "Print the manual page (troff)");
    app.Footer(
        "Examples:\n"
        "  placewright man > placewright.1 && man -l placewright.1\n"
        "  placewright man > /usr/local/share/man/man1/placewright.1");
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::string page =
        ManPage(ReadCommandTree(program_, WordsOfTheProgram()), PLACEWRIGHT_VERSION);
    if (context.console.json) {
      Json object;
      object["schema"] = "placewright.man/1";
      object["page"] = page;
      context.console.PrintJson(object);
    } else {
      context.console.Print(page);
    }
    return 0;
  }

 private:
  CommandLine program_;  // outlives every run of the command
};

}  // namespace

std::unique_ptr<Command> MakeManCommand() { return std::make_unique<ManCommand>(); }

}  // namespace placewright
