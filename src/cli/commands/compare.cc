#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "cli/commands/command.h"
#include "cli/request/assumptions.h"
#include "cli/request/given.h"
#include "cli/request/planning.h"
#include "cli/request/result_json.h"
#include "cli/request/schedules.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/output_path.h"
#include "formats/plan/layouts_json.h"
#include "formats/plan/plan_files.h"
#include "formats/plan/strategies_json.h"
#include "planning/algorithms.h"
#include "planning/plan_words.h"
#include "report/plan_report.h"
#include "sim/communication_use.h"

namespace placewright {
namespace {

constexpr const char* kCompareExamples =
    "With a graph every algorithm but the learned ones makes its plan; those that search do so\n"
    "for --time each. Below are strategies, which may rewrite the step (micro-batches, "
    "recomputation,\n"
    "pipelines): the fastest, and why others are none.\n"
    "Ctrl-C ends it with what is there: the algorithms that are done, and the best of the one "
    "that\n"
    "runs; the exit status is then 130.\n"
    "With plans nothing is searched: the files are set side by side.\n"
    "Examples:\n"
    "  placewright compare bert.json.gz -c 4xP100\n"
    "  placewright compare bert.json.gz -c 4xP100 --iterations 10000 --json\n"
    "  placewright compare first.plan.json second.plan.json\n"
    "  placewright compare first.plan.json second.plan.json --svg both.svg";

// One line of the table, whichever way it came about.
struct Entry {
  Entry(std::string named, Plan made) : name(std::move(named)), plan(std::move(made)) {
    plan.placement.clear();
    for (const DeviceUse& use : plan.devices) {
      if (use.ops > 0) devices.push_back(use.name);
      if (use.peak_memory > use.capacity) over += use.peak_memory - use.capacity;
    }
  }

  std::string name;  // of the algorithm or the file
  Plan plan;
  Bytes over;
  std::vector<std::string> notes;    // of the planner
  std::vector<std::string> devices;  // that run an op
  bool search = false;               // an algorithm that improves on the others' plans
  bool interrupted = false;          // its search was cut short
  // Of an algorithm's plan that splits or copies ops.
  std::optional<CommunicationTime> communication;
};

struct Comparison {
  std::string graph, cluster;
  bool algorithms = false;  // else plan files
  bool mixed = false;       // plan files of several graphs or clusters: each entry names its own
  std::vector<Entry> entries;
  std::vector<DeviceUse> devices;    // of algorithms: those of the cluster
  std::vector<std::string> notes;    // on the graph and its costs
  std::vector<std::string> not_run;  // algorithms, as it was interrupted or they cannot plan this
  std::vector<std::pair<std::string, std::string>> refusals;  // which cannot, and why
  std::vector<StrategyResult> strategies;                     // of the step, rewritten or not
  bool interrupted = false;
  std::optional<std::vector<std::string>> unknown_types;  // none: the graph was not read

  // The best entry with the others as its baselines, where some algorithm fits.
  std::optional<Plan> Best() const {
    std::optional<Plan> best;
    for (const Entry& e : entries) {
      const Plan& plan = e.plan;
      if (!algorithms || !plan.feasible || (best && best->step_time <= plan.step_time)) continue;
      best.emplace();
      best->algorithm = plan.algorithm;
      best->step_time = plan.step_time;
    }
    if (!best) return best;
    best->devices = devices;
    for (const Entry& e : entries) {
      best->baselines.push_back({e.name, e.plan.feasible, e.plan.step_time, e.devices, e.search});
    }
    // Strategies that `auto` simulated have no entries of their own.
    for (const Entry& e : entries) {
      for (const Baseline& one : e.plan.baselines) {
        if (!HasEntry(one.algorithm)) best->baselines.push_back(one);
      }
    }
    return best;
  }

  bool HasEntry(const std::string& name) const {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const Entry& entry) { return entry.name == name; });
  }

  // The table of strategies says what it comes to, or why it is none.
  bool HasStrategy(const std::string& algorithm) const {
    return std::any_of(strategies.begin(), strategies.end(), [&](const StrategyResult& one) {
      return one.strategy.algorithm == algorithm;
    });
  }

