#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/inputs.h"
#include "cli/request/plan_export.h"
#include "cli/request/whole_plan.h"
#include "cli/terminal/output_path.h"
#include "formats/plan/plan_files.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

constexpr const char* kCompileExamples =
    "The step is an ATen training graph (docs/formats/aten-graph.md): every op with its device "
    "and\n"
    "the op that it is an instance of, every input with what it is a part of, and the "
    "collectives.\n"
    "Examples:\n"
    "  placewright compile bert.plan.json -o bert.step.json.gz\n"
    "  placewright inspect bert.step.json.gz";

class CompileCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand("compile", "Write a plan's step as each device runs it");
    app.AddOption("PLAN", plan_, "Plan file").Required();
    app.AddOption("-o,--output", output_, "File to write, gzip if it ends with .gz")
        .TypeName("FILE")
        .Required()
        .Group("Output");
    AddPlanInputOptions(app, &options_);
    app.Footer(kCompileExamples);
    return app;
  }

  Result<int> Run(Context& context) override {
    PW_RETURN_IF_ERROR(RejectOverwriting({{"the step", output_}}, FilesOfPlan(plan_, options_)));
    PW_RETURN_IF_ERROR(ProbeWritable(output_));
    PW_ASSIGN(const bool is_plan, IsPlan(plan_));
    if (!is_plan) {
      return MakeError(ErrorCode::kUsage, Printable(plan_, 4096) + " is no plan", "",
                       "Make one with `placewright plan`, and compile that.");
    }
    PW_ASSIGN(const WholePlan whole, WholePlan::Open(plan_, options_));
    PW_ASSIGN(const PlanInputs plan, LoadPlanInputs(whole.path(), options_));
    PW_RETURN_IF_ERROR(CheckDigest(plan.document).InFile(plan_));
    PW_ASSIGN(const std::string text, TextOfStep(plan, whole.path()));
    PW_RETURN_IF_ERROR(WriteFileAtomically(output_, IsGzipName(output_) ? Gzip(text) : text));
    const Graph& graph = plan.graph.graph;
    if (context.console.json) {
      Json object;
      object["schema"] = "placewright.compile/1";
      object["plan_file"] = plan_;
      object["file"] = output_;
      object["ops"] = graph.op_count();
      object["collectives"] = graph.collective_count();
      context.console.PrintJson(object);
    } else {
      context.console.Print(fmt::format("{} written: {} ops, {} collectives\n",
                                        Printable(output_, 4096), graph.op_count(),
                                        graph.collective_count()));
    }
    return 0;
  }

 private:
  std::string plan_, output_;
  PlanInputOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeCompileCommand() { return std::make_unique<CompileCommand>(); }

}  // namespace placewright
