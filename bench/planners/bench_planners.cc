// The planners side by side: every training graph of a folder on every preset cluster.
//
// One process per pair (fork), so that peak memory is each pair's own. Every planner runs by
// itself, then `auto`. CSV: one row per graph, preset and planner; Markdown: one row per graph and
// preset.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "bench/bench.h"
#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "formats/aten/reader.h"
#include "formats/text/file.h"
#include "search/evaluation/group_placement.h"
#include "search/evaluation/simulated.h"
#include "search/planner.h"
#include "search/planner_table.h"
#include "search/proof/bound.h"
#include "search/proof/infeasibility.h"

namespace placewright {
namespace {

struct Options {
  std::string folder = PLACEWRIGHT_SHARED_DATA "/fx";
  std::string graphs = "*", presets = "*", planners = "*";
  std::string csv = "planners.csv", markdown = "planners.md";
  double seconds = 10, opponent_seconds = 2;
  BenchBudget budget;
  bool critical_path = false, verbose = false;
};

struct Row {
  std::string algorithm;
  bool feasible = false;
  Nanos step;
  double seconds = 0;
  int64_t iterations = 0;
  bool no_gpu = false;  // the plan uses none of the cluster's GPUs
};

// The two tables; a null file is one that was not asked for.
struct Tables {
  std::FILE* csv = nullptr;
  std::FILE* markdown = nullptr;

  void Flush() const {
    for (std::FILE* file : {csv, markdown}) {
      if (file != nullptr) std::fflush(file);
    }
  }
};

double Gap(Nanos step, Nanos bound) {
  if (step.count <= 0) return 0;
  return 1 - static_cast<double>(bound.count) / static_cast<double>(step.count);
}

struct Pair {
  std::string graph, preset;
  Bound bound;
  std::vector<Row> rows;  // `auto` is the last
  PlannerResult best;     // of auto
};

void PrintCsv(std::FILE* file, const Pair& pair) {
  for (const Row& row : pair.rows) {
    std::fprintf(
        file, "%s,%s,%s,%d,%lld,%lld,%s,%.4f,%.3f,%lld\n", pair.graph.c_str(), pair.preset.c_str(),
        row.algorithm.c_str(), row.feasible ? 1 : 0, static_cast<long long>(row.step.count),
        static_cast<long long>(pair.bound.value.count), pair.bound.argument.c_str(),
        Gap(row.step, pair.bound.value), row.seconds, static_cast<long long>(row.iterations));
  }
}

void PrintMarkdown(std::FILE* file, const Pair& pair) {
  // The best of the planners that the goal names.
  const Row* rival = nullptr;
  std::fprintf(file, "| %s | %s |", pair.graph.c_str(), pair.preset.c_str());
  for (const Row& row : pair.rows) {
    const bool named = row.algorithm == "layered" || row.algorithm == "m-etf" ||
                       row.algorithm == "m-topo" || row.algorithm == "heft" ||
                       row.algorithm == "round-robin";
    if (named && row.feasible && (rival == nullptr || row.step < rival->step)) rival = &row;
    const double step = static_cast<double>(row.step.count) / 1e6;
    if (row.algorithm == "auto") {
      std::fprintf(file, " **%.3f**%s %.1f%% %s |", step, row.feasible ? "" : " oom",
                   100 * Gap(row.step, pair.bound.value), pair.best.algorithm.c_str());
    } else {
      std::fprintf(file, " %.3f%s%s %.0f%% %.2fs |", step, row.feasible ? "" : " oom",
                   row.no_gpu ? " cpu" : "", 100 * Gap(row.step, pair.bound.value), row.seconds);
    }
  }
  const Row& found = pair.rows.back();
  const double gain = rival ? Gap(rival->step, found.step) : 1;
  const double room = rival ? Gap(rival->step, pair.bound.value) : 1;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::fprintf(file, " %.3f %s | %.1f%% | %.1f%% | %lld | %.2f | %.1f | %ld |\n",
               static_cast<double>(pair.bound.value.count) / 1e6, pair.bound.argument.c_str(),
               100 * gain, 100 * room, static_cast<long long>(found.iterations),
               pair.best.first_feasible_seconds.value_or(-1), found.seconds,
               usage.ru_maxrss / 1024);
}

// False also where the cluster has no GPUs.
bool UsesNoGpu(const Placement& placement, const Problem& problem) {
  const auto is_gpu = [&](DeviceId device) {
    return problem.cluster->kind(device).device_class == DeviceClass::kGpu;
  };
  bool gpus = false;
  for (DeviceId device : problem.cluster->devices()) gpus |= is_gpu(device);
  for (OpId op : problem.graph->ops()) {
    if (!problem.graph->op(op).is_view && is_gpu(placement[op])) return false;
  }
  return gpus;
}

// Those that the options name.
PlannerTable Table(const Options& options) {
  PlannerTable table = MakeSearchPlanners();
  std::erase_if(table,
                [&](const auto& planner) { return !GlobMatch(options.planners, planner->name()); });
  return table;
}

int RunPair(const std::string& path, std::string_view preset, const Options& options,
            const Tables& tables) {
  const std::string name = std::filesystem::path(path).stem().stem().string();
  const auto fail = [&](const Error& error) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), error.ToString().c_str());
    return 1;
  };
  auto text = ReadFile(path);
  if (!text.ok()) return fail(text.error());
  auto graph = ReadAtenGraph(text.value());
  if (!graph.ok()) return fail(graph.error());
  text.value() = std::string();
  auto cluster = MakePreset(preset);
  if (!cluster.ok()) return fail(cluster.error());
  const Status kept = ApplyMemoryReserve(std::nullopt, &cluster.value());
  if (!kept.ok()) return fail(kept.error());
  auto costs = ModelCosts(graph.value(), cluster.value(), {});
  if (!costs.ok()) return fail(costs.error());
  const Clock::time_point started = Clock::now();
  auto problem = BuildProblem(
      graph.value(), cluster.value(), costs.value(), {},
      options.critical_path ? SchedulingPolicy::kCriticalPath : SchedulingPolicy::kFifo);
  if (!problem.ok()) return fail(problem.error());
  const std::unique_ptr<Evaluator> evaluator =
      MakeSimulatedEvaluator(problem.value(), options.budget.threads);
  const PlannerTable table = Table(options);
  const Status fits =
      CheckNotProvenInfeasible(problem.value(), *evaluator, ConstructivePlans(table));
  if (!fits.ok()) return fail(fits.error());
  const double proven = std::chrono::duration<double>(Clock::now() - started).count();
  const Bound bound = LowerBound(problem.value());
  const double bounded = std::chrono::duration<double>(Clock::now() - started).count();
  if (options.verbose) {
    std::fprintf(stderr, "%s %s: problem and proof %.3f s, bound %.3f s\n", name.c_str(),
                 std::string(preset).c_str(), proven, bounded - proven);
  }
  Pair pair{name, std::string(preset), bound, {}, {}};
  const auto run = [&](const Planner& planner, double limit) -> Result<PlannerResult> {
    const PlannerOptions planning = PlanningOptions(options.budget, limit);
    PW_ASSIGN(PlannerResult result, planner.Plan(problem.value(), *evaluator, planning));
    const double seconds = std::chrono::duration<double>(Clock::now() - planning.started).count();
    pair.rows.push_back({std::string(planner.name()), result.feasible, result.step_time, seconds,
                         result.iterations,
                         UsesNoGpu(PlacementOf(problem.value(), result.plan), problem.value())});
    return result;
  };
  for (const auto& planner : table) {
    const auto result = run(*planner, options.opponent_seconds);
    if (!result.ok()) return fail(result.error());
  }
  auto found = run(*MakeAuto(table), options.seconds);
  if (!found.ok()) return fail(found.error());
  pair.best = found.Take();
  if (options.verbose) {
    for (const HistoryPoint& point : pair.best.history) {
      std::fprintf(stderr, "  %8lld moves %7.3f s %12.3f ms %s\n",
                   static_cast<long long>(point.iterations), point.seconds,
                   static_cast<double>(point.step_time.count) / 1e6, point.algorithm.c_str());
    }
  }
  if (tables.csv != nullptr) PrintCsv(tables.csv, pair);
  if (tables.markdown != nullptr) PrintMarkdown(tables.markdown, pair);
  tables.Flush();
  return 0;
}

