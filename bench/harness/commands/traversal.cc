#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/thread_pool.h"
#include "bench/harness/commands/harness.h"
#include "bench/harness/commands/pictures.h"
#include "bench/harness/traversal/report.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/output_path.h"
#include "formats/text/file.h"
#include "study/line_store.h"

namespace placewright {
namespace {

class BenchTraversalCommand : public Command {
 public:
  CommandLine Register(CommandLine bench) override {
    CommandLine app = bench.AddCommand(
        "traversal", "The traversal-order study: Placeto's agent in six orders of visits");
    app.AddOption("--store", store_,
                  "Runs made so far, and those to come (default traversal.jsonl)")
        .TypeName("FILE");
    app.AddOption("--graphs", design_.graphs,
                  "Graphs of each family (default 10; the study has 32)")
        .TypeName("N")
        .Check(IntegerWithin(1, kFamilySize));
    app.AddOption("--repeats", design_.repeats,
                  "Repeats of each, a multiple of 5 (default 5; the study has 10)")
        .TypeName("N")
        .Check(IntegerWithin(5, 1000));
    app.AddOption("--long-graphs", design_.long_graphs,
                  "Graphs of each family followed for 500 episodes (default 3)")
        .TypeName("N")
        .Check(IntegerWithin(0, kFamilySize));
    app.AddOption("--real", real_,
                  "Folder with recorded training steps, six of which are studied, too")
        .TypeName("FOLDER");
    app.AddOption("--threads", threads_, "Threads (default 1); results never depend on them")
        .TypeName("N")
        .Check(IntegerWithin(1, 1024));
    app.AddOption("--time", time_, "Ends after that time, such as 2h; a later call goes on")
        .TypeName("TIME");
    app.AddFlag("--no-runs", no_runs_, "Show what the store has, and run nothing");
    app.AddOption("-o,--output", output_, "The tables as Markdown")
        .TypeName("FILE")
        .Group("Output");
    app.AddOption("--svg", pictures_, "Folder for pictures of which orders win")
        .TypeName("FOLDER")
        .Group("Output");
    app.Footer(
        "A block of runs (a graph on so many devices under one policy in one order: five repeats)\n"
        "takes seconds to ten minutes on one core, all of them hours: give --time. What a block "
        "had "
        "begun\n"
        "when it was ended is lost, the others are kept. A chunk is the blocks of all six orders.\n"
        "Wins stand beside the published ones of 32 graphs.\n"
        "Examples:\n"
        "  placewright bench traversal --no-runs\n"
        "  placewright bench traversal --time 30m --threads 2 -o traversal.md");
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    PW_RETURN_IF_ERROR(RejectOverwriting({{"the store", store_}, {"the tables", output_}}, {}));
    if (design_.repeats % TraversalChunk::kRepeats != 0) {
      return MakeError(ErrorCode::kUsage,
                       fmt::format("--repeats {} is no multiple of {}", design_.repeats,
                                   TraversalChunk::kRepeats),
                       "", "Repeats are made five at a time.");
    }
    design_.real = !real_.empty();
    if (!no_runs_) PW_RETURN_IF_ERROR(ProbeWritable(store_));
    if (no_runs_ && store_ != kStore) PW_RETURN_IF_ERROR(NeedsStore(store_));
    // They come last, after hours.
    if (!no_runs_ && design_.real) PW_RETURN_IF_ERROR(LoadRealGraph(real_, 0, 3));
    if (!output_.empty()) PW_RETURN_IF_ERROR(ProbeWritable(output_));
    PW_ASSIGN(const Budget budget, MakeBudget(time_, context.started, interrupted));
    PW_ASSIGN(TraversalStore store, TraversalStore::Load(store_));
    const std::vector<TraversalChunk> wanted = ChunksOf(design_);
    if (!no_runs_) PW_RETURN_IF_ERROR(MakeChunks(wanted, budget, store, context.console));
    context.console.Progress("");
    if (!output_.empty()) PW_RETURN_IF_ERROR(WriteFileAtomically(output_, Markdown(store)));
    if (!pictures_.empty()) PW_RETURN_IF_ERROR(WritePictures(pictures_, Draw(store)));
    if (context.console.json) {
      context.console.PrintJson(TraversalJson(store));
    } else {
      for (const TraversalPolicy policy : AllTraversalPolicies()) {
        context.console.Print(RenderTraversal(store, policy, context.console.style()) + "\n");
      }
      context.console.Print(RenderGuidelines(store, context.console.style()));
    }
    const auto missing =
        std::count_if(wanted.begin(), wanted.end(),
                      [&](const TraversalChunk& chunk) { return store.Find(chunk) == nullptr; });
    if (missing > 0) {
      context.console.Note(
          fmt::format("{} of {} chunks are still to come", missing, wanted.size()));
    }
    return interrupted ? InfoOf(ErrorCode::kInterrupted).exit_status : 0;
  }

