// How many layouts of a recorded step are evaluated in a second, along a walk from data parallelism over all GPUs:
//
//   bench_layout_moves GRAPH CLUSTER BATCH MOVES [CHECK [SEED]]
//
// The walk is that of local-search at a fixed temperature: a neighbour that is not worse is taken, a worse one
// with a chance. CHECK: of so many of its layouts, evenly chosen, step time and memory are compared with those of
// the compiled graph.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>

#include "formats/input.h"
#include "search/evaluation/simulated.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/layout_moves.h"
#include "search/layouts/layout_problem.h"
#include "search/layouts/layout_state.h"

namespace placewright::bench {
namespace {

// Of this core's time: what else runs on the machine does not count.
double SecondsSince(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

CompileOptions OptionsOf(const LayoutState& state) {
  CompileOptions options;
  options.fusion = state.fusion;
  options.broadcasts = state.broadcasts;
  return options;
}

bool Same(const Result<Evaluation>& a, const Result<Evaluation>& b) {
  if (a.ok() != b.ok()) return false;
  if (!a.ok()) return true;
  if (a.value().step_time != b.value().step_time) return false;
  for (size_t d = 0; d < a.value().devices.size(); ++d) {
    if (a.value().devices[d].peak != b.value().devices[d].peak) return false;
  }
  return true;
}

std::string TextOf(const Result<Evaluation>& evaluation) {
  if (!evaluation.ok()) return evaluation.error().message;
  std::string text = fmt::format("{} ns", evaluation.value().step_time.count);
  for (const auto& device : evaluation.value().devices) {
    text += fmt::format(" {}", device.peak.count);
  }
  return text;
}

// The process ends where there is none.
template <class T>
T Must(Result<T> result) {
  if (result.ok()) return result.Take();
  fmt::print(stderr, "{} ({})\n", result.error().message, result.error().place);
  std::exit(1);
}

int Run(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: bench_layout_moves GRAPH CLUSTER BATCH MOVES [CHECK [SEED]]\n");
    return 2;
  }
  GraphInputOptions input;
  if (std::atoi(argv[3]) > 0) input.batch = std::atoi(argv[3]);
  const LoadedGraph graph = Must(LoadGraph(argv[1], input));
  const LoadedCluster cluster = Must(LoadCluster(argv[2]));
  const auto layouts =
      Must(LayoutProblem::Make(graph.graph, cluster.cluster, {}, SchedulingPolicy::kFifo));
  const CostTable costs = Must(ModelCosts(graph.graph, cluster.cluster, {}));
  Problem problem = Must(
      BuildProblem(graph.graph, cluster.cluster, costs, Constraints(), SchedulingPolicy::kFifo));
  problem.layouts = layouts.get();
  const int64_t moves = std::atoll(argv[4]);
  const int64_t checks = argc > 5 ? std::atoll(argv[5]) : 0;
  Random random(argc > 6 ? static_cast<uint64_t>(std::atoll(argv[6])) : 0);

  LayoutBook book;
  LayoutMoves neighbours = Must(LayoutMoves::Make(problem, book));
  DistributionSpec data_parallel;
  data_parallel.layouts = {
      {"*", GroupId(), "batch", {{"*gpu*", {}, {}}}, LayoutOption::kAllReduce}};
  LayoutState state = Must(StateOf(*layouts, data_parallel, book));
  LayoutEvaluator evaluator(*layouts);
  std::clock_t started = std::clock();
  int64_t time = Must(evaluator.Evaluate(book.Of(state), OptionsOf(state))).step_time.count;
  fmt::print("data parallelism: {} ns, first evaluation {:.1f} ms\n", time,
             1e3 * SecondsSince(started));
  double seconds = 0, compiling = 0;
  int64_t taken = 0, tried = 0, differ = 0, failed = 0, compared = 0;
  while (tried < moves) {
    std::optional<LayoutState> next = neighbours.Draw(state, random.Below(2) == 0, random);
    if (!next) continue;
    started = std::clock();
    const Result<Evaluation> evaluation = evaluator.Evaluate(book.Of(*next), OptionsOf(*next));
    seconds += SecondsSince(started);
    ++tried;
    if (checks > 0 && tried * checks / moves != (tried - 1) * checks / moves) {
      started = std::clock();
      const Result<Evaluation> compiled =
          EvaluateLayouts(*layouts, book.Of(*next), OptionsOf(*next));
      compiling += SecondsSince(started);
      ++compared;
      if (!Same(evaluation, compiled)) {
        ++differ;
        fmt::print("move {}: {}\n  compiled: {}\n", tried, TextOf(evaluation), TextOf(compiled));
      }
    }
    failed += !evaluation.ok();
    if (!evaluation.ok()) continue;
    const int64_t at = evaluation.value().step_time.count;
    const double worse = static_cast<double>(at - time) / (0.01 * static_cast<double>(time));
    if (worse > 0 && random.Unit() >= std::exp(-worse)) continue;
    ++taken;
    state = *std::move(next);
    time = at;
  }
  fmt::print("{} moves, {} taken, {} not possible: {:.1f} evaluations a second\n", tried, taken,
             failed, static_cast<double>(tried) / seconds);
  if (compared > 0) {
    fmt::print("{} compared with the compiled graph ({:.1f} a second), {} differ\n", compared,
               static_cast<double>(compared) / compiling, differ);
  }
  return differ > 0 ? 1 : 0;
}

}  // namespace
}  // namespace placewright::bench

int main(int argc, char** argv) { return placewright::bench::Run(argc, argv); }
