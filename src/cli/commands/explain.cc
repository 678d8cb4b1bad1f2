#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/algorithm_text.h"
#include "cli/request/learned_planners.h"
#include "planning/algorithms.h"

namespace placewright {
namespace {

const char* ExitMeaning(int status) {
  switch (status) {
    case 1: return "internal error";
    case 2: return "usage";
    case 3: return "bad input";
    case 4: return "proven infeasible";
    case 5: return "nothing found in the budget";
    case 6: return "hardware or runtime missing";
    case 130: return "interrupted";
    default: return "";
  }
}

Json ToJson(const ErrorInfo& info) {
  Json object;
  object["code"] = info.name;
  object["exit_status"] = info.exit_status;
  object["meaning"] = info.meaning;
  object["remedy"] = info.remedy;
  return object;
}

class ExplainCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand("explain", "Explain an error code or an algorithm");
    app.AddOption("NAME", name_,
                  "Error code as printed in [brackets], exit status, or algorithm; all codes where "
                  "left out");
    app.Footer(
        "Examples:\n"
        "  placewright explain                 list every code\n"
        "  placewright explain graph-cycle     one code, its meaning and remedy\n"
        "  placewright explain 3               the codes behind an exit status\n"
        "  placewright explain mars            an algorithm: its source, its plans, its settings");
    return app;
  }

  Result<int> Run(Context& context) override {
    if (name_.empty()) return List(context.console, std::nullopt);
    std::vector<std::string> names;
    for (const ErrorInfo& info : AllErrors()) {
      if (info.name == name_) return Show(info, context.console);
      if (std::to_string(info.exit_status) == name_) return List(context.console, info.exit_status);
      names.emplace_back(info.name);
    }
    for (const Planner* planner : algorithms_.all()) {
      if (planner->name() == name_) {
        PrintAlgorithm(*planner, context.console);
        return 0;
      }
      names.emplace_back(planner->name());
    }
    return MakeError(
        ErrorCode::kUsage,
        "no error code or algorithm \"" + Printable(name_) + "\"" + DidYouMean(name_, names), "",
        "`placewright explain` lists all codes, `placewright plan --help` all algorithms.");
  }

 private:
  // Every code, or those with one exit status.
  static Result<int> List(Console& console, std::optional<int> status) {
    if (console.json) {
      Json object;
      object["schema"] = "placewright.explain/1";
      for (const ErrorInfo& info : AllErrors()) {
        if (!status || info.exit_status == *status) object["codes"].push_back(ToJson(info));
      }
      console.PrintJson(object);
      return 0;
    }
    Table table({{"code"}, {"exit", Table::Align::kRight}, {"meaning"}});
    for (const ErrorInfo& info : AllErrors()) {
      if (status && info.exit_status != *status) continue;
      table.AddRow(
          {std::string(info.name), std::to_string(info.exit_status), std::string(info.meaning)});
    }
    console.Print(table.Render(console.style()));
    return 0;
  }

  static Result<int> Show(const ErrorInfo& info, Console& console) {
    if (console.json) {
      Json object;
      object["schema"] = "placewright.explain/1";
      object.update(ToJson(info));
      console.PrintJson(object);
      return 0;
    }
    console.Print(Paint(info.name, Tone::kStrong, console.style()) + "\n");
    console.Print("  meaning      " + std::string(info.meaning) + "\n");
    console.Print("  remedy       " + std::string(info.remedy) + "\n");
    console.Print("  exit status  " + std::to_string(info.exit_status) + " (" +
                  ExitMeaning(info.exit_status) + ")\n");
    return 0;
  }

  const Algorithms algorithms_{{}, LearnedPlanners()};
  std::string name_;
};

}  // namespace

std::unique_ptr<Command> MakeExplainCommand() { return std::make_unique<ExplainCommand>(); }

}  // namespace placewright
