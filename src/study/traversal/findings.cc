#include "study/traversal/findings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace placewright {
namespace {

// Ranks from 1 on, equal values sharing the mean of theirs.
std::vector<double> RanksOf(std::span<const double> values) {
  std::vector<size_t> by_value(values.size());
  std::iota(by_value.begin(), by_value.end(), 0);
  std::sort(by_value.begin(), by_value.end(),
            [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < by_value.size();) {
    size_t end = first;
    while (end < by_value.size() && values[by_value[end]] == values[by_value[first]]) ++end;
    const double rank = (static_cast<double>(first + end) + 1) / 2;
    for (; first < end; ++first) ranks[by_value[first]] = rank;
  }
  return ranks;
}

// Tables II, III and IV, in the paper's order of columns: lexico, topo, dfs_pre, rev_topo, dfs_post,
// bfs; rows are 3, 5 and 8 devices after 9, 19 and 49.
constexpr int kPublished[3][9][6] = {
    {{1, 6, 10, 10, 4, 1},
     {3, 3, 7, 8, 11, 0},
     {5, 4, 5, 8, 8, 2},
     {0, 9, 6, 6, 9, 2},
     {0, 9, 3, 10, 8, 2},
     {2, 6, 6, 9, 6, 3},
     {0, 8, 3, 10, 11, 0},
     {1, 4, 2, 8, 17, 0},
     {0, 5, 1, 11, 15, 0}},
    {{0, 1, 6, 1, 0, 24},
     {0, 1, 10, 1, 2, 18},
     {0, 1, 8, 5, 2, 16},
     {0, 0, 3, 0, 2, 27},
     {0, 1, 3, 2, 2, 24},
     {0, 1, 2, 6, 5, 18},
     {0, 0, 2, 1, 1, 28},
     {0, 0, 2, 5, 4, 21},
     {0, 0, 2, 13, 5, 12}},
    {{0, 2, 0, 22, 1, 7},
     {0, 0, 1, 23, 1, 7},
     {0, 0, 1, 24, 1, 6},
     {0, 0, 1, 24, 1, 6},
     {0, 0, 2, 26, 0, 4},
     {0, 0, 0, 27, 0, 5},
     {0, 0, 0, 23, 3, 6},
     {0, 0, 0, 24, 1, 7},
     {0, 0, 0, 24, 3, 5}},
};

std::optional<std::array<int, kTraversalOrders>> PublishedWins(GraphFamily family, int devices,
                                                               int64_t episodes) {
  constexpr std::array<int, 3> kDevices{3, 5, 8};
  constexpr std::array<int64_t, 3> kEpisodes{10, 20, 50};
  constexpr std::array<size_t, kTraversalOrders> kColumns{1, 3, 2, 4, 5, 0};
  const auto device = std::find(kDevices.begin(), kDevices.end(), devices);
  const auto episode = std::find(kEpisodes.begin(), kEpisodes.end(), episodes);
  if (device == kDevices.end() || episode == kEpisodes.end() || family == GraphFamily::kReal) {
    return std::nullopt;
  }
  const auto row =
      static_cast<size_t>(3 * (device - kDevices.begin()) + (episode - kEpisodes.begin()));
  std::array<int, kTraversalOrders> wins{};
  for (size_t order = 0; order < kTraversalOrders; ++order) {
    wins[order] = kPublished[static_cast<size_t>(family)][row][kColumns[order]];
  }
  return wins;
}

// Mean nanoseconds of each order, and over how many repeats.
struct Means {
  PerOrder sum{};
  int repeats = 0;
  double Mean(size_t order) const { return sum[order] / repeats; }
};

// By graph, of the chunks of one family, number of devices, policy and number of episodes.
std::map<int, Means> MeansOf(const TraversalStore& store, GraphFamily family, int devices,
                             TraversalPolicy policy, int64_t run_for, int64_t episodes) {
  const std::vector<int64_t> checkpoints = TraversalCheckpoints(run_for);
  const auto at = static_cast<size_t>(std::find(checkpoints.begin(), checkpoints.end(), episodes) -
                                      checkpoints.begin());
  PW_CHECK(at < checkpoints.size());
  std::map<int, Means> means;
  for (const auto& [chunk, times] : store.chunks()) {
    if (chunk.family != family || chunk.devices != devices || chunk.policy != policy ||
        chunk.episodes != run_for) {
      continue;
    }
    Means& of_graph = means[chunk.graph];
    of_graph.repeats += TraversalChunk::kRepeats;
    for (size_t order = 0; order < kTraversalOrders; ++order) {
      for (const std::vector<int64_t>& repeat : times[order]) {
        of_graph.sum[order] += static_cast<double>(repeat[at]);
      }
    }
  }
  return means;
}

TraversalFinding FindingOf(const std::map<int, Means>& means) {
  TraversalFinding finding;
  finding.graphs = means.size();
  std::vector<PerOrder> blocks;
  std::vector<double> spreads;
  for (const auto& [graph, of_graph] : means) {
    PerOrder block{};
    for (size_t order = 0; order < kTraversalOrders; ++order) block[order] = of_graph.Mean(order);
    const auto [best, worst] = std::minmax_element(block.begin(), block.end());
    const PerOrder win = WinOf(block);
    for (size_t order = 0; order < kTraversalOrders; ++order) finding.wins[order] += win[order];
    spreads.push_back(*worst / *best);
    finding.repeats =
        finding.repeats == 0 ? of_graph.repeats : std::min(finding.repeats, of_graph.repeats);
    blocks.push_back(block);
  }
  finding.friedman_p = FriedmanP(blocks);
  finding.worst_to_best = MedianOf(spreads);
  return finding;
}

ControlFinding Compare(const std::map<int, Means>& means, const std::map<int, Means>& control) {
  ControlFinding finding;
  std::array<std::vector<double>, kTraversalOrders> logarithms;
  for (const auto& [graph, of_graph] : means) {
    const auto other = control.find(graph);
    if (other == control.end() || other->second.repeats != of_graph.repeats) continue;
    ++finding.graphs;
    for (size_t order = 0; order < kTraversalOrders; ++order) {
      logarithms[order].push_back(std::log(of_graph.Mean(order) / other->second.Mean(order)));
    }
  }
  std::vector<double> ps;
  for (size_t order = 0; order < kTraversalOrders; ++order) {
    finding.ratio[order] = logarithms[order].empty() ? 1 : std::exp(MedianOf(logarithms[order]));
    ps.push_back(WilcoxonP(logarithms[order]));
  }
  const std::vector<double> corrected = HolmCorrected(ps);
  std::copy(corrected.begin(), corrected.end(), finding.p.begin());
  return finding;
}

}  // namespace

std::map<int, PerOrder> MeanTimes(const TraversalStore& store, GraphFamily family, int devices,
                                  TraversalPolicy policy, int64_t episodes) {
  std::map<int, PerOrder> times;
  for (const auto& [graph, means] :
       MeansOf(store, family, devices, policy, std::max<int64_t>(50, episodes), episodes)) {
    for (size_t order = 0; order < kTraversalOrders; ++order) {
      times[graph][order] = means.Mean(order);
    }
  }
  return times;
}

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 1;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

PerOrder WinOf(const PerOrder& means) {
  const double best = *std::min_element(means.begin(), means.end());
  const auto winners = static_cast<double>(std::count(means.begin(), means.end(), best));
  PerOrder win{};
  for (size_t order = 0; order < kTraversalOrders; ++order) {
    if (means[order] == best) win[order] = 1 / winners;
  }
  return win;
}

double FriedmanStatistic(std::span<const PerOrder> blocks) {
  constexpr auto kOrders = static_cast<double>(kTraversalOrders);
  const auto n = static_cast<double>(blocks.size());
  PerOrder sums{};
  double ties = 0;  // of each group of t equal values, t^3 - t
  for (const PerOrder& block : blocks) {
    const std::vector<double> ranks = RanksOf(block);
    std::map<double, double> equal;
    for (size_t order = 0; order < kTraversalOrders; ++order) {
      sums[order] += ranks[order];
      ++equal[ranks[order]];
    }
    for (const auto& [rank, count] : equal) ties += count * count * count - count;
  }
  double squares = 0;
  for (const double sum : sums)
    squares += (sum - n * (kOrders + 1) / 2) * (sum - n * (kOrders + 1) / 2);
  const double scale = n * kOrders * (kOrders + 1) - ties / (kOrders - 1);
  return scale > 0 ? 12 * squares / scale : 0;
}

double ChiSquareTail(double x) {
  constexpr double kPi = 3.14159265358979323846;
  return std::erfc(std::sqrt(x / 2)) + std::sqrt(2 * x / kPi) * std::exp(-x / 2) * (1 + x / 3);
}

double FriedmanP(std::span<const PerOrder> blocks) {
  constexpr size_t kFewBlocks = 20;
  constexpr int kDraws = 9999;
  if (blocks.empty()) return 1;
  const double found = FriedmanStatistic(blocks);
  if (blocks.size() > kFewBlocks) return ChiSquareTail(found);
  // Ranks, whose ties stay what they are: only the sums differ from draw to draw, and the statistic grows with their
  // squares.
  std::vector<std::vector<double>> ranks;
  for (const PerOrder& block : blocks) ranks.push_back(RanksOf(block));
  const double mean = static_cast<double>(blocks.size() * (kTraversalOrders + 1)) / 2;
  const auto squares_of = [&] {
    double squares = 0;
    for (size_t order = 0; order < kTraversalOrders; ++order) {
      double sum = -mean;
      for (const std::vector<double>& block : ranks) sum += block[order];
      squares += sum * sum;
    }
    return squares;
  };
  const double enough = squares_of() * (1 - 1e-9);
  Random random(0);
  int as_large = 1;
  for (int draw = 0; draw < kDraws; ++draw) {
    for (std::vector<double>& block : ranks) {
      for (size_t i = kTraversalOrders - 1; i > 0; --i) {
        std::swap(block[i], block[static_cast<size_t>(random.Below(i + 1))]);
      }
    }
    as_large += squares_of() >= enough ? 1 : 0;
  }
  return static_cast<double>(as_large) / (kDraws + 1);
}

double WilcoxonP(std::span<const double> differences) {
  std::vector<double> sizes, signs;
  for (const double difference : differences) {
    if (difference == 0) continue;
    sizes.push_back(std::abs(difference));
    signs.push_back(difference > 0 ? 1 : 0);
  }
  if (sizes.empty()) return 1;
  // Twice the ranks are integers; how many of the 2^n choices of signs give each sum.
  const std::vector<double> ranks = RanksOf(sizes);
  std::vector<double> ways = {1};
  double positive = 0, all = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto twice = static_cast<size_t>(std::lround(2 * ranks[i]));
    positive += 2 * ranks[i] * signs[i];
    all += 2 * ranks[i];
    std::vector<double> next(ways.size() + twice, 0);
    for (size_t sum = 0; sum < ways.size(); ++sum) {
      next[sum] += ways[sum] / 2;
      next[sum + twice] += ways[sum] / 2;
    }
    ways = std::move(next);
  }
  const double low = std::min(positive, all - positive);
  double tail = 0;
  for (size_t sum = 0; sum < ways.size() && static_cast<double>(sum) <= low + 0.5; ++sum) {
    tail += ways[sum];
  }
  return std::min(1.0, 2 * tail);
}

