#include "search/local/patterns.h"

#include <string_view>

namespace placewright {
namespace {

// The finaliser of splitmix64 (Steele, Lea and Flood 2014).
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// FNV-1a.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::vector<uint64_t> PatternLabels(const Problem& problem, const OpGraph& graph) {
  constexpr int kRounds = 2;
  constexpr uint64_t kFromProducer = 1, kFromConsumer = 2;
  // Sums, because the ops of a group and the neighbours of one have no order.
  std::vector<uint64_t> label(problem.groups.size(), 0);
  for (int32_t op = 0; op < graph.ops; ++op) {
    const uint64_t type = HashOf(problem.graph->op(problem.sim_graph.op_of[op]).type);
    const uint64_t phase = static_cast<uint64_t>(graph.phase[op]);
    const auto time = static_cast<uint64_t>(problem.sim_graph.min_time[op]);
    label[graph.group_of[op]] += Mix(type + Mix(time) + 3 * phase);
  }
  for (int round = 0; round < kRounds; ++round) {
    std::vector<uint64_t> next;
    for (const uint64_t own : label) next.push_back(Mix(own));
    for (int32_t op = 0; op < graph.ops; ++op) {
      const int32_t to = graph.group_of[op];
      for (const OpInput& input : graph.Inputs(op)) {
        const int32_t from =
            input.producer >= 0 ? graph.group_of[input.producer] : input.home_group;
        if (from < 0 || from == to) continue;
        next[to] += Mix(label[from] ^ kFromProducer);
        next[from] += Mix(label[to] ^ kFromConsumer);
      }
    }
    label.swap(next);
  }
  return label;
}

}  // namespace placewright
