#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/export_remedy.h"
#include "cli/request/plan_export.h"
#include "cli/request/whole_plan.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/output_path.h"
#include "formats/plan/plan_files.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

constexpr const char* kExportExamples =
    "Examples:\n"
    "  placewright export workload.plan.json --to dnn-partitioning -o split.json\n"
    "  placewright export whole.plan.json --to accelerate -o device_map.json\n"
    "  placewright export bert.plan.json --to chrome-trace -o bert.trace.json\n"
    "  placewright export bert.plan.json --to costgraph -o bert.costgraph.json.gz";

class ExportCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand("export", "Write a plan in another program's form");
    app.AddOption("PLAN", plan_, "Plan file; its costs and schedule lie beside it").Required();
    app.AddOption("--to", format_, "Format, from the list below")
        .TypeName("FORMAT")
        .Required()
        .Group("Output");
    app.AddOption("-o,--output", output_,
                  "File to write, gzip if it ends with .gz; -: standard output")
        .TypeName("FILE")
        .Required()
        .Group("Output");
    AddPlanInputOptions(app, &options_);
    app.Footer(DescribeExportFormats() + kExportExamples);
    return app;
  }

  Result<int> Run(Context& context) override {
    PW_ASSIGN(const ExportFormat* format, FindExportFormat(format_));
    if (output_ == kStandardOutput && context.console.json) {
      return MakeError(ErrorCode::kUsage, "-o - and --json would both print on standard output", "",
                       "Name a file, or leave --json out.");
    }
    if (output_ != kStandardOutput) PW_RETURN_IF_ERROR(CheckOutput());
    PW_ASSIGN(const WholePlan whole, WholePlan::Open(plan_, options_));
    PW_ASSIGN(const PlanInputs plan, LoadPlanInputs(whole.path(), options_));
    PW_RETURN_IF_ERROR(CheckDigest(plan.document).InFile(plan_));
    PW_ASSIGN(const Placement placement,
              ResolvePlacement(plan.plan.placement, plan.graph.graph, plan.cluster.cluster)
                  .InFile(plan_));
    std::vector<std::string> notes;
    const std::atomic<bool>& interrupted = CatchInterrupts();  // nothing half is left behind
    const auto write = [&](const TextSink& sink) -> Status {
      Status written = WriteExport(*format, plan, placement, sink, &notes);
      if (written.ok()) return written;
      Error error = WithTriedRemedy(std::move(written.error()), *format, plan, whole.path(),
                                    options_, StopToken(&interrupted));
      if (error.file.empty()) error.file = plan_;
      return error;
    };
    if (output_ == kStandardOutput) {
      const TextSink print = [&](std::string_view piece) {
        context.console.Print(std::string(piece));
        return Ok();
      };
      PW_RETURN_IF_ERROR(write(print));
      for (const std::string& note : notes) context.console.Note(note);
      return 0;
    }
    PW_ASSIGN(AtomicFile file, AtomicFile::Create(output_));
    const TextSink sink = [&](std::string_view piece) -> Status {
      if (interrupted) return Interrupted();
      return file.Append(piece);
    };
    PW_RETURN_IF_ERROR(write(sink));
    if (interrupted) return Interrupted();
    PW_RETURN_IF_ERROR(file.Commit());
    Report(*format, file.stored_bytes(), notes, context.console);
    return 0;
  }

 private:
  static constexpr std::string_view kStandardOutput = "-";

  static Error Interrupted() {
    return MakeError(ErrorCode::kInterrupted, "interrupted; nothing was written");
  }

  Status CheckOutput() const {
    PW_RETURN_IF_ERROR(RejectOverwriting({{"the export", output_}}, FilesOfPlan(plan_, options_)));
    return ProbeWritable(output_);
  }

  void Report(const ExportFormat& format, int64_t bytes, const std::vector<std::string>& notes,
              Console& console) const {
    if (console.json) {
      Json object;
      object["schema"] = "placewright.export/1";
      object["plan_file"] = plan_;
      object["format"] = format.name;
      object["file"] = output_;
      object["bytes"] = bytes;
      object["notes"] = notes;
      console.PrintJson(object);
    } else {
      console.Print(fmt::format("{} written as {}: {}\n", Printable(output_, 4096), format.name,
                                FormatBytes(Bytes(bytes))));
      for (const std::string& note : notes) console.Note(note);
    }
  }

  std::string plan_, format_, output_;
  PlanInputOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeExportCommand() { return std::make_unique<ExportCommand>(); }

}  // namespace placewright
