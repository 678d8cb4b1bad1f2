// Sufficient factor broadcasting of a recorded step, data parallel over all GPUs of a cluster:
//
//   bench_sfb gradients GRAPH CLUSTER BATCH [all|N]   TAG's program of every gradient by the minimum cut and by
//                                                     Cbc (of N gradients, evenly chosen; 0: none): objectives and times
//   bench_sfb layouts GRAPH CLUSTER BATCH MODE        the layouts (docs/formats/layouts.md)
//   bench_sfb steps GRAPH CLUSTER BATCH               step times with gradients of embeddings from their rows, and beside
//                                                     these with the paper's and with one shared cut, for plans of
//                                                     several planners; the ops duplicated
//
// Cbc is the command `cbc`, a process for each program; behind each a process with a program of one variable says
// what starting one takes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "formats/input.h"
#include "formats/plan/layouts_json.h"
#include "graph/partition/tag_groups.h"
#include "planning/plan_words.h"
#include "planning/prepared_problem.h"
#include "search/evaluation/compiled_step.h"
#include "search/planner_table.h"
#include "search/problem/layout_problem.h"
#include "search/sfb/group_programs.h"
#include "search/sfb/sfb_search.h"

namespace placewright::bench {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Loaded {
  LoadedGraph graph;
  LoadedCluster cluster;
  std::unique_ptr<LayoutProblem> problem;
};

// The process ends where something cannot be read.
std::unique_ptr<Loaded> Load(const std::string& path, const std::string& machines, int64_t batch) {
  GraphInputOptions options;
  if (batch > 0) options.batch = batch;
  auto loaded = std::make_unique<Loaded>();
  loaded->graph = LoadGraph(path, options).Take();
  loaded->cluster = LoadCluster(machines).Take();
  loaded->problem =
      LayoutProblem::Make(loaded->graph.graph, loaded->cluster.cluster, {}, SchedulingPolicy::kFifo)
          .Take();
  return loaded;
}

DistributionSpec DataParallelSpec() {
  DistributionSpec spec;
  spec.layouts = {{"*", GroupId(), "batch", {{"*gpu*", {}}}, LayoutOption::kAllReduce}};
  return spec;
}

struct CbcAnswer {
  int64_t objective = 0;
  double milliseconds = 0;
};

// The objective is recomputed from the alphas that Cbc prints, in integers.
CbcAnswer SolveByCbc(const SfbProgram& program, const std::filesystem::path& folder) {
  std::ofstream(folder / "program.lp") << FormatLp(program);
  const std::string command =
      "cd '" + folder.string() +
      "' && cbc program.lp ratio 0 allow 0 solve solution out.txt > log.txt 2>&1";
  const Clock::time_point start = Clock::now();
  CbcAnswer answer;
  if (std::system(command.c_str()) != 0) {
    fmt::print(stderr, "cbc failed: see {}\n", folder.string());
    std::exit(1);
  }
  answer.milliseconds = MillisecondsSince(start);
  std::ifstream in(folder / "out.txt");
  std::string line, number, name;
  std::getline(in, line);
  if (!line.starts_with("Optimal")) {
    fmt::print(stderr, "cbc: {}\n", line);
    std::exit(1);
  }
  std::vector<bool> alpha(program.times.size(), false);
  double value = 0, cost = 0;
  while (in >> number >> name >> value >> cost) {
    if (name[0] == 'a' && name != "al") alpha[std::stoul(name.substr(1))] = value > 0.5;
  }
  answer.objective = ObjectiveOf(program, alpha);
  return answer;
}

// What starting a process takes: a program of one variable.
double EmptyRun(const std::filesystem::path& folder) {
  SfbProgram program;
  program.bandwidth = BytesPerSecond(1);
  program.times = {Nanos(1)};
  return SolveByCbc(program, folder).milliseconds;
}

int Gradients(const Loaded& loaded, int64_t by_cbc) {
  const LayoutProblem& problem = *loaded.problem;
  const DistributionSpec spec = DataParallelSpec();
  const StepPlan plan = ResolvePlan(problem, spec).Take();
  const Feedback feedback = *EvaluateCompiled(problem, plan, /*feedback=*/true).Take().feedback;
  const std::vector<ReplicatedStep> steps =
      FindReplicatedSteps(problem, plan.layouts, false, feedback.instances);
  IdVector<OpId, Nanos> op_times;
  for (const OpId op : problem.graph.ops()) {
    op_times.push_back(std::max(Nanos(0), problem.costs.MinTime(op)));
  }
  const TagGrouping grouping = TagGroups(problem.graph, op_times).Take();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("bench-sfb-{}", ::getpid());
  std::filesystem::create_directories(folder);
  for (const ReplicatedStep& step : steps) {
    const auto start = Clock::now();
    GroupPrograms programs(step, grouping.part_of, BottleneckOf(problem.cluster, step.devices));
    const size_t count = step.gradients.size();
    SfbSolver solver;
    std::vector<double> times, cbc_times, ratios;
    std::vector<double> beyond;
    int64_t paying = 0, equal = 0, asked = 0;
    size_t largest = 0;
    double all = MillisecondsSince(start);
    for (size_t i = 0; i < count; ++i) {
      const auto begin = Clock::now();
      const GroupProgram& one = programs.Make(i);
      const SfbSolution& solution = solver.Solve(one.program);
      times.push_back(MillisecondsSince(begin));
      all += times.back();
      paying += solution.objective < 0 ? 1 : 0;
      largest = std::max(largest, one.nodes.size());
      const bool ask =
          by_cbc < 0 || (by_cbc > 0 && i * static_cast<size_t>(by_cbc) / count !=
                                           (i + 1) * static_cast<size_t>(by_cbc) / count);
      if (!ask) continue;
      const CbcAnswer answer = SolveByCbc(one.program, folder);
      ++asked;
      if (answer.objective == solution.objective) {
        ++equal;
      } else {
        fmt::print("gradient {}: cut {}, cbc {}\n", i, solution.objective, answer.objective);
      }
      beyond.push_back(answer.milliseconds - EmptyRun(folder));
      cbc_times.push_back(answer.milliseconds);
      ratios.push_back(cbc_times.back() / times.back());
    }
    fmt::print("{}: {} gradients, {} pay, at most {} ops; cut: all {:.2f} ms, median {:.4f} ms\n",
               problem.graph.name(), count, paying, largest, all, MedianOf(times));
    if (asked > 0) {
      fmt::print(
          "  cbc: {} of {} equal; median {:.1f} ms, ratio {:.0f}; beyond a process with an empty "
          "program {:.1f} ms, "
          "{:.0f} times the median of the cut\n",
          equal, asked, MedianOf(cbc_times), MedianOf(ratios), MedianOf(beyond),
          MedianOf(beyond) / MedianOf(times));
    }
  }
  std::filesystem::remove_all(folder);
  return 0;
}

void PrintOps(const Graph& graph, const std::vector<OpId>& ops) {
  std::map<std::string_view, int> counts;
  for (const OpId op : ops) ++counts[graph.op(op).type];
  std::vector<std::pair<int, std::string_view>> rows;
  for (const auto& [type, count] : counts) rows.emplace_back(-count, type);
  std::sort(rows.begin(), rows.end());
  fmt::print("    ");
  for (size_t i = 0; i < rows.size() && i < 12; ++i) {
    fmt::print(" {} {},", rows[i].second, -rows[i].first);
  }
  fmt::print("\n");
}

int Steps(const Loaded& loaded) {
  LayoutProblem& problem = *loaded.problem;
  problem.local_batch_norm = problem.HasBatchNorms();  // as data parallel programs have them
  ProblemSettings settings;
  settings.layouts = &problem;
  const auto prepared =
      PreparedProblem::Prepare(problem.graph, problem.cluster, problem.costs, settings).Take();
  const PlannerTable planners = MakeLayoutPlanners();
  for (const std::shared_ptr<const Planner>& planner : planners) {
    PlannerOptions options;
    options.started = std::chrono::steady_clock::now();
    const Result<PlannerResult> planned =
        planner->Plan(prepared->problem(), prepared->evaluator(), options);
    if (!planned.ok()) continue;
    StepPlan plan = planned.value().plan;
    for (const auto& [name, mode] :
         {std::pair("embeddings", SfbMode::kEmbeddings), std::pair("paper", SfbMode::kPaper),
          std::pair("cut", SfbMode::kCut)}) {
      const Clock::time_point start = Clock::now();
      const SfbResult result = ApplySfb(problem, prepared->evaluator(), plan, mode).Take();
      if (mode == SfbMode::kEmbeddings) plan = result.plan;
      const double before = static_cast<double>(result.before.step_time.count);
      const double after = static_cast<double>(result.after.step_time.count);
      fmt::print(
          "{} {} {}: {:.3f} -> {:.3f} ms ({:+.1f}%), {} of {} gradients, {} ops, {} tries, "
          "{:.0f} ms{}\n",
          problem.graph.name(), planner->name(), name, before / 1e6, after / 1e6,
          (before / after - 1) * 100, result.recomputed, result.gradients, result.duplicated.size(),
          result.tries, MillisecondsSince(start), result.after.feasible ? "" : ", does not fit");
      PrintOps(problem.graph, result.duplicated);
    }
  }
  return 0;
}

// Of data parallelism, as `plan --layouts` reads it.
int PrintLayouts(const Loaded& loaded, std::string_view mode) {
  const std::optional<SfbMode> parsed = ParseSfbMode(mode);
  if (!parsed) return 2;
  LayoutProblem& problem = *loaded.problem;
  const StepPlan plan = ResolvePlan(problem, DataParallelSpec()).Take();
  ProblemSettings settings;
  settings.layouts = &problem;
  const auto prepared =
      PreparedProblem::Prepare(problem.graph, problem.cluster, problem.costs, settings).Take();
  const SfbResult result = ApplySfb(problem, prepared->evaluator(), plan, *parsed).Take();
  fmt::print(stderr, "{}\n", result.Note());
  Json object = Json::object();
  AddDistributionSpec(StatePlan(problem, result.plan), &object);
  fmt::print("{}\n", object.dump(1));
  return 0;
}

int Usage() {
  fmt::print(stderr,
             "usage: bench_sfb gradients GRAPH CLUSTER BATCH [all|N]\n"
             "       bench_sfb steps GRAPH CLUSTER BATCH\n"
             "       bench_sfb layouts GRAPH CLUSTER BATCH none|embeddings|paper|cut\n");
  return 2;
}

}  // namespace
}  // namespace placewright::bench

int main(int argc, char** argv) {
  using namespace placewright::bench;
  if (argc < 5) return Usage();
  const std::string what = argv[1];
  const std::unique_ptr<Loaded> loaded = Load(argv[2], argv[3], std::stoll(argv[4]));
  if (what == "steps") return Steps(*loaded);
  if (what == "layouts" && argc > 5) return PrintLayouts(*loaded, argv[5]);
  if (what != "gradients") return Usage();
  const std::string cbc = argc > 5 ? argv[5] : "all";
  return Gradients(*loaded, cbc == "all" ? -1 : std::stoll(cbc));
}