 private:
  Status MakeChunks(const std::vector<TraversalChunk>& wanted, const Budget& budget,
                    TraversalStore& store, Console& console) const {
    std::vector<std::pair<TraversalChunk, TraversalOrder>> missing;
    for (const TraversalChunk& chunk : wanted) {
      for (const TraversalOrder order : AllTraversalOrders()) {
        if (!store.Has(chunk, order)) missing.emplace_back(chunk, order);
      }
    }
    const size_t all = wanted.size() * AllTraversalOrders().size(), had = all - missing.size();
    std::mutex mutex;
    std::optional<Error> failed;
    size_t made = 0;
    ThreadPool pool(threads_);
    pool.ParallelFor(static_cast<int>(missing.size()), [&](int i) {
      if (budget.Expired()) return;
      const auto& [chunk, order] = missing[static_cast<size_t>(i)];
      Result<TimesOfOrder> times = MakeRuns(chunk, order, real_, budget);
      const std::scoped_lock lock(mutex);
      if (failed) return;
      if (!times.ok()) {
        if (times.error().code != ErrorCode::kCancelled) failed = times.error();
        return;
      }
      const Status added = store.Add(chunk, order, std::move(times).Take());
      if (!added.ok()) failed = added.error();
      ++made;
      console.Progress(fmt::format("{} of {} blocks of runs: {} graph {} on {} devices, {}, {}",
                                   had + made, all, ToString(chunk.family), chunk.graph,
                                   chunk.devices, ToString(chunk.policy), ToString(order)));
    });
    if (!failed && made == 0 && !missing.empty()) {
      console.Note("the time ended before a block of runs did: nothing was kept");
    }
    return failed ? Status(*failed) : Ok();
  }

  static std::string Markdown(const TraversalStore& store) {
    std::string text;
    for (const TraversalPolicy policy : AllTraversalPolicies()) {
      text += (text.empty() ? "" : "\n") + TraversalMarkdown(store, policy);
    }
    const std::string guidelines = GuidelinesMarkdown(store);
    return guidelines.empty() ? text : text + "\n" + guidelines;
  }

  static std::vector<Picture> Draw(const TraversalStore& store) {
    std::vector<Picture> pictures;
    for (const GraphFamily family : StudiedFamilies()) {
      for (const int64_t episodes : {10, 20, 50, 500}) {
        pictures.push_back({fmt::format("traversal-{}-{}.svg", ToString(family), episodes),
                            DrawTraversal(store, family, episodes)});
      }
    }
    return pictures;
  }

  static constexpr const char* kStore = "traversal.jsonl";  // need not be there

  TraversalDesign design_;
  std::string store_ = kStore, real_, time_, output_, pictures_;
  int threads_ = 1;
  bool no_runs_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeBenchTraversalCommand() {
  return std::make_unique<BenchTraversalCommand>();
}

}  // namespace placewright
