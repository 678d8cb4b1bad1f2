#include "planning/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/cluster_description.h"
#include "cli/request/inputs.h"
#include "cli/request/steps_by_batch.h"
#include "cli/request/tried_strategy_json.h"
#include "cli/terminal/interrupt.h"
#include "formats/plan/plan_files.h"
#include "report/step_rates.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

constexpr const char* kWhatIfExamples =
    "Each change is planned anew by the named strategies, as a changed cluster file would be; "
    "gains\n"
    "are of samples a second. Ctrl-C prints what there is.\n"
    "Examples:\n"
    "  placewright what-if bert.json.gz -c 2x3090\n"
    "  placewright what-if bert.json.gz -c 2xV100 --plan bert.plan.json --json";

class WhatIfCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand(
        "what-if",
        "What other machines, another batch or recomputation would gain, and what binds");
    AddModelledStepOptions(app, &input_);
    app.AddOption("-c,--cluster", input_.cluster, "Preset (cluster show lists them) or file")
        .Required()
        .TypeName("CLUSTER")
        .Group("Input");
    app.AddOption(
           "--plan", plan_,
           "Plan of this graph and cluster that gains compare with (default: the best strategy)")
        .TypeName("FILE")
        .Group("Search");
    app.Footer(kWhatIfExamples);
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    input_.interrupted = &interrupted;
    input_.say = [&context](std::string_view text) { context.console.Note(text); };
    input_.no_store = true;  // machines that are not here have no measured times
    PW_ASSIGN(const auto reserve, ReadMemoryReserve(input_.memory_reserve));
    PW_ASSIGN(const LoadedCluster loaded, LoadCluster(input_.cluster, {.reserve = reserve}));
    PW_ASSIGN(ClusterBuilder described, DescribeFileOrPreset(input_.cluster));
    if (described.HasGivenRoutes()) {
      Error error = MakeError(ErrorCode::kUsage, "the description gives its routes one by one", "",
                              "Give the description that it was resolved from, or a preset.");
      error.file = input_.cluster;
      return error;
    }
    WhatIfRequest request{.cluster = std::move(described), .reserve = reserve};
    PW_ASSIGN(request.trials.costs, CostOptionsOf(input_, loaded.cluster));
    request.trials.stop = StopToken(&interrupted);
    PW_RETURN_IF_ERROR(TakePlan(loaded, request));
    PW_ASSIGN(const std::string batch_note, ResolveBatch(&input_));
    if (!batch_note.empty()) context.console.Note(batch_note);
    PW_ASSIGN(StrategyTrier* const first, steps_.At(input_.batch));
    PW_RETURN_IF_ERROR(CheckMayBeSplit(first->step(), input_.graph));
    PW_RETURN_IF_ERROR(CheckPlanOf(loaded, request));
    request.batch = first->step().samples();
    request.step = [this, first, &request](int64_t batch) -> Result<StrategyTrier*> {
      if (batch == request.batch) return first;
      return steps_.At(batch);
    };
    if (context.console.ShowsProgress()) {
      request.asking = [&context](const std::string& change) {
        context.console.Progress(context.started, change);
      };
    }
    work_ = WorkOfStep(first->step());
    PW_ASSIGN(const WhatIfAnswers answers, AskWhatIf(request));
    context.console.Progress("");
    return Print(first->step(), loaded.cluster, answers, context.console);
  }

 private:
  // The plan as what gains compare with.
  Status TakePlan(const LoadedCluster&, WhatIfRequest& request) {
    if (plan_.empty()) return Ok();
    if (!input_.batch_text.empty()) {
      return MakeError(ErrorCode::kUsage, "--batch cannot be used with --plan, which has its batch",
                       "", "Leave --batch out.");
    }
    PW_ASSIGN(compared_, LoadPlan(plan_));
    const Plan& plan = *compared_;
    if (plan.batch_option > 0) input_.batch = plan.batch_option;
    WhatIfAnswer answer;
    answer.name = "the plan";
    answer.batch = plan.samples;
    StrategyResult result;
    result.strategy.algorithm = plan.algorithm;
    result.strategy.rewriting = RewritingFor(plan.distribution.transforms.value_or(Transforms()));
    result.evaluated = true;
    result.fits = plan.feasible;
    result.step_time = plan.step_time;
    // As trials have it: memory and capacity of the device that is fullest by its share.
    double fullest = -1;
    for (const DeviceUse& use : plan.devices) {
      const double share = ShareOf(use.peak_memory.count, use.capacity.count);
      if (share <= fullest) continue;
      fullest = share;
      result.memory = use.peak_memory;
      result.capacity = use.capacity;
    }
    answer.samples_per_second =
        static_cast<double>(std::max<int64_t>(1, plan.samples)) / Seconds(plan.step_time);
    answer.best = std::move(result);
    request.plan = std::move(answer);
    return Ok();
  }

  Status CheckPlanOf(const LoadedCluster& cluster, const WhatIfRequest& request) const {
    if (!request.plan) return Ok();
    const bool graph = compared_->graph.sha256 == steps_.sha256();
    if (graph && compared_->cluster.sha256 == cluster.sha256) return Ok();
    Error error = MakeError(
        ErrorCode::kPlanMismatch,
        fmt::format("the plan was made for another {} ({})", graph ? "cluster" : "graph",
                    Printable(graph ? compared_->cluster_name : compared_->graph_name, 80)),
        "", "Give the graph and the cluster that it names.");
    error.file = plan_;
    return error;
  }

  double Tokens(const WhatIfAnswer& answer) const {
    return answer.samples_per_second * static_cast<double>(work_.sequence);
  }
  std::string RateOf(const WhatIfAnswer& answer) const {
    if (work_.sequence > 0) {
      return FormatCount(static_cast<int64_t>(Tokens(answer) + 0.5));
    }
    return fmt::format("{:.4g}", answer.samples_per_second);
  }

  int Print(const Graph& step, const Cluster& cluster, const WhatIfAnswers& answers,
            Console& console) const {
    std::optional<Error> error;
    if (answers.interrupted) {
      error =
          MakeError(ErrorCode::kInterrupted,
                    "interrupted: the table has what was planned until then", "", "Run it again.");
    }
    if (console.json) {
      PrintJson(step, cluster, answers, error, console);
    } else {
      PrintText(step, cluster, answers, console);
      if (error) console.PrintError(*error);
    }
    return error ? InfoOf(error->code).exit_status : 0;
  }

  static std::string Constraint(const WhatIfAnswers& answers) {
    if (!answers.binds) return "";
    std::string text = fmt::format("{} binds", ToString(*answers.binds));
    if (!answers.detail) return text + "\n";
    const StepSplit& split = answers.detail->split;
    text += fmt::format(": devices compute {} of the step, communicate {} (not hidden), wait {}",
                        FormatShare(split.compute), FormatShare(split.communication),
                        FormatShare(split.idle));
    if (!answers.detail->link.empty()) {
      text += fmt::format("; the busiest link is {} ({})", answers.detail->link,
                          FormatShare(answers.detail->link_busy));
    }
    return text + "\n";
  }

  void PrintText(const Graph& step, const Cluster& cluster, const WhatIfAnswers& answers,
                 Console& console) const {
    const Style& style = console.style();
    console.Print(fmt::format("{} on {}, batch {}\n", Paint(step.name(), Tone::kStrong, style),
                              Paint(cluster.name(), Tone::kStrong, style), step.samples()));
    console.Print(Wrap(Constraint(answers), style) + "\n");
    const auto right = Table::Align::kRight;
    Table table({{"change"},
                 {"gain", right},
                 {work_.sequence > 0 ? "tokens/s" : "samples/s", right},
                 {"step time", right},
                 {"memory", right},
                 {"of", right},
                 {"strategy"}});
    const auto add = [&](const WhatIfAnswer& answer, const std::string& gain, Tone tone) {
      if (!answer.best) {
        table.AddRow({answer.name, "", "", "", "", "", {answer.why_not, Tone::kBad}});
        return;
      }
      table.AddRow({answer.name,
                    {gain, tone},
                    RateOf(answer),
                    FormatNanos(answer.best->step_time),
                    FormatBytes(answer.best->memory),
                    FormatBytes(answer.best->capacity),
                    Describe(answer.best->strategy)});
    };
    // Gains are over the plan, where one is given, else over the best strategy of the machines as they are.
    add(answers.base, "", Tone::kPlain);
    for (const WhatIfAnswer& answer : answers.changes) {
      const double gain = answer.gain.value_or(0);
      add(answer, answer.gain ? fmt::format("{:+.1f}%", 100 * gain) : "",
          gain > 0.005    ? Tone::kGood
          : gain < -0.005 ? Tone::kFaint
                          : Tone::kPlain);
    }
    console.Print(table.Render(style));
  }

  Json AnswerToJson(const WhatIfAnswer& answer) const {
    Json line = {
        {"change", answer.name},         {"batch", answer.batch},        {"gain", nullptr},
        {"samples_per_second", nullptr}, {"tokens_per_second", nullptr}, {"strategy", nullptr},
        {"why_not", answer.why_not}};
    if (!answer.best) return line;
    line["strategy"] = StrategyToJson(*answer.best);
    line["samples_per_second"] = answer.samples_per_second;
    if (work_.sequence > 0) line["tokens_per_second"] = Tokens(answer);
    if (answer.gain) line["gain"] = *answer.gain;
    return line;
  }

  void PrintJson(const Graph& step, const Cluster& cluster, const WhatIfAnswers& answers,
                 const std::optional<Error>& error, Console& console) const {
    Json object;
    object["schema"] = "placewright.what-if/1";
    object["graph"] = step.name();
    object["cluster"] = cluster.name();
    object["base"] = AnswerToJson(answers.base);
    object["binds"] = nullptr;
    if (answers.binds) object["binds"] = std::string(ToString(*answers.binds));
    object["split"] = object["busiest_link"] = nullptr;
    if (answers.detail) {
      const StepSplit& split = answers.detail->split;
      object["split"] = {{"compute", split.compute},
                         {"communication", split.communication},
                         {"waiting", split.idle}};
      if (!answers.detail->link.empty()) {
        object["busiest_link"] = {{"name", answers.detail->link},
                                  {"busy", answers.detail->link_busy}};
      }
    }
    object["changes"] = Json::array();
    for (const WhatIfAnswer& answer : answers.changes) {
      object["changes"].push_back(AnswerToJson(answer));
    }
    object["interrupted"] = answers.interrupted;
    if (error) object["error"] = ErrorToJson(*error, "what-if")["error"];
    console.PrintJson(object);
  }

  InputOptions input_;
  std::string plan_;
  std::optional<Plan> compared_;
  StepWork work_;
  StepsByBatch steps_{input_};
};

}  // namespace

std::unique_ptr<Command> MakeWhatIfCommand() { return std::make_unique<WhatIfCommand>(); }

}  // namespace placewright
