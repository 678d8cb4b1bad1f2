// How many layouts of a recorded step are evaluated in a second, along a walk from data parallelism over all GPUs:
//
//   bench_layout_moves GRAPH CLUSTER BATCH MOVES [CHECK [SEED [GRAIN]]]
//
// The walk is that of local-search, one move after the other: a neighbour that is not worse is taken, a worse one with
// its chance (search/layouts/layout_search.cc), and every hundred moves it goes back to the best. What it has tried it
// may try again, which is the only difference in the first 10,000 moves of steps as large as these. An evaluation ends
// where the step is known to be too long to be taken. CHECK: of so many of its layouts, evenly chosen, step time and
// memory are compared with those of the compiled graph, and what was given up, too. GRAIN: of the moves those of units
// (of which there are at most 60) or those of single groups are left out (groups, units), or none (both); those of
// groups that are alike, of axes, servers, layouts and shares stay.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <set>
#include <string>

#include "formats/input.h"
#include "planning/plan_words.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/floors/layout_floor.h"
#include "search/layouts/layout_moves.h"
#include "search/layouts/layout_state.h"
#include "search/problem/layout_problem.h"

namespace placewright::bench {
namespace {

// Of this core's time: what else runs on the machine does not count.
double SecondsSince(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// `a`: given up where its step is above the limit; errors are then not looked for.
bool Same(const Result<Evaluation>& a, const Result<Evaluation>& b, Nanos limit) {
  if (a.ok() && a.value().abandoned) return !b.ok() || b.value().step_time > limit;
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
  if (evaluation.value().abandoned) return "given up";
  std::string text = fmt::format("{} ns", evaluation.value().step_time.count);
  for (const auto& device : evaluation.value().devices) {
    text += fmt::format(" {}", device.peak.count);
  }
  return text;
}

struct Rate {
  int64_t count = 0;
  double seconds = 0;
  double PerSecond() const { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }
};

// As local-search draws them (search/layouts/layout_search.cc).
constexpr int64_t kPeriod = 100;

Nanos LongestTaken(const Score& now, const Score& best, int64_t move, Random& random) {
  const double through = static_cast<double>(move % kPeriod) / static_cast<double>(kPeriod);
  const double temperature = static_cast<double>(best.step_time) * 0.001 * (1 - through);
  const double chance = random.Unit();
  if (now.over > 0) return Nanos(kMaxQuantity);
  const double longer = chance > 0 ? -std::log(chance) * temperature : 0;
  return Nanos(now.step_time + static_cast<int64_t>(longer));
}

bool HasUnevenShares(const LayoutBook& book, const LayoutState& state) {
  const std::set<LayoutId> layouts(state.of_group.begin(), state.of_group.end());
  return std::any_of(layouts.begin(), layouts.end(), [&](LayoutId id) {
    const std::vector<int64_t> lengths = LengthsOf(book[id]);
    const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
    return *longest > *shortest + 1;
  });
}

// How many kinds of devices there are if those are alike that have the same part of every group, as large and with
// as much of the groups whole: a simulation of one device for each kind could not do with fewer.
size_t KindsOfDevices(const LayoutBook& book, const LayoutState& state, size_t devices) {
  std::vector<std::vector<int64_t>> has(devices, std::vector<int64_t>(state.of_group.size(), 0));
  for (size_t group = 0; group < state.of_group.size(); ++group) {
    const Layout& layout = book[state.of_group[GroupId(group)]];
    for (const Share& share : layout.shares) {
      has[share.device.index()][group] = 1 + share.Along(layout.axis()).length();
    }
  }
  std::sort(has.begin(), has.end());
  return static_cast<size_t>(std::unique(has.begin(), has.end()) - has.begin());
}

void LeaveOut(MoveKind first, MoveKind last, MoveChances::Weights& weights) {
  for (auto k = static_cast<size_t>(first); k <= static_cast<size_t>(last); ++k) weights[k] = 0;
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
    fmt::print(stderr,
               "usage: bench_layout_moves GRAPH CLUSTER BATCH MOVES [CHECK [SEED [GRAIN]]]\n");
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

  MoveChances::Weights weights = LayoutMoves::kAll;
  const std::string grain = argc > 7 ? argv[7] : "both";
  if (grain != "both" && grain != "groups" && grain != "units") {
    fmt::print(stderr, "GRAIN is both, groups or units, not {}\n", grain);
    return 2;
  }
  if (grain == "groups") LeaveOut(MoveKind::kUnitToDevice, MoveKind::kUnitToOther, weights);
  if (grain == "units") LeaveOut(MoveKind::kGroupToDevice, MoveKind::kGroupToOther, weights);
  MoveChances chances = MoveChances::Learned(weights);
  LayoutBook book;
  LayoutMoves neighbours = Must(LayoutMoves::Make(problem, book));
  DistributionSpec data_parallel;
  data_parallel.layouts = {{"*", GroupId(), "batch", {{"*gpu*", {}}}, LayoutOption::kAllReduce}};
  LayoutState state = StateOf(*layouts, Must(ResolvePlan(*layouts, data_parallel)), book);
  LayoutEvaluator evaluator(*layouts);
  LayoutFloor floor(*layouts);
  std::clock_t started = std::clock();
  Score score = Must(evaluator.Evaluate(book.With(state.of_group), state.switches)).score();
  fmt::print("data parallelism: {} ns, first evaluation {:.1f} ms\n", score.step_time,
             1e3 * SecondsSince(started));
  LayoutState best = state;
  Score best_score = score;
  Rate even, uneven;
  size_t kinds = 0;  // of devices, all layouts together
  double compiling = 0;
  int64_t taken = 0, tried = 0, differ = 0, failed = 0, compared = 0, abandoned = 0, by_work = 0;
  while (tried < moves) {
    if (tried > 0 && tried % kPeriod == 0) {
      state = best;
      score = best_score;
    }
    std::optional<LayoutMoves::Neighbour> drawn = neighbours.Draw(state, chances, random);
    if (!drawn) continue;
    LayoutState* const next = &drawn->state;
    const Nanos limit = LongestTaken(score, best_score, tried, random);
    const StepSwitches& how = next->switches;
    started = std::clock();
    const Result<Evaluation> evaluation = evaluator.Evaluate(book.With(next->of_group), how, limit);
    Rate& rate = HasUnevenShares(book, *next) ? uneven : even;
    rate.seconds += SecondsSince(started);
    ++rate.count;
    kinds += KindsOfDevices(book, *next, cluster.cluster.device_count());
    ++tried;
    if (checks > 0 && tried * checks / moves != (tried - 1) * checks / moves) {
      started = std::clock();
      const Result<Evaluation> compiled =
          EvaluateCompiled(*layouts, {book.With(next->of_group), how});
      compiling += SecondsSince(started);
      ++compared;
      if (!Same(evaluation, compiled, limit)) {
        ++differ;
        fmt::print("move {}: {}\n  compiled: {}\n", tried, TextOf(evaluation), TextOf(compiled));
      }
    }
    const bool better =
        evaluation.ok() && !evaluation.value().abandoned && evaluation.value().score() < score;
    for (const MoveKind kind : drawn->kinds) chances.Count(kind, better);
    failed += !evaluation.ok();
    if (!evaluation.ok()) continue;
    if (evaluation.value().abandoned) {
      ++abandoned;
      by_work += floor.Of(book.With(next->of_group)) > limit;
      continue;
    }
    const Score found = evaluation.value().score();
    const bool worse = score < found;
    if (worse && (found.over != score.over || found.step_time > limit.count)) continue;
    ++taken;
    state = std::move(*next);
    score = found;
    if (!(score < best_score)) continue;
    best = state;
    best_score = score;
  }
  const Rate all{even.count + uneven.count, even.seconds + uneven.seconds};
  fmt::print(
      "{} moves, {} taken, {} given up ({} by their work alone), {} not possible; best {} ns\n",
      tried, taken, abandoned, by_work, failed, best_score.step_time);
  fmt::print("{:.1f} evaluations a second; even shares {:.1f} ({}), uneven ones {:.1f} ({})\n",
             all.PerSecond(), even.PerSecond(), even.count, uneven.PerSecond(), uneven.count);
  fmt::print("{:.1f} kinds of devices in a layout, of {} devices\n",
             static_cast<double>(kinds) / static_cast<double>(tried),
             cluster.cluster.device_count());
  if (compared > 0) {
    fmt::print("{} compared with the compiled graph ({:.1f} a second), {} differ\n", compared,
               static_cast<double>(compared) / compiling, differ);
  }
  return differ > 0 ? 1 : 0;
}

}  // namespace
}  // namespace placewright::bench

int main(int argc, char** argv) { return placewright::bench::Run(argc, argv); }