  // Why algorithms made no plan of the step as it is, those of one reason in one line.
  std::vector<std::string> Refusals() const {
    std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
    for (const auto& [algorithm, why] : refusals) {
      if (HasStrategy(algorithm)) continue;
      const std::string start = algorithm + " ";
      const std::string reason = why.starts_with(start) ? why.substr(start.size()) : why;
      const auto same = std::find_if(by_reason.begin(), by_reason.end(),
                                     [&](const auto& one) { return one.first == reason; });
      if (same == by_reason.end()) {
        by_reason.push_back({reason, {algorithm}});
      } else {
        same->second.push_back(algorithm);
      }
    }
    std::vector<std::string> lines;
    for (const auto& [reason, names] : by_reason) {
      lines.push_back(fmt::format("{}: {}", fmt::join(names, ", "), reason));
    }
    return lines;
  }
};

class CompareCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand("compare", "All algorithms on one graph, or plans");
    app.AddOption("FILE", files_, "One graph, or plans").Required();
    AddInputOptions(app, &input_);
    AddSearchOptions(app, &search_);
    AddSpaceOptions(app, &space_, true);
    app_ = app;
    app.AddOption("--svg", svg_, "With plans: draw their schedules one under the other")
        .TypeName("FILE")
        .Group("Output");
    app.AddOption("--executed", executed_,
                  "Draw also what run --schedule wrote of the first plan, below it")
        .TypeName("FILE")
        .Group("Output");
    app.Footer(kCompareExamples);
    return app;
  }

  Result<int> Run(Context& context) override {
    PW_ASSIGN(const bool plans, IsPlan(files_.front()));
    if (plans) return ComparePlans(context.console);
    if (files_.size() > 1) {
      return MakeError(ErrorCode::kUsage,
                       files_.front() + " is a graph, and one is compared at a time", "",
                       "Give one graph, or plans only.");
    }
    if (!svg_.empty() || !executed_.empty()) {
      return MakeError(ErrorCode::kUsage, "--svg and --executed are for plans", "",
                       "Make plans with `placewright plan`, and compare these.");
    }
    input_.graph = files_.front();
    PW_ASSIGN(const std::string batch_note, ResolveBatch(&input_));
    if (!batch_note.empty()) context.console.Note(batch_note);
    return CompareAlgorithms(context);
  }

 private:
  Result<int> ComparePlans(Console& console) const {
    if (!input_.cluster.empty()) {
      return MakeError(ErrorCode::kUsage, "-c cannot be used with plans, which have their clusters",
                       "", "Leave -c out.");
    }
    PW_RETURN_IF_ERROR(RejectOptionsOfPlan(input_));
    if (svg_.empty() && !executed_.empty()) {
      return MakeError(ErrorCode::kUsage, "--executed is drawn, and no --svg names a file", "",
                       "Give --svg FILE, too.");
    }
    // The picture replaces none of the files that the plans themselves are made of.
    if (!svg_.empty()) {
      std::vector<NamedFile> read = {{"--executed", executed_}};
      for (const std::string& file : files_) {
        for (NamedFile& one : WithNamedFiles("a plan", file)) read.push_back(std::move(one));
      }
      PW_RETURN_IF_ERROR(RejectOverwriting({{"--svg", svg_}}, read));
      PW_RETURN_IF_ERROR(ProbeWritable(svg_));
      PW_RETURN_IF_ERROR(DrawSchedules({files_, executed_, svg_}));
    }
    Comparison comparison;
    std::optional<Plan> first;
    for (const std::string& file : files_) {
      PW_ASSIGN(Plan plan, LoadPlan(file));
      comparison.entries.emplace_back(file, plan);
      // Times compare with the first plan's where graph, sizes, cluster and links are its own.
      if (!first) first = plan;
      const std::string differs = Difference(*first, plan);
      if (differs.empty()) continue;
      comparison.mixed = true;
      console.Note(fmt::format("{} was made for another {} ({} on {}) than {}", file, differs,
                               plan.graph_name, plan.cluster_name, files_.front()));
    }
    comparison.graph = first->graph_name;
    comparison.cluster = first->cluster_name;
    Print(comparison, console);
    return 0;
  }

  // What the plan was made for another of; "" where their times compare.
  static std::string Difference(const Plan& first, const Plan& plan) {
    // Rewritten or not, it is the same step.
    const bool sizes =
        plan.batch_option != first.batch_option || plan.dimensions != first.dimensions;
    std::string text;
    const auto add = [&](bool differs, const char* what) {
      if (differs) text += (text.empty() ? "" : " and another ") + std::string(what);
    };
    add(plan.graph.sha256 != first.graph.sha256, "graph");
    add(plan.graph.sha256 == first.graph.sha256 && sizes, "size");
    add(plan.cluster.sha256 != first.cluster.sha256, "cluster");
    add(plan.cluster.sha256 == first.cluster.sha256 && plan.links != first.links,
        "measurement of its links");
    return text;
  }

  Result<int> CompareAlgorithms(Context& context) {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    input_.interrupted = &interrupted;
    input_.say = [&context](std::string_view text) { context.console.Note(text); };
    PW_RETURN_IF_ERROR(MakeBudget(search_, context.started));  // a bad --time before a long read
    PW_ASSIGN(const PlanSpace space, ParseSpace(space_));
    using Splitting = SpaceOptions::Splitting;
    if (space == PlanSpace::kReplicated || !space_.layouts.empty()) {
      space_.splitting = Splitting::kYes;
    } else if (!app_.Given("--space")) {
      space_.splitting = Splitting::kWhereProven;  // as `plan` does
    }
    std::optional<DistributionSpec> stated;
    if (!space_.layouts.empty()) {
      PW_ASSIGN(stated, ReadDistributionSpec(space_.layouts));
    }
    PW_ASSIGN(const std::unique_ptr<Planning> planning, Prepare(input_, search_, space_));
    const bool distributes = planning->layouts() != nullptr;
    if (stated) {  // what is wrong with them, before what takes long
      PW_RETURN_IF_ERROR(ResolvePlan(*planning->layouts(), *stated).InFile(space_.layouts));
    }
    if (space_.splitting == Splitting::kWhereProven && distributes) {
      context.console.Note(kMayBeSplit);
    }
    Comparison comparison;
    std::vector<const Planner*> planners;
    for (const Planner* planner : algorithms_.all()) {
      if (distributes || planner->space() == PlanSpace::kPlaced) planners.push_back(planner);
    }
    std::vector<std::optional<Entry>> entries(planners.size());  // in the table's order
    // Those that do not search first: whenever Ctrl-C comes, there is as much to show as possible.
    for (const bool searches : {false, true}) {
      for (size_t i = 0; i < planners.size() && !interrupted; ++i) {
        if (planners[i]->iterative() != searches) continue;
        Result<Entry> entry =
            RunPlanner(*planners[i], *planning, interrupted, context, &comparison.devices);
        // What cannot be split leaves the placed plans as they are.
        const bool refused = !entry.ok() && planners[i]->space() != PlanSpace::kPlaced &&
                             entry.error().code != ErrorCode::kCancelled;
        if (refused) {
          const Error& error = entry.error();
          const std::string remedy = error.remedy.empty() ? "" : " (" + error.remedy + ")";
          comparison.refusals.emplace_back(planners[i]->name(), error.message + remedy);
          continue;
        }
        // Ended before it had any plan: what the others found stands.
        if (!entry.ok() && entry.error().code == ErrorCode::kCancelled && interrupted) break;
        PW_ASSIGN(entries[i], std::move(entry));
      }
      if (searches || interrupted) continue;
      PW_ASSIGN(comparison.strategies, Strategies(*planning, interrupted, context));
    }
    // The row by hand comes first in the table, and is made last: planners are what Ctrl-C may cut short.
    if (stated && !interrupted) {
      PW_ASSIGN(PlannerResult given,
                planning->session->TakeLayouts(*std::move(stated)).InFile(space_.layouts));
      PW_ASSIGN(Entry entry, EntryOf("layouts", *planning, given, space_.layouts));
      comparison.devices = entry.plan.devices;
      comparison.entries.push_back(std::move(entry));
    }
    for (size_t i = 0; i < planners.size(); ++i) {
      if (entries[i]) {
        comparison.entries.push_back(*std::move(entries[i]));
      } else {
        comparison.not_run.emplace_back(planners[i]->name());
      }
    }
    context.console.Progress("");
    const Graph& graph = planning->inputs.graph.graph;
    comparison.graph = graph.name();
    comparison.cluster = planning->inputs.cluster.cluster.name();
    comparison.algorithms = true;
    comparison.unknown_types = UnknownTypes(graph);
    comparison.notes = DescribeAssumptions(planning->inputs);
    for (std::string& line : comparison.Refusals()) comparison.notes.push_back(std::move(line));
    comparison.interrupted = interrupted;
    Print(comparison, context.console);
    if (!comparison.interrupted) return 0;
    const Error error = Interrupted(comparison);
    if (!context.console.json) context.console.PrintError(error);
    return InfoOf(error.code).exit_status;
  }

  // What `plan` makes: strategies come first, of which the best may rewrite the step.
  bool ChoosesStrategies(const Planner& planner) const {
    return planner.name() == "auto" && space_.layouts.empty() &&
           input_.rewriting.micro_batches == 0 && input_.rewriting.recompute.empty();
  }

  Result<Entry> RunPlanner(const Planner& planner, const Planning& recorded,
                           const std::atomic<bool>& interrupted, Context& context,
                           std::vector<DeviceUse>* devices) const {
    const Clock::time_point start = Clock::now();
    PW_ASSIGN(Budget budget, MakeBudget(search_, start));
    budget.stop = StopToken(&interrupted);
    PlannerOptions options = MakePlannerOptions(search_, budget, context);
    options.started = start;
    std::unique_ptr<Planning> chosen;
    if (ChoosesStrategies(planner)) {
      PW_ASSIGN(chosen, Prepare(input_, search_, space_, &options));
      PW_ASSIGN(options.budget, MakeBudget(search_, chosen->loaded));
      options.budget.stop = budget.stop;
    }
    const Planning& planning = chosen ? *chosen : recorded;
    const StrategySearchResult* const strategies =
        planning.strategies ? &*planning.strategies : nullptr;
    options.bound = planning.prepared().search_bound();
    options.given = GivenPlacement(planning.inputs, planning.problem().sim_graph);
    Evaluator& evaluator = planning.prepared().evaluator();
    Result<PlannerResult> planned = SearchBehind(
        strategies, planning.problem(), evaluator, options,
        [&](const PlannerOptions& of) { return planner.Plan(planning.problem(), evaluator, of); });
    PW_ASSIGN(PlannerResult result, std::move(planned).InFile(input_.graph));
    if (result.out_of_memory) return OutOfMemory();  // entries would not be comparable
    for (const std::string& note : result.notes) context.console.Note(note);
    PW_ASSIGN(Entry entry, EntryOf(std::string(planner.name()), planning, result, input_.graph));
    entry.plan.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    entry.search = planner.iterative();
    entry.interrupted = budget.Stopped() && (planner.iterative() || result.cut_short);
    *devices = entry.plan.devices;
    return entry;
  }

  Result<std::vector<StrategyResult>> Strategies(const Planning& planning,
                                                 const std::atomic<bool>& interrupted,
                                                 Context& context) const {
    PW_ASSIGN(Budget budget, MakeBudget(search_, Clock::now()));
    budget.stop = StopToken(&interrupted);
    PlannerOptions options = MakePlannerOptions(search_, budget, context);
    options.started = Clock::now();
    Result<std::vector<StrategyResult>> found =
        TryStrategies(planning, input_, search_, space_, options);
    if (!found.ok() && found.error().code == ErrorCode::kCancelled) {
      return std::vector<StrategyResult>();
    }
    return std::move(found).InFile(input_.graph);
  }

  // What a planner's result comes to. Errors name `file`.
  Result<Entry> EntryOf(std::string name, const Planning& planning, const PlannerResult& result,
                        const std::string& file) const {
    PW_ASSIGN(const StepInputs of, StepOf(planning, result, file));
    PW_ASSIGN(const SimResult replay, Replay(planning, of, result));
    Entry entry(std::move(name), MakePlan(planning, input_, search_, of, result, replay, 0));
    entry.notes = result.notes;
    if (of.step.compiled) {
      entry.communication = TimeOfCommunication(*of.step.graph, *replay.schedule);
    }
    return entry;
  }

  static CostShares SharesOf(const Plan& plan) {
    return {plan.share_given, plan.share_measured, plan.share_modelled};
  }

  static Error Interrupted(const Comparison& comparison) {
    std::string message = "interrupted: the table has what was found until then";
    if (!comparison.not_run.empty()) {
      message += fmt::format("; {} did not run", fmt::join(comparison.not_run, ", "));
    }
    return MakeError(ErrorCode::kInterrupted, std::move(message), "",
                     "Give it less to do with --time or --iterations.");
  }

  static void Print(const Comparison& comparison, Console& console) {
    if (console.json) {
      PrintAsJson(comparison, console);
      return;
    }
    const Style& style = console.style();
    const auto right = Table::Align::kRight;
    const bool moves = std::any_of(comparison.entries.begin(), comparison.entries.end(),
                                   [](const Entry& e) { return e.communication.has_value(); });
    Nanos best(kMaxQuantity);
    for (const Entry& e : comparison.entries) {
      if (e.plan.feasible) best = std::min(best, e.plan.step_time);
    }
    std::vector<Table::Column> columns = {
        Table::Column{comparison.algorithms ? "algorithm" : "plan"}};
    if (comparison.mixed) {
      console.Print("plans of different graphs or clusters: their step times do not compare\n");
      columns.push_back({"graph"});
      columns.push_back({"cluster"});
    } else {
      console.Print(fmt::format("{} on {}\n", Paint(comparison.graph, Tone::kStrong, style),
                                Paint(comparison.cluster, Tone::kStrong, style)));
      if (const auto plan = comparison.Best()) {
        const std::string against = DescribeBestBaseline(*plan);
        if (!against.empty()) console.Print(Wrap(plan->algorithm + ": " + against + "\n", style));
      }
    }
    columns.push_back({"step time", right});
    if (moves) columns.push_back({"communication", right});
    columns.insert(columns.end(), {{"gap", right},
                                   {"memory"},
                                   {"seconds", right},
                                   {"moves", right},
                                   {"costs"},
                                   {"found by"},
                                   {"runs on", Table::Align::kLeft, true}});
    Table table(columns);
    for (const Entry& e : comparison.entries) {
      const Plan& plan = e.plan;
      const bool wins = plan.feasible && plan.step_time == best && !comparison.mixed;
      std::vector<Table::Cell> row = {{e.name, wins ? Tone::kGood : Tone::kPlain}};
      if (comparison.mixed) {
        row.emplace_back(plan.graph_name);
        row.emplace_back(plan.cluster_name);
      }
      std::string found_by = plan.algorithm == e.name ? "" : plan.algorithm;
      if (e.interrupted) found_by += found_by.empty() ? "interrupted" : ", interrupted";
      row.emplace_back(
          FormatNanosLike(plan.step_time, best.count < kMaxQuantity ? best : plan.step_time));
      if (moves) {
        row.emplace_back(
            e.communication ? FormatShare(ShareOf(e.communication->any.count, plan.step_time.count))
                            : "");
      }
      row.insert(row.end(),
                 {plan.lower_bound ? FormatShare(plan.Gap()) : "-",
                  plan.feasible ? Table::Cell("fits")
                                : Table::Cell("over by " + FormatBytes(e.over), Tone::kBad),
                  fmt::format("{:.2f}", plan.seconds), FormatCount(plan.iterations),
                  RenderCostSources(SharesOf(plan)), found_by,
                  DescribeDevices(e.devices, comparison.devices)});
      table.AddRow(std::move(row));
    }
    console.Print(table.Render(style));
    PrintStrategies(comparison, console);
    if (comparison.unknown_types) console.Print(RenderUnknownTypes(*comparison.unknown_types));
    for (const std::string& note : comparison.notes) console.Print(Wrap(note + "\n", style));
  }

  // Beside the best of the table; where none fits, beside the best of their own.
  static void PrintStrategies(const Comparison& comparison, Console& console) {
    if (comparison.strategies.empty()) return;
    const std::optional<Plan> best = comparison.Best();
    const Nanos beside = best ? best->step_time : comparison.strategies.front().BestTime();
    const std::string table =
        RenderStrategies(comparison.strategies, beside, Nanos(), console.style());
    if (!table.empty()) console.Print("\n" + table);
  }

  static void PrintAsJson(const Comparison& comparison, Console& console) {
    Json object;
    object["schema"] = "placewright.compare/1";
    object["graph"] = object["cluster"] = object["lower_bound_ns"] = nullptr;
    if (!comparison.mixed) {
      object["graph"] = comparison.graph;
      object["cluster"] = comparison.cluster;
      if (!comparison.entries.empty()) {
        for (const Entry& e : comparison.entries) {
          const bool placed = e.plan.space == PlanSpace::kPlaced;
          if (e.plan.lower_bound && placed) object["lower_bound_ns"] = e.plan.lower_bound->count;
        }
      }
    }
    object["unknown_types"] = nullptr;
    if (comparison.unknown_types) object["unknown_types"] = *comparison.unknown_types;
    object["notes"] = comparison.notes;
    object["best_baseline"] = nullptr;
    if (const auto plan = comparison.Best()) {
      object["best_baseline"] = BestBaselineToJson(FindBestBaseline(*plan));
    }
    object["plans"] = Json::array();
    for (const Entry& e : comparison.entries) {
      Json line;
      line[comparison.algorithms ? "planner" : "file"] = e.name;
      const Plan& plan = e.plan;
      if (!comparison.algorithms) {
        line["graph"] = plan.graph_name;
        line["cluster"] = plan.cluster_name;
      }
      line["algorithm"] = plan.algorithm;
      line["feasible"] = plan.feasible;
      line["step_time_ns"] = plan.step_time.count;
      line["lower_bound_ns"] = line["gap"] = nullptr;
      if (plan.lower_bound) {
        line["lower_bound_ns"] = plan.lower_bound->count;
        line["gap"] = plan.Gap();
      }
      if (e.communication) {
        AddDistribution(plan, &line);
        AddSamplesPerSecond(plan, &line);
        AddCommunicationTime(plan, *e.communication, &line);
        Bytes peak;
        for (const DeviceUse& use : plan.devices) peak = std::max(peak, use.peak_memory);
        line["peak_memory_bytes"] = peak.count;
      }
      line["over_bytes"] = e.over.count;
      line["seconds"] = plan.seconds;
      line["iterations"] = plan.iterations;
      line["cost_sources"] = CostSourcesToJson(SharesOf(plan));
      line["notes"] = e.notes;
      line["devices"] = e.devices;
      line["interrupted"] = e.interrupted;
      object["plans"].push_back(std::move(line));
    }
    object["strategies"] = StrategiesToJson(comparison.strategies);
    object["not_run"] = comparison.not_run;
    object["interrupted"] = comparison.interrupted;
    if (comparison.interrupted)
      object["error"] = ErrorToJson(Interrupted(comparison), "compare")["error"];
    object["peak_rss_bytes"] = PeakResidentBytes();
    console.PrintJson(object);
  }

  CommandLine app_;
  Algorithms algorithms_;
  std::vector<std::string> files_;
  std::string svg_, executed_;
  InputOptions input_;
  SearchOptions search_;
  SpaceOptions space_;
};

}  // namespace

std::unique_ptr<Command> MakeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace placewright
