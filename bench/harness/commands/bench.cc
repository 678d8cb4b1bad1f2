#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/text.h"
#include "bench/harness/commands/harness.h"
#include "bench/harness/runs/simulator_speed.h"
#include "cli/terminal/options.h"

namespace placewright {
namespace {

class HarnessCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand(
        "bench", "Measure Placewright itself: its speed, and published tables made anew");
    app.RequireCommand();
    CommandLine simulator =
        app.AddCommand("simulator", "Simulated ops per second on a made-up step, on one core");
    simulator.AddOption("--placement", placement_, "contiguous or random (default contiguous)")
        .TypeName("NAME");
    simulator.AddOption("--repeat", options_.repeat, "Simulations to time (default 31)")
        .TypeName("N")
        .Check(IntegerWithin(1, 1'000'000));
    simulator.AddOption("--ops", options_.step.ops, "Ops of the step (default 80000)")
        .TypeName("N")
        .Check(IntegerWithin(1, 4'000'000));
    simulator
        .AddOption("--devices", options_.step.devices, "Devices, all joined pairwise (default 8)")
        .TypeName("N")
        .Check(IntegerWithin(1, 128));
    simulator.AddOption("--order", order_, "program, fifo or critical-path (default fifo)")
        .TypeName("ORDER");
    simulator.Footer(
        "Times are those of whole simulations, memory included, without a schedule. The fastest\n"
        "repeat counts; docs/json.md says what else is printed.\n"
        "Examples:\n"
        "  placewright bench simulator --placement random\n"
        "  placewright bench simulator --placement contiguous --repeat 101 --json");
    seeds_ = MakeBenchSeedsCommand();
    seeds_app_ = seeds_->Register(app);
    traversal_ = MakeBenchTraversalCommand();
    traversal_app_ = traversal_->Register(app);
    app.Footer(
        "Examples:\n"
        "  placewright bench simulator --placement contiguous --repeat 101\n"
        "  placewright bench seeds --table mars2 --no-runs\n"
        "  placewright bench traversal --no-runs");
    return app;
  }

  Result<int> Run(Context& context) override {
    if (seeds_app_.Parsed()) return seeds_->Run(context);
    if (traversal_app_.Parsed()) return traversal_->Run(context);
    PW_ASSIGN(options_.policy, ParseSchedulingPolicy(order_));
    if (placement_ != "contiguous" && placement_ != "random") {
      return MakeError(ErrorCode::kUsage,
                       "no placement \"" + Printable(placement_) + "\"" +
                           DidYouMean(placement_, {"contiguous", "random"}),
                       "", "--placement takes contiguous or random.");
    }
    options_.random = placement_ == "random";
    const SimulatorSpeed speed = MeasureSimulator(options_);
    if (context.console.json) {
      PrintJson(speed, context.console);
    } else {
      PrintText(speed, context.console);
    }
    return 0;
  }

 private:
  double Rate(double seconds) const { return options_.step.ops / seconds; }

  void PrintJson(const SimulatorSpeed& speed, Console& console) const {
    Json object;
    object["schema"] = "placewright.bench-simulator/1";
    object["placement"] = placement_;
    object["order"] = ToString(options_.policy);
    object["ops"] = options_.step.ops;
    object["inputs"] = speed.inputs;
    object["devices"] = options_.step.devices;
    object["repeat"] = options_.repeat;
    object["step_time_ns"] = speed.step_time.count;
    object[placement_ + "_ops_per_second"] = Rate(speed.best_seconds);
    object["median_ops_per_second"] = Rate(speed.median_seconds);
    object["plain_pass_ops_per_second"] = Rate(speed.best_pass_seconds);
    object["plain_pass_ratio"] = speed.best_seconds / speed.best_pass_seconds;
    const auto or_null = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
    object["incremental_median_ratio"] = or_null(speed.incremental_median);
    object["incremental_last_tenth_ratio"] = or_null(speed.incremental_last_tenth);
    console.PrintJson(object);
  }

  void PrintText(const SimulatorSpeed& speed, Console& console) const {
    const auto millions = [this](double seconds) {
      return fmt::format("{:.1f} M", Rate(seconds) / 1e6);
    };
    const auto part = [](std::optional<double> value) {
      return value ? fmt::format("{:.3f}", *value) : std::string("-");
    };
    Table table({{"what"}, {"", Table::Align::kRight}});
    table.AddRow({"simulated ops per second", millions(speed.best_seconds)});
    table.AddRow({"  in the median repeat", millions(speed.median_seconds)});
    table.AddRow({"time of one, in plain passes over its arrays",
                  fmt::format("{:.1f}", speed.best_seconds / speed.best_pass_seconds)});
    table.AddRow({"one op moved, part of a full simulation", part(speed.incremental_median)});
    table.AddRow({"  where it starts in the last tenth", part(speed.incremental_last_tenth)});
    console.Print(fmt::format("{} ops, {}, {} placement, {}\n", FormatCount(options_.step.ops),
                              CountOf(options_.step.devices, "device"), placement_,
                              ToString(options_.policy)) +
                  table.Render(console.style()));
  }

  SimulatorSpeedOptions options_;
  std::unique_ptr<Command> seeds_, traversal_;
  CommandLine seeds_app_, traversal_app_;
  std::string placement_ = "contiguous", order_ = "fifo";
};

}  // namespace

std::unique_ptr<Command> MakeHarnessCommand() { return std::make_unique<HarnessCommand>(); }

}  // namespace placewright
