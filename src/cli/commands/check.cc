#include <fmt/format.h>

#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/available_memory.h"
#include "base/on_demand_library.h"
#include "base/out_of_memory.h"
#include "base/text.h"
#include "check_plan/check_library.h"
#include "cli/commands/command.h"
#include "cli/request/cost_store.h"
#include "cli/request/executed_check.h"
#include "cli/request/whole_plan.h"
#include "cli/terminal/options.h"

namespace placewright {
namespace {

class CheckCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand("check", "Verify a plan independently of how it was made");
    app.AddOption("PLAN", plan_, "Plan file; its costs and schedule lie beside it").Required();
    AddPlanInputOptions(app, &options_);
    app.AddFlag(
           "--run", run_,
           "Also execute a step of the plan over simulated devices, and of its graph on one, and "
           "compare what they leave")
        .Group("Output");
    app.Footer(
        "The checker shares no code with planners and simulator beyond the readers of files.\n"
        "Of a distributed plan it also proves that the compiled step is the original one.\n"
        "Exit status 0 where the plan holds, 3 where it does not: the first violation is named.\n"
        "Examples:\n"
        "  placewright check bert.plan.json\n"
        "  placewright check bert.plan.json --graph moved/bert.json.gz --json");
    return app;
  }

  Result<int> Run(Context& context) override {
    PW_ASSIGN(const OnDemandLibrary library, OpenChecker());
    const check::CheckApi& checker =
        *reinterpret_cast<decltype(&placewright_check_api)>(library.Find(check::kCheckEntry))();
    PW_RETURN_IF_ERROR(CheckFitsIntoMemory());
    std::optional<WholePlan> files;  // that an execution reads, too
    if (run_ || !IsInLanes(plan_)) {
      PW_ASSIGN(files, WholePlan::Open(plan_, options_));
    }
    PW_ASSIGN(const check::CheckedPlan checked, Check(checker, files, context));
    context.console.Progress("");
    const PlanInputs& inputs = checked.inputs;
    if (checked.violation) {
      Error error = checker.to_error(*checked.violation);
      if (error.file.empty()) error.file = plan_;
      return error;
    }
    std::optional<ExecutedCheck> executed;
    if (run_) {
      PW_ASSIGN(executed, ExecuteBesideOriginal(inputs, files->path(), options_).InFile(plan_));
      if (!executed->equal) return Differs(*executed);
    }
    const auto ops = inputs.graph.graph.op_count();
    const auto transfers = inputs.schedule.schedule.transfers.size();
    if (context.console.json) {
      Json object;
      object["schema"] = "placewright.check/1";
      object["plan_file"] = plan_;
      object["ok"] = true;
      object["feasible"] = inputs.plan.feasible;
      object["step_time_ns"] = inputs.plan.step_time.count;
      object["ops"] = ops;
      object["transfers"] = transfers;
      object["plan_links"] = inputs.plan.links.size();
      object["not_proven"] = Json::array();
      for (const check::Violation& each : checked.not_proven) {
        object["not_proven"].push_back({{"message", each.message}, {"place", each.place}});
      }
      object["executed"] = nullptr;
      if (executed) {
        object["executed"] = {{"tensors", executed->tensors},

                              {"not_compared", executed->other},
                              {"difference", executed->difference},
                              {"tensor", executed->tensor}};
      }
      context.console.PrintJson(object);
    } else {
      const std::string links = DescribePlanLinks(inputs.plan.links.size());
      if (!links.empty()) context.console.Note(links);
      NoteNotProven(checked, context);
      context.console.Print(fmt::format("{}: holds. {} and {} verified, {} a step, {}\n",
                                        Printable(plan_), CountOf(static_cast<int64_t>(ops), "op"),
                                        CountOf(static_cast<int64_t>(transfers), "transfer"),
                                        FormatNanos(inputs.plan.step_time),
                                        inputs.plan.feasible ? "fits" : "does not fit"));
      if (executed) context.console.Print(Describe(*executed));
    }
    return 0;
  }

