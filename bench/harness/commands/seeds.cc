#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "base/text.h"
#include "bench/harness/commands/harness.h"
#include "bench/harness/commands/pictures.h"
#include "bench/harness/runs/rescoring.h"
#include "bench/harness/runs/seed_runs.h"
#include "bench/harness/tables/table_report.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/output_path.h"
#include "formats/text/file.h"
#include "study/line_store.h"

namespace placewright {
namespace {

class BenchSeedsCommand : public Command {
 public:
  CommandLine Register(CommandLine bench) override {
    CommandLine app =
        bench.AddCommand("seeds", "A table of a published system, from runs with several seeds");
    std::vector<std::string> names;
    for (const StudyTable& table : StudyTables()) names.push_back(table.name);
    app.AddOption("--table", table_, fmt::format("{}", fmt::join(names, ", ")))
        .TypeName("NAME")
        .Required();
    app.AddOption("--store", store_, "Runs made so far, and those to come (default seeds.jsonl)")
        .TypeName("FILE");
    app.AddOption("--time", time_, "Ends after that time, such as 2h; a later call goes on")
        .TypeName("TIME");
    app.AddOption("--seeds", seeds_, "Make N runs of each cell at most; a later call goes on")
        .TypeName("N")
        .Check(IntegerWithin(1, 1000));
    app.AddFlag("--no-runs", no_runs_, "Show what the store has, and run nothing");
    app.AddOption(
           "--rescore", draws_,
           "Simulate the winners again under N draws of costs perturbed by 20%, and print how "
           "often each claim's order is the same")
        .TypeName("N")
        .Check(IntegerWithin(1, 100'000));
    app.AddOption("-o,--output", output_, "The table as Markdown").TypeName("FILE").Group("Output");
    app.AddOption("--svg", pictures_, "Folder for the learning curves of each model")
        .TypeName("FOLDER")
        .Group("Output");
    app.Footer(
        "A run is a training from one seed, which takes minutes to an hour on one core: give "
        "--time\n"
        "2h or so. Ctrl-C and the end of --time keep what the run has reached beside the store, "
        "for\n"
        "the next call. Several processes may fill one store. Tables share runs.\n"
        "Examples:\n"
        "  placewright bench seeds --table mars2 --no-runs --rescore 200\n"
        "  placewright bench seeds --table eagle4 --time 2s -o eagle4.md --svg curves");
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    const StudyTable* const table = FindStudyTable(table_);
    if (table == nullptr) return UnknownTable();
    PW_RETURN_IF_ERROR(RejectOverwriting({{"the store", store_}, {"the table", output_}}, {}));
    if (!no_runs_) PW_RETURN_IF_ERROR(ProbeWritable(store_));
    if (no_runs_ && store_ != kStore) PW_RETURN_IF_ERROR(NeedsStore(store_));
    if (!output_.empty()) PW_RETURN_IF_ERROR(ProbeWritable(output_));
    PW_ASSIGN(const Budget budget, MakeBudget(time_, context.started, interrupted));
    PW_ASSIGN(RunStore store, RunStore::Load(store_));
    PW_ASSIGN(std::vector<WantedRun> wanted, WantedRuns(*table));
    if (!no_runs_) {
      const std::vector<WantedRun> first = seeds_ > 0 ? FirstOfCells(wanted, seeds_) : wanted;
      PW_RETURN_IF_ERROR(MakeRuns(first, budget, store, context.console));
    }
    TableResult result = ResultOf(*table, store);
    PW_ASSIGN(const std::vector<WantedRun> further, FurtherRuns(*table, result));
    if (!no_runs_ && seeds_ == 0 && !further.empty()) {
      PW_RETURN_IF_ERROR(MakeRuns(further, budget, store, context.console));
      result = ResultOf(*table, store);
    }
    wanted.insert(wanted.end(), further.begin(), further.end());
    context.console.Progress("");
    if (draws_ > 0) {
      PW_RETURN_IF_ERROR(RescoreWinners(*table, draws_, budget, context.console, result));
      context.console.Progress("");
      if (budget.Expired()) context.console.Note("not all winners were simulated again in time");
    }
    PW_RETURN_IF_ERROR(Write(*table, result));
    if (context.console.json) {
      context.console.PrintJson(JsonOf(*table, result));
    } else {
      context.console.Print(RenderTable(*table, result, context.console.style()));
    }
    const auto missing = std::count_if(wanted.begin(), wanted.end(), [&](const WantedRun& run) {
      return FindRun(store, run) == nullptr;
    });
    if (missing > 0) {
      context.console.Note(fmt::format("{} of {} runs are still to come", missing, wanted.size()));
    }
    return interrupted ? InfoOf(ErrorCode::kInterrupted).exit_status : 0;
  }

 private:
  static TableResult ResultOf(const StudyTable& table, const RunStore& store) {
    return Summarize(table, [&](size_t model, size_t method, uint64_t seed) -> const StudyRun* {
      const Result<WantedRun> run = WantedRunOf(table, model, method, seed);
      return run.ok() ? FindRun(store, run.value()) : nullptr;
    });
  }

  Error UnknownTable() const {
    std::vector<std::string> names;
    for (const StudyTable& table : StudyTables()) names.push_back(table.name);
    return MakeError(ErrorCode::kUsage,
                     fmt::format("no table \"{}\"{}", Printable(table_), DidYouMean(table_, names)),
                     "", fmt::format("--table takes {}.", fmt::join(names, ", ")));
  }

  Status MakeRuns(const std::vector<WantedRun>& wanted, const Budget& budget, RunStore& store,
                  Console& console) const {
    for (const WantedRun& run : wanted) {
      if (budget.Expired()) return Ok();
      if (FindRun(store, run) != nullptr) continue;
      const Clock::time_point start = Clock::now();
      PW_ASSIGN(const bool whole, MakeRun(run, store_ + ".kept", budget, store, console));
      console.Progress("");
      if (!whole) {
        if (!budget.Expired()) {
          console.Note(
              fmt::format("{} {} seed {}: not made (another process makes it, or it ended "
                          "before its samples)",
                          run.key.graph, run.method->label, run.key.seed));
        }
        continue;
      }
      const std::chrono::duration<double> took = Clock::now() - start;
      const StudyRun* const made = FindRun(store, run);
      if (made == nullptr) continue;
      const bool learned = run.method->kind == StudyMethod::Kind::kLearned;
      const std::optional<double> best = made->BestWithin(learned ? run.samples : kMaxQuantity);
      console.Note(
          fmt::format("{} {} seed {}: {} samples, {} in {:.0f} s", run.key.graph, run.method->label,
                      run.key.seed, learned ? std::min(run.samples, made->samples) : made->samples,
                      best ? fmt::format("{:.4g} s", *best) : "nothing fits", took.count()));
    }
    return Ok();
  }

  Status Write(const StudyTable& table, const TableResult& result) const {
    if (!output_.empty()) {
      PW_RETURN_IF_ERROR(WriteFileAtomically(output_, MarkdownOf(table, result)));
    }
    if (pictures_.empty()) return Ok();
    std::vector<Picture> drawn;
    for (size_t model = 0; model < table.models.size(); ++model) {
      drawn.push_back(
          {fmt::format("{}-{}.svg", table.name, model), DrawCurves(table, result, model)});
    }
    return WritePictures(pictures_, drawn);
  }

  static constexpr const char* kStore = "seeds.jsonl";  // need not be there

  std::string table_, store_ = kStore, time_, output_, pictures_;
  bool no_runs_ = false;
  int draws_ = 0, seeds_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeBenchSeedsCommand() { return std::make_unique<BenchSeedsCommand>(); }

}  // namespace placewright
