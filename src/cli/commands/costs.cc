#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "cli/commands/costs_calibrate.h"
#include "cli/request/cost_store.h"
#include "cli/request/models.h"
#include "cli/terminal/options.h"
#include "cluster/catalogue.h"
#include "cost/traced_costs.h"
#include "formats/cost_store/cost_store.h"
#include "formats/text/file.h"
#include "formats/traces/op_trace.h"
#include "report/table.h"

namespace placewright {
namespace {

constexpr size_t kUnusedShown = 5;

class CostsCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand("costs", "Take measured times over from other programs");
    app.RequireCommand();
    CommandLine import = app.AddCommand(
        "import", "Times of a PyTorch trace or an ONNX Runtime profile into the cost store");
    import
        .AddOption("TRACE", trace_,
                   "What torch.profiler's export_chrome_trace (with record_shapes=True) or ONNX "
                   "Runtime's end_profiling wrote; may be gzip")
        .Required();
    import.AddOption("GRAPH", graph_, "The graph that ran: a file, or a model of the zoo")
        .Required();
    import.AddOption("--kind", kind_, "Kind of device that it ran on, as clusters call it")
        .TypeName("KIND")
        .Required()
        .Group("Input");
    import.AddOption("--cores", cores_, "Of a CPU: how many cores computed (default: not stated)")
        .TypeName("N")
        .Check(IntegerWithin(1, 1'000'000))
        .Group("Input");
    import.AddOption("--batch", batch_, "Batch size that ran (default: the graph's)")
        .TypeName("N")
        .Check(IntegerWithin(1, (uint64_t{1} << 31) - 1))
        .Group("Input");
    AddDimensionOption(import, &dimensions_);
    import
        .AddOption("--cost-store", store_,
                   "Where times are kept (default: PLACEWRIGHT_COST_STORE, else "
                   "placewright/costs.sqlite in ~/.local/share)")
        .TypeName("FILE")
        .Group("Output");
    import.Footer(
        "An op of the graph takes the median of the trace's ops of its type with inputs of its "
        "shapes "
        "and types.\n"
        "Examples:\n"
        "  placewright costs import trace.json.gz bert-base --kind A100-80GB\n"
        "  placewright costs import ort_profile.json model.onnx --batch 8 --kind V100-16GB");
    calibrate_ = MakeCostsCalibrateCommand();
    calibrate_app_ = calibrate_->Register(app);
    app.Footer(
        "Examples:\n"
        "  placewright costs import trace.json.gz bert-base --kind A100-80GB\n"
        "  placewright costs calibrate bert.plan.json --step 620ms -o calibrated.yaml");
    return app;
  }

  Result<int> Run(Context& context) override {
    if (calibrate_app_.Parsed()) return calibrate_->Run(context);
    if (store_.empty()) store_ = DefaultCostStore();
    if (store_.empty()) {
      return MakeError(ErrorCode::kUsage, "there is no folder for the cost store", "",
                       "Name a file with --cost-store.");
    }
    PW_ASSIGN(const std::string text, ReadFile(trace_));
    PW_ASSIGN(const OpTrace trace, ReadOpTrace(text).InFile(trace_));
    PW_RETURN_IF_ERROR(CheckKind(trace, context.console));
    GraphInputOptions options;
    options.batch = batch_;
    PW_ASSIGN(options.dimensions, ParseDimensions(dimensions_));
    PW_ASSIGN(const LoadedGraph loaded, LoadGraphOrModel(graph_, options));
    const TraceMatch match = MatchTrace(loaded.graph, trace);
    // Nothing in common means another model or batch: a store that says nothing of it is better than an
    // empty environment that counts as newest.
    if (match.rows.empty()) {
      Error error =
          MakeError(ErrorCode::kPlanMismatch,
                    fmt::format("none of its {} is an op of {}", CountOf(trace.ops.size(), "op"),
                                Printable(graph_, 200)),
                    "", "Give the graph that ran, at the batch that ran; nothing was stored.");
      error.file = trace_;
      return error;
    }
    PW_ASSIGN(CostStore store, CostStore::Open(store_, /*create=*/true));
    const MeasuredOn on{kind_, cores_.value_or(0), false,
                        std::string(MeasuredOn::kImported) + trace.source, ""};
    PW_RETURN_IF_ERROR(store.Put({{on, match.rows}}, {}).InFile(store_));
    if (context.console.json) {
      PrintJson(trace, match, context.console);
    } else {
      PrintText(trace, match, context.console);
    }
    return 0;
  }

