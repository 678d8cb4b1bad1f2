#include "search/local/patterns.h"

#include <string_view>
#include <utility>

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

IdVector<ColocationGroupId, uint64_t> PatternLabels(const Problem& problem, const OpGraph& graph) {
  constexpr int kRounds = 2;
  constexpr uint64_t kFromProducer = 1, kFromConsumer = 2;
  // Sums, because the ops of a group and the neighbours of one have no order.
  IdVector<ColocationGroupId, uint64_t> label(problem.groups.size(), 0);
  for (ExecOpId op : graph.exec_ops()) {
    const uint64_t type = HashOf(problem.graph->op(problem.sim_graph.op_of[op]).type);
    const uint64_t phase = static_cast<uint64_t>(graph.phase[op]);
    const auto time = static_cast<uint64_t>(problem.sim_graph.min_time[op]);
    label[graph.group_of[op]] += Mix(type + Mix(time) + 3 * phase);
  }
  for (int round = 0; round < kRounds; ++round) {
    IdVector<ColocationGroupId, uint64_t> next;
    for (const uint64_t own : label) next.push_back(Mix(own));
    for (ExecOpId op : graph.exec_ops()) {
      const ColocationGroupId to = graph.group_of[op];
      for (const OpInput& input : graph.Inputs(op)) {
        const ColocationGroupId from = graph.SourceOf(input);
        if (!from.valid() || from == to) continue;
        next[to] += Mix(label[from] ^ kFromProducer);
        next[from] += Mix(label[to] ^ kFromConsumer);
      }
    }
    label = std::move(next);
  }
  return label;
}

}  // namespace placewright
