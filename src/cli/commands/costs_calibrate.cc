#include "cli/commands/costs_calibrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "cli/request/calibration.h"
#include "cli/request/inputs.h"
#include "cli/terminal/options.h"
#include "cli/terminal/output_path.h"
#include "cli/terminal/step_time.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

class CostsCalibrateCommand : public Command {
 public:
  CommandLine Register(CommandLine costs) override {
    CommandLine app =
        costs.AddCommand("calibrate", "Make modelled times agree with one measured step of a plan");
    app.AddOption("PLAN", plan_, "The plan that ran, made without --costs").Required();
    app.AddOption("--step", step_, "What one step took").TypeName("TIME").Required().Group("Input");
    app.AddOption(
           "--compute", compute_,
           "Of it, what the device that computes longest needs for its ops (default: the step "
           "without communications as modelled)")
        .TypeName("TIME")
        .Group("Input");
    AddRepeated(app, "--type", types_, "GLOB",
                "Types of ops whose times are off (default: all); may be repeated", "Input");
    AddPlanInputOptions(app, &options_);
    app.AddOption("-o,--output", output_, "Where the factor goes: a file for --costs")
        .TypeName("FILE")
        .Required()
        .Group("Output");
    app.Footer(
        "Finds the factor of the times of ops with which the plan takes as long as measured.\n"
        "Examples:\n"
        "  placewright costs calibrate bert.plan.json --step 620ms -o calibrated.yaml\n"
        "  placewright costs calibrate bert.plan.json --step 620ms --compute 540ms -o "
        "calibrated.yaml");
    return app;
  }

  Result<int> Run(Context& context) override {
    PW_RETURN_IF_ERROR(RejectOverwriting({{"-o", output_}}, FilesOfPlan(plan_, options_)));
    PW_RETURN_IF_ERROR(ProbeWritable(output_));
    MeasuredStep measured;
    PW_ASSIGN(measured.step, ParseStepTime("--step", step_));
    if (compute_) {
      PW_ASSIGN(measured.compute, ParseStepTime("--compute", *compute_));
    }
    measured.types = types_;
    PW_ASSIGN(const bool is_plan, IsPlan(plan_));
    if (!is_plan) {
      return MakeError(ErrorCode::kUsage, Printable(plan_, 4096) + " is no plan", "",
                       "Make one with `placewright plan`, and measure a step by it.");
    }
    PW_ASSIGN(const Calibration made, Calibrate(plan_, options_, measured));
    PW_RETURN_IF_ERROR(WriteFileAtomically(output_, TextOf(made)));
    if (context.console.json) {
      context.console.PrintJson(JsonOf(made, measured));
    } else {
      context.console.Print(Said(made, measured));
    }
    return 0;
  }

 private:
  std::vector<std::string> Types() const {
    return types_.empty() ? std::vector<std::string>{"*"} : types_;
  }

  std::string TextOf(const Calibration& made) const {
    std::string text = "schema: placewright.cost-overrides/1\noverrides:\n";
    for (const std::string& type : Types()) {
      for (const std::string& kind : made.kinds) {
        text += fmt::format("  - {{type: {}, kind: {}, scale: {:.5g}}}\n", Json(type).dump(),
                            Json(kind).dump(), made.factor);
      }
    }
    return text;
  }

  static Nanos Waiting(Nanos step, Nanos compute) { return std::max(step - compute, Nanos()); }

  Json JsonOf(const Calibration& made, const MeasuredStep& measured) const {
    Json object;
    object["schema"] = "placewright.costs-calibrate/1";
    object["plan_file"] = plan_;
    object["file"] = output_;
    object["factor"] = made.factor;
    object["types"] = Types();
    object["kinds"] = made.kinds;
    object["busiest"] = made.busiest;
    object["measured_step_ns"] = measured.step.count;
    object["measured_compute_ns"] = measured.compute ? Json(measured.compute->count) : Json();
    object["modelled_step_ns"] = made.modelled_step.count;
    object["modelled_compute_ns"] = made.modelled_compute.count;
    object["step_ns"] = made.step.count;
    object["compute_ns"] = made.compute.count;
    return object;
  }

  std::string Said(const Calibration& made, const MeasuredStep& measured) const {
    std::string text = fmt::format(
        "{} on {} take {:.5g} times as long as modelled\n"
        "            modelled  calibrated  measured\n"
        "  step      {:<9} {:<11} {}\n"
        "  computes  {:<9} {:<11} {:<9} {}\n"
        "  waits     {:<9} {:<11} {}\n",
        types_.empty() ? "Ops" : fmt::format("Ops {}", fmt::join(types_, ", ")),
        fmt::join(made.kinds, ", "), made.factor, FormatNanos(made.modelled_step),
        FormatNanos(made.step), FormatNanos(measured.step), FormatNanos(made.modelled_compute),
        FormatNanos(made.compute), measured.compute ? FormatNanos(*measured.compute) : "-",
        made.busiest, FormatNanos(Waiting(made.modelled_step, made.modelled_compute)),
        FormatNanos(Waiting(made.step, made.compute)),
        measured.compute ? FormatNanos(Waiting(measured.step, *measured.compute)) : "-");
    if (!measured.compute) {
      text += "Communications are taken as modelled; --compute says what they are of the step.\n";
    } else if (made.step != measured.step) {
      text += fmt::format(
          "What is left, {} of {}, lies in communications, which no factor touches: "
          "`profile --nccl-tests`, or the network's efficiency.\n",
          FormatNanos(made.step > measured.step ? made.step - measured.step
                                                : measured.step - made.step),
          FormatNanos(measured.step));
    }
    return text + fmt::format("{} written: --costs takes it\n", Printable(output_, 4096));
  }

  std::string plan_, step_, output_;
  std::optional<std::string> compute_;
  std::vector<std::string> types_;
  PlanInputOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeCostsCalibrateCommand() {
  return std::make_unique<CostsCalibrateCommand>();
}

}  // namespace placewright
