#include "search/proof/memory_cut.h"

#include <algorithm>
#include <set>

#include "search/problem/lifetimes.h"

namespace placewright {
namespace {

using OpSet = IdVector<ExecOpId, char>;

OpSet Ancestors(const OpGraph& graph, ExecOpId op) {
  OpSet seen(graph.ops, 0);
  std::vector<ExecOpId> stack{op};
  const auto visit = [&](ExecOpId next) {
    if (!next.valid() || seen[next]) return;
    seen[next] = 1;
    stack.push_back(next);
  };
  while (!stack.empty()) {
    const ExecOpId at = stack.back();
    stack.pop_back();
    for (const OpInput& input : graph.Inputs(at)) visit(input.producer);
    for (ExecOpId first : graph.Before(at)) visit(first);
  }
  return seen;
}

// Includes op itself.
OpSet Descendants(const OpGraph& graph, ExecOpId op) {
  OpSet seen(graph.ops, 0);
  std::vector<ExecOpId> stack{op};
  seen[op] = 1;
  while (!stack.empty()) {
    const ExecOpId at = stack.back();
    stack.pop_back();
    for (ExecOpId next : graph.Successors(at)) {
      if (seen[next]) continue;
      seen[next] = 1;
      stack.push_back(next);
    }
  }
  return seen;
}

}  // namespace

MemoryCut CutAt(const Problem& problem, const OpGraph& graph, ExecOpId op) {
  const SimGraph& sim_graph = problem.sim_graph;
  const OpSet before = Ancestors(graph, op);
  const OpSet after = Descendants(graph, op);
  MemoryCut cut;
  cut.op = op;
  IdVector<StorageId, int32_t> index(sim_graph.storage_class.size(), -1);  // into cut.live
  const auto entry = [&](StorageId storage, ColocationGroupId group) -> LiveStorage& {
    if (index[storage] < 0) {
      index[storage] = static_cast<int32_t>(cut.live.size());
      cut.live.push_back({group, {}, 0});
    }
    return cut.live[index[storage]];
  };
  for (SliceId crossing : sim_graph.slice_ids()) {
    const StorageId storage = sim_graph.slice_storage[crossing];
    const ExecOpId writer = sim_graph.slice_writer[crossing];
    if (!writer.valid() || !before[writer]) continue;
    if (sim_graph.storage_class[storage] != StorageClass::kTransient) continue;
    for (ExecOpId reader : sim_graph.slice_readers[crossing]) {
      if (!after[reader]) continue;
      LiveStorage& live = entry(storage, graph.group_of[writer]);
      live.bytes = std::max(live.bytes, sim_graph.slice_bytes[crossing]);
      if (live.reader_groups.empty() || live.reader_groups.back() != graph.group_of[reader]) {
        live.reader_groups.push_back(graph.group_of[reader]);
      }
    }
  }
  for (VersionId version : sim_graph.op_makes[op]) {
    const StorageId storage = sim_graph.version_storage[version];
    if (sim_graph.storage_class[storage] != StorageClass::kTransient) continue;
    LiveStorage& live = entry(storage, graph.group_of[op]);
    live.bytes = sim_graph.storage_bytes[storage];
    live.reader_groups.push_back(live.group);
  }
  for (const LiveStorage& live : cut.live) {
    cut.live_bytes = SaturatingAdd(cut.live_bytes, live.bytes);
  }
  return cut;
}

std::vector<MemoryCut> LargestCuts(const Problem& problem, const OpGraph& graph, int samples,
                                   size_t keep) {
  std::vector<MemoryCut> cuts;
  if (graph.order.empty()) return cuts;
  std::set<size_t> steps{static_cast<size_t>(FindLifetimes(problem, graph).peak_step)};
  for (int i = 0; i < samples; ++i) {
    steps.insert(graph.order.size() * (2 * static_cast<size_t>(i) + 1) /
                 (2 * static_cast<size_t>(samples)));
  }
  for (size_t step : steps) {
    cuts.push_back(CutAt(problem, graph, graph.order[step]));
    std::stable_sort(cuts.begin(), cuts.end(), [](const MemoryCut& a, const MemoryCut& b) {
      return a.live_bytes > b.live_bytes;
    });
    if (cuts.size() > keep) cuts.pop_back();
  }
  return cuts;
}

int64_t TotalPersistent(const Problem& problem) {
  const SimGraph& sim_graph = problem.sim_graph;
  int64_t total = 0;
  for (StorageId s : sim_graph.storage_ids()) {
    const bool has_home = sim_graph.fixed_home[s].valid() || sim_graph.home_op[s].valid();
    if (sim_graph.storage_class[s] == StorageClass::kPersistent && has_home) {
      total = SaturatingAdd(total, sim_graph.storage_bytes[s]);
    }
  }
  return total;
}

}  // namespace placewright