void PrintHeaders(const Options& options, const Tables& tables) {
  if (tables.csv != nullptr) {
    std::fprintf(tables.csv,
                 "graph,preset,planner,feasible,step_time_ns,lower_bound_ns,bound_argument,gap,"
                 "seconds,iterations\n");
  }
  if (tables.markdown != nullptr) {
    std::string head = "| graph | preset |", rule = "|---|---|";
    for (const auto& planner : Table(options)) {
      head += " " + std::string(planner->name()) + " |";
      rule += "---|";
    }
    std::fprintf(tables.markdown, "%s auto | bound | gain | room | moves | first | s | MiB |\n",
                 head.c_str());
    std::fprintf(tables.markdown, "%s---|---|---|---|---|---|---|---|\n", rule.c_str());
  }
  tables.Flush();
}

// "": none.
bool Open(const std::string& path, std::FILE** file) {
  if (path.empty()) return true;
  *file = OpenTable(path);
  return *file != nullptr;
}

int Main(const Options& options) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options.folder, error)) {
    const std::string name = entry.path().filename().string();
    if (GlobMatch(options.graphs, entry.path().stem().stem().string())) {
      paths.push_back(entry.path().string());
    }
  }
  if (error) {
    std::fprintf(stderr, "cannot read %s\n", options.folder.c_str());
    return 3;
  }
  std::sort(paths.begin(), paths.end());
  Tables tables;
  if (!Open(options.csv, &tables.csv) || !Open(options.markdown, &tables.markdown)) return 3;
  PrintHeaders(options, tables);
  int failures = 0;
  for (const std::string& path : paths) {
    for (const Preset& preset : Presets()) {
      if (!GlobMatch(options.presets, preset.name)) continue;
      failures += !SucceedsInChild([&] { return RunPair(path, preset.name, options, tables); });
    }
  }
  return failures > 0 ? 1 : 0;
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
  placewright::Options options;
  CLI::App app{"Compares planners over training graphs and preset clusters."};
  app.add_option("--folder", options.folder, "folder of ATen training graphs");
  app.add_option("--graphs", options.graphs, "glob over file names");
  app.add_option("--presets", options.presets, "glob over presets");
  app.add_option("--planners", options.planners, "glob over planners");
  app.add_option("--time", options.seconds, "seconds of auto for each pair");
  app.add_option("--opponent-time", options.opponent_seconds, "seconds of every other search");
  app.add_option("--csv", options.csv, "file, - for standard output (default planners.csv)");
  app.add_option("--iterations", options.budget.iterations, "moves instead of seconds");
  app.add_option("--threads", options.budget.threads, "threads");
  app.add_option("--seed", options.budget.seed, "seed");
  app.add_option("--markdown", options.markdown, "file, or - (default planners.md)");
  app.add_flag("--critical-path", options.critical_path, "devices serve by critical path");
  app.add_flag("--verbose", options.verbose, "history on stderr");
  CLI11_PARSE(app, argc, argv);
  return placewright::Main(options);
}