std::vector<double> HolmCorrected(std::span<const double> ps) {
  std::vector<size_t> by_p(ps.size());
  std::iota(by_p.begin(), by_p.end(), 0);
  std::sort(by_p.begin(), by_p.end(), [&](size_t a, size_t b) { return ps[a] < ps[b]; });
  std::vector<double> corrected(ps.size());
  double greatest = 0;
  for (size_t i = 0; i < by_p.size(); ++i) {
    greatest = std::max(greatest, std::min(1.0, ps[by_p[i]] * static_cast<double>(ps.size() - i)));
    corrected[by_p[i]] = greatest;
  }
  return corrected;
}

std::span<const TraversalPolicy> ControlsOf(TraversalPolicy policy) {
  using enum TraversalPolicy;
  static constexpr std::array kOfPublished{kUniform, kUntrained, kImprovement};
  static constexpr std::array kOfImprovement{kUniform, kUntrained, kPublished};
  if (policy == kPublished) return kOfPublished;
  if (policy == kImprovement) return kOfImprovement;
  return {};
}

std::vector<TraversalFinding> FindTraversalResults(const TraversalStore& store,
                                                   TraversalPolicy policy) {
  std::vector<TraversalFinding> findings;
  for (const GraphFamily family : StudiedFamilies()) {
    for (const int devices : {3, 5, 8}) {
      for (const int64_t episodes : {10, 20, 50, 500}) {
        const int64_t run_for = episodes <= 50 ? 50 : episodes;
        const auto means = MeansOf(store, family, devices, policy, run_for, episodes);
        if (means.empty()) continue;
        TraversalFinding finding = FindingOf(means);
        for (const TraversalPolicy control : ControlsOf(policy)) {
          finding.controls.push_back(
              Compare(means, MeansOf(store, family, devices, control, run_for, episodes)));
          finding.controls.back().control = control;
        }
        finding.family = family;
        finding.devices = devices;
        finding.episodes = episodes;
        finding.published = PublishedWins(family, devices, episodes);
        findings.push_back(finding);
      }
    }
  }
  return findings;
}

}  // namespace placewright
