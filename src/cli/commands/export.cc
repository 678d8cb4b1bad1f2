#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/terminal/output_path.h"
#include "formats/dnn_partitioning/split_writer.h"
#include "formats/graphdef/writer.h"
#include "formats/pipedream/stage_writer.h"
#include "formats/plan/plan_files.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

// A form that a plan can be written in. A writer refuses with kNotExpressible what its form cannot
// hold; `refuses` says in general what that is.
struct ExportFormat {
  std::string_view name, description, refuses;
  Result<std::string> (*write)(const PlanInputs& plan, const Placement& placement);
};

// In the order of the help text.
constexpr std::array kFormats = {
    ExportFormat{"dnn-partitioning", "split of a dnn-partitioning workload (JSON)",
                 "plans of other graphs: their ops have no node ids", WriteDnnPartitioningSplit},
    ExportFormat{"pipedream", "PipeDream profile with a stage_id for every layer (text)",
                 "plans of other graphs, and pipelines that come back to a device",
                 WritePipeDreamStages},
    ExportFormat{"graphdef", "TensorFlow GraphDef with a device for every node, in the file's form",
                 "plans of other graphs", WriteGraphDef},
};

Result<const ExportFormat*> FindFormat(std::string_view name) {
  std::vector<std::string> names;
  for (const ExportFormat& format : kFormats) {
    if (format.name == name) return &format;
    names.emplace_back(format.name);
  }
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("--to \"{}\" is unknown{}", Printable(name), DidYouMean(name, names)), "",
      fmt::format("The formats are {}.", fmt::join(names, ", ")));
}

std::string FormatsAndExamples() {
  std::string text = "Formats, and what they refuse:\n";
  for (const ExportFormat& format : kFormats) {
    text += fmt::format("  {:<18}{}\n  {:<18}refuses {}\n", format.name, format.description, "",
                        format.refuses);
  }
  return text +
         "Examples:\n"
         "  placewright export bert24.plan.json --to dnn-partitioning -o bert24.split.json\n"
         "  placewright export vgg16.plan.json --to pipedream -o vgg16.stages.txt";
}

class ExportCommand : public Command {
 public:
  CLI::App* Register(CLI::App& program) override {
    CLI::App* app = program.add_subcommand("export", "Write a plan in another program's form");
    app->add_option("PLAN", plan_, "Plan file; its costs and schedule lie beside it")->required();
    app->add_option("--to", format_, "Format, from the list below")
        ->type_name("FORMAT")
        ->required()
        ->group("Output");
    app->add_option("-o,--output", output_, "File to write")
        ->type_name("FILE")
        ->required()
        ->group("Output");
    app->add_option("--graph", options_.graph,
                    "Where the graph lies now, if not where the plan says")
        ->type_name("FILE")
        ->group("Input");
    app->add_option("-c,--cluster", options_.cluster, "The same for the cluster: a file or preset")
        ->type_name("CLUSTER")
        ->group("Input");
    app->footer(FormatsAndExamples());
    return app;
  }

  Result<int> Run(Context& context) override {
    PW_ASSIGN(const ExportFormat* format, FindFormat(format_));
    PW_RETURN_IF_ERROR(CheckOutput());
    PW_ASSIGN(const PlanInputs plan, LoadPlanInputs(plan_, options_));
    PW_RETURN_IF_ERROR(VerifyDigest(plan.document).InFile(plan_));
    PW_ASSIGN(const Placement placement,
              ResolvePlacement(plan.plan.placement, plan.graph.graph, plan.cluster.cluster)
                  .InFile(plan_));
    PW_ASSIGN(const std::string content, format->write(plan, placement).InFile(plan_));
    PW_RETURN_IF_ERROR(WriteFileAtomically(output_, content));
    Report(*format, static_cast<int64_t>(content.size()), context.console);
    return 0;
  }

 private:
  Status CheckOutput() const {
    std::vector<NamedFile> inputs = WithNamedFiles("the plan", plan_);
    inputs.push_back({"--graph", options_.graph.value_or("")});
    inputs.push_back({"-c", options_.cluster.value_or("")});
    PW_RETURN_IF_ERROR(RefuseOverwriting({{"the export", output_}}, inputs));
    return ProbeWritable(output_);
  }

  void Report(const ExportFormat& format, int64_t bytes, Console& console) const {
    if (console.json) {
      Json object;
      object["schema"] = "placewright.export/1";
      object["plan_file"] = plan_;
      object["format"] = format.name;
      object["file"] = output_;
      object["bytes"] = bytes;
      console.PrintJson(object);
    } else {
      console.Print(fmt::format("{} written as {}: {}\n", Printable(output_, 4096), format.name,
                                FormatBytes(Bytes(bytes))));
    }
  }

  std::string plan_, format_, output_;
  PlanInputOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeExportCommand() { return std::make_unique<ExportCommand>(); }

}  // namespace placewright