 private:
  // At its peak, for each op that a device runs: the step's graph, its layouts' parts, its schedule.
  static constexpr int64_t kBytesOfOp = 3000;

  // A check of millions of ops takes minutes: what it cannot be done with is said before.
  Status CheckFitsIntoMemory() const {
    const int64_t ops = OpsOfAllDevices(plan_);
    const Bytes needed(SaturatingMultiply(ops, kBytesOfOp));
    const std::optional<Bytes> left = AvailableMemory();
    if (!left || needed <= *left) return Ok();
    Error error =
        MakeError(ErrorCode::kOutOfMemory,
                  fmt::format("to check its {} takes about {} of memory, and {} are left",
                              CountOf(ops, "op"), FormatBytes(needed), FormatBytes(*left)),
                  "devices",
                  "Free memory, raise the limit (ulimit -v), or check it on a machine with more: "
                  "every op of every device is looked at.");
    error.file = plan_;
    return error;
  }

  // `files`: of all devices; none: a plan in lanes, whose step is compiled and stays in memory.
  Result<check::CheckedPlan> Check(const check::CheckApi& checker,
                                   const std::optional<WholePlan>& files, Context& context) const {
    const auto progress = [&context](std::string_view what) {
      context.console.Progress(context.started, what);
    };
    try {
      if (files) return checker.load_and_check(files->path(), options_, progress).InFile(plan_);
      progress("compiling the step of all devices");
      PW_ASSIGN(StepOfAllDevices whole, CompileWhole(plan_, options_));
      return checker
          .check_in_memory(std::move(whole.inputs), std::move(whole.step), plan_, options_,
                           progress)
          .InFile(plan_);
    } catch (const std::bad_alloc&) {
      Error error = OutOfMemory("devices");
      error.file = plan_;
      return error;
    }
  }

  static Result<OnDemandLibrary> OpenChecker() {
    PW_ASSIGN(OnDemandLibrary library,
              OnDemandLibrary::Open(check::kCheckLibrary,
                                    OnDemandLibrary::SearchPlaces(check::kCheckLibrary),
                                    "Build or install it with the program; without it the program "
                                    "check_plan verifies a plan, too."));
    const auto entry =
        reinterpret_cast<decltype(&placewright_check_api)>(library.Find(check::kCheckEntry));
    if (entry == nullptr || entry()->version != check::CheckApi::kVersion) {
      return library.Missing("is of another version of the program");
    }
    return library;
  }

  static std::string Describe(const ExecutedCheck& executed) {
    std::string text = fmt::format(
        "executed: {} of parameters, state and buffers as on one device (float64), the largest "
        "difference "
        "{:.1e} of a tensor's magnitude",
        CountOf(executed.tensors, "piece"), executed.difference);
    if (!executed.tensor.empty()) text += fmt::format(" ({})", Printable(executed.tensor, 80));
    if (!executed.other.empty()) {
      text += fmt::format("; {} of other types not compared",
                          CountOf(static_cast<int64_t>(executed.other.size()), "tensor"));
    }
    return text + "\n";
  }

  Error Differs(const ExecutedCheck& executed) const {
    Error error = MakeError(
        ErrorCode::kPlanInvalid,
        fmt::format(
            "executed, the step leaves another \"{}\" than on one device: the difference is "
            "{:.1e} of its magnitude",
            Printable(executed.tensor, 80), executed.difference),
        "executed");
    error.file = plan_;
    return error;
  }

  // The first of them: a step whose batch norms have statistics of each part has one for each.
  static void NoteNotProven(const check::CheckedPlan& checked, Context& context) {
    if (checked.not_proven.empty()) return;
    const auto others = static_cast<int64_t>(checked.not_proven.size()) - 1;
    context.console.Note(fmt::format(
        "not proven: {}{}", checked.not_proven.front().message,
        others > 0 ? fmt::format(", and {} (--json lists them)", CountOf(others, "other")) : ""));
  }

  std::string plan_;
  bool run_ = false;
  PlanInputOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeCheckCommand() { return std::make_unique<CheckCommand>(); }

}  // namespace placewright