 private:
  // A trace of calls on the CPU says nothing about a GPU, and the other way round.
  Status CheckKind(const OpTrace& trace, Console& console) const {
    const DeviceKind* const kind = FindKind(kind_);
    if (kind == nullptr) {
      std::vector<std::string> names;
      for (const DeviceKind& known : Catalogue()) names.push_back(known.name);
      console.Note(fmt::format(
          "note: {} is no known kind of device{}: it counts for clusters that describe one of that "
          "name",
          Printable(kind_, 80), DidYouMean(kind_, names)));
    } else if (cores_ && kind->device_class != DeviceClass::kCpu) {
      return MakeError(ErrorCode::kUsage,
                       fmt::format("--cores is for CPUs, and {} is none", Printable(kind_, 80)));
    }
    if (kind == nullptr || (kind->device_class == DeviceClass::kCpu) != trace.on_device)
      return Ok();
    Error error = MakeError(
        ErrorCode::kUsage,
        trace.on_device
            ? fmt::format("its times are of an accelerator, and {} is a CPU", Printable(kind_, 80))
            : fmt::format("its times are of calls on a CPU, and {} is none", Printable(kind_, 80)),
        "",
        trace.on_device ? "Give the accelerator's kind."
                        : "Record the trace with the accelerator's activities, or give the CPU's "
                          "kind.");
    error.file = trace_;
    return error;
  }

  static double UsedShare(const TraceMatch& match) {
    if (match.total.count == 0) return 0;
    return static_cast<double>(match.used.count) / static_cast<double>(match.total.count);
  }

  void PrintJson(const OpTrace& trace, const TraceMatch& match, Console& console) const {
    Json object;
    object["schema"] = "placewright.costs-import/1";
    object["trace"] = trace_;
    object["source"] = trace.source;
    object["on_device"] = trace.on_device;
    object["graph"] = graph_;
    object["kind"] = kind_;
    object["cores"] = cores_.value_or(0);
    object["store"] = store_;
    object["rows"] = match.rows.size();
    object["time_share"] = UsedShare(match);
    object["classes"] = Json::array();
    for (const auto& [op_class, share] : match.classes) {
      object["classes"].push_back(
          {{"class", ToString(op_class)}, {"ops", share.ops}, {"matched", share.matched}});
    }
    object["unused"] = Json::array();
    for (const auto& [type, time] : match.unused) {
      object["unused"].push_back({{"type", Printable(type, 200)}, {"time_ns", time.count}});
    }
    console.PrintJson(object);
  }

  void PrintText(const OpTrace& trace, const TraceMatch& match, Console& console) const {
    using Align = Table::Align;
    std::string text = fmt::format(
        "{} ({}, times of {}): {} of its time used, {} for {} in {}\n\n", Printable(trace_, 200),
        trace.source, trace.on_device ? "kernels on a device" : "calls on the CPU",
        FormatShare(UsedShare(match)), CountOf(match.rows.size(), "signature"),
        Printable(kind_, 80), Printable(store_, 400));
    Table classes({{"class of ops", Align::kLeft},
                   {"matched", Align::kRight},
                   {"of the graph's", Align::kRight},
                   {"share", Align::kRight}});
    for (const auto& [op_class, share] : match.classes) {
      classes.AddRow({std::string(ToString(op_class)), FormatCount(share.matched),
                      FormatCount(share.ops),
                      FormatShare(static_cast<double>(share.matched) /
                                  static_cast<double>(std::max<int64_t>(1, share.ops)))});
    }
    text += classes.Render(console.style());
    if (!match.unused.empty()) {
      std::vector<std::string> longest;
      for (size_t i = 0; i < std::min(kUnusedShown, match.unused.size()); ++i) {
        longest.push_back(fmt::format("{} {}", Printable(match.unused[i].first, 80),
                                      FormatNanos(match.unused[i].second)));
      }
      text += fmt::format("\nNot used, longest first: {}{}\n", fmt::join(longest, ", "),
                          match.unused.size() > kUnusedShown ? ", ..." : "");
    }
    text += "The model costs what was not matched.\n";
    console.Print(text);
  }

  std::unique_ptr<Command> calibrate_;
  CommandLine calibrate_app_;
  std::string trace_, graph_, kind_, store_;
  std::vector<std::string> dimensions_;
  std::optional<int64_t> cores_, batch_;
};

}  // namespace

std::unique_ptr<Command> MakeCostsCommand() { return std::make_unique<CostsCommand>(); }

}  // namespace placewright
