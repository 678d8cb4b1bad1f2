// The planners side by side: every training graph of a folder on every preset cluster.
//
// One process per pair (fork), so that peak memory and time are each pair's own. CSV on stdout, one
// row per graph, preset and planner; with --markdown a table of one row per graph and preset.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "formats/aten/reader.h"
#include "formats/text/file.h"
#include "search/planner.h"

namespace placewright {
namespace {

struct Options {
  std::string folder = PLACEWRIGHT_SHARED_DATA "/fx";
  std::string graphs = "*", presets = "*", planners = "*";
  double seconds = 10;
  int64_t iterations = -1;
  int threads = 2;
  uint64_t seed = 0;
  bool markdown = false, critical_path = false, verbose = false;
};

struct Row {
  std::string algorithm;
  bool feasible = false;
  Nanos step;
  double seconds = 0;
};

void PrintCsv(const std::string& graph, const std::string& preset, const Row& row, Nanos bound,
              const std::string& argument, double first) {
  const double gap = row.step.count > 0 ? 1 - static_cast<double>(bound.count) /
                                                  static_cast<double>(row.step.count)
                                        : 0;
  std::printf("%s,%s,%s,%d,%lld,%lld,%s,%.4f,%.2f,%.3f\n", graph.c_str(), preset.c_str(),
              row.algorithm.c_str(), row.feasible ? 1 : 0, static_cast<long long>(row.step.count),
              static_cast<long long>(bound.count), argument.c_str(), gap, row.seconds, first);
}

void PrintMarkdown(const std::string& graph, const std::string& preset,
                   const std::vector<Row>& rows, const PlannerResult& result, const Bound& bound,
                   double seconds) {
  // The best of the planners that the goal names.
  const Row* rival = nullptr;
  for (const Row& row : rows) {
    const bool named = row.algorithm == "layered" || row.algorithm == "m-etf" ||
                       row.algorithm == "m-topo" || row.algorithm == "heft" ||
                       row.algorithm == "round-robin";
    if (named && row.feasible && (rival == nullptr || row.step < rival->step)) rival = &row;
  }
  const double step = static_cast<double>(result.step_time.count);
  const double gain = rival ? 1 - step / static_cast<double>(rival->step.count) : 1;
  const double room =
      rival ? 1 - static_cast<double>(bound.value.count) / static_cast<double>(rival->step.count)
            : 1;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("| %s | %s |", graph.c_str(), preset.c_str());
  for (const Row& row : rows) {
    std::printf(" %.3f%s |", static_cast<double>(row.step.count) / 1e6, row.feasible ? "" : " oom");
  }
  std::printf(" **%.3f**%s %s | %.3f %s | %.1f%% | %.1f%% | %.1f%% | %lld | %.2f | %.1f | %ld |\n",
              step / 1e6, result.feasible ? "" : " oom", result.algorithm.c_str(),
              static_cast<double>(bound.value.count) / 1e6, bound.argument.c_str(),
              100 * (1 - static_cast<double>(bound.value.count) / std::max(step, 1.0)), 100 * gain,
              100 * room, static_cast<long long>(result.iterations),
              result.first_feasible_seconds.value_or(-1), seconds, usage.ru_maxrss / 1024);
}

int RunPair(const std::string& path, std::string_view preset, const Options& options) {
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
  auto costs = ModelCosts(graph.value(), cluster.value(), {});
  if (!costs.ok()) return fail(costs.error());
  const Clock::time_point started = Clock::now();
  auto problem = BuildProblem(graph.value(), cluster.value(), costs.value(), {},
                              options.critical_path ? Order::kCriticalPath : Order::kFifo);
  if (!problem.ok()) return fail(problem.error());
  if (const Status fits = ProveFits(problem.value()); !fits.ok()) return fail(fits.error());
  const double proven = std::chrono::duration<double>(Clock::now() - started).count();
  const Bound bound = LowerBound(problem.value());
  const double bounded = std::chrono::duration<double>(Clock::now() - started).count();
  if (options.verbose) {
    std::fprintf(stderr, "%s %s: problem and proof %.3f s, bound %.3f s\n", name.c_str(),
                 std::string(preset).c_str(), proven, bounded - proven);
  }
  PlannerOptions planning;
  planning.seed = options.seed;
  planning.threads = options.threads;
  planning.started = Clock::now();
  if (options.iterations >= 0) {
    planning.budget.iterations = options.iterations;
  } else {
    planning.budget.deadline =
        planning.started + std::chrono::microseconds(static_cast<int64_t>(options.seconds * 1e6));
  }
  std::vector<const Planner*> table;
  for (const Planner* planner : SearchPlanners()) {
    if (GlobMatch(options.planners, planner->name())) table.push_back(planner);
  }
  const std::unique_ptr<Planner> automatic = MakeAuto(table);
  auto planned = automatic->Plan(problem.value(), planning);
  if (!planned.ok()) return fail(planned.error());
  const PlannerResult& result = planned.value();
  const double seconds = std::chrono::duration<double>(Clock::now() - planning.started).count();
  if (options.verbose) {
    for (const HistoryPoint& point : result.history) {
      std::fprintf(stderr, "  %8lld moves %7.3f s %12.3f ms %s\n",
                   static_cast<long long>(point.iterations), point.seconds,
                   static_cast<double>(point.step_time.count) / 1e6, point.algorithm.c_str());
    }
  }
  std::vector<Row> rows;
  for (const Baseline& baseline : result.baselines) {
    rows.push_back({baseline.algorithm, baseline.feasible, baseline.step_time, 0});
  }
  if (options.markdown) {
    PrintMarkdown(name, std::string(preset), rows, result, bound, seconds);
  } else {
    const double first = result.first_feasible_seconds.value_or(-1);
    rows.push_back({"auto", result.feasible, result.step_time, seconds});
    for (const Row& row : rows) {
      PrintCsv(name, std::string(preset), row, bound.value, bound.argument, first);
    }
  }
  std::fflush(stdout);
  return 0;
}

void PrintHeader(const Options& options) {
  if (!options.markdown) {
    std::printf(
        "graph,preset,planner,feasible,step_time_ns,lower_bound_ns,bound_argument,gap,seconds,"
        "first_feasible_seconds\n");
    return;
  }
  std::string head = "| graph | preset |", rule = "|---|---|";
  for (const Planner* planner : SearchPlanners()) {
    if (!GlobMatch(options.planners, planner->name())) continue;
    head += " " + std::string(planner->name()) + " |";
    rule += "---|";
  }
  std::printf("%s auto (ms) | bound (ms) | gap | gain | room | moves | first | s | MiB |\n",
              head.c_str());
  std::printf("%s---|---|---|---|---|---|---|---|---|\n", rule.c_str());
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
  PrintHeader(options);
  std::fflush(stdout);
  int failures = 0;
  for (const std::string& path : paths) {
    for (const Preset& preset : Presets()) {
      if (!GlobMatch(options.presets, preset.name)) continue;
      const pid_t child = fork();
      if (child == 0) _exit(RunPair(path, preset.name, options));
      int status = 0;
      waitpid(child, &status, 0);
      failures += status != 0;
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
  app.add_option("--planners", options.planners, "glob over planners that auto runs");
  app.add_option("--time", options.seconds, "seconds for each pair");
  app.add_option("--iterations", options.iterations, "moves instead of seconds");
  app.add_option("--threads", options.threads, "threads");
  app.add_option("--seed", options.seed, "seed");
  app.add_flag("--markdown", options.markdown, "a table of one row per pair");
  app.add_flag("--critical-path", options.critical_path, "devices serve by critical path");
  app.add_flag("--verbose", options.verbose, "history on stderr");
  CLI11_PARSE(app, argc, argv);
  return placewright::Main(options);
}
