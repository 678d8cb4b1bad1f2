#include "search/constructive/layered.h"

#include <algorithm>
#include <numeric>

namespace placewright {
namespace {

struct Layer {
  std::vector<int64_t> time;  // [index of accelerator]
  int64_t bytes = 0;
  __int128 weighted_position = 0;
  int64_t weight = 0;
  int32_t first_position = 0;
};

// Layer of every group: its module, or its leader where there are too few modules.
std::vector<int32_t> LayerOfGroups(const PlacerInput& input) {
  std::vector<int32_t> layer_of_module(input.problem.graph->module_count(), -1);
  std::vector<int32_t> layer_of(input.groups.size());
  int32_t modules = 0;
  for (size_t u = 0; u < input.groups.size(); ++u) {
    int32_t& layer = layer_of_module[input.groups[u].module.index()];
    if (layer < 0) layer = modules++;
    layer_of[u] = layer;
  }
  if (modules >= 2 * static_cast<int32_t>(input.candidates.accelerators.size())) return layer_of;
  for (size_t u = 0; u < input.groups.size(); ++u) layer_of[u] = input.groups[u].leader;
  return layer_of;
}

std::vector<Layer> MakeLayers(const PlacerInput& input, const std::vector<int32_t>& layer_of) {
  const std::vector<int32_t>& accelerators = input.candidates.accelerators;
  const SimGraph& sim_graph = input.problem.sim_graph;
  const int32_t count =
      layer_of.empty() ? 0 : *std::max_element(layer_of.begin(), layer_of.end()) + 1;
  std::vector<Layer> layers(count);
  for (Layer& layer : layers) layer.time.assign(accelerators.size(), 0);
  for (size_t u = 0; u < layer_of.size(); ++u) {
    const GroupInfo& group = input.groups[u];
    Layer& layer = layers[layer_of[u]];
    layer.bytes = SaturatingAdd(layer.bytes, SaturatingAdd(group.persistent, group.live_at_peak));
    const int64_t weight = group.forward ? group.time : 0;
    layer.weighted_position += static_cast<__int128>(weight) * group.position;
    layer.weight = SaturatingAdd(layer.weight, weight);
    layer.first_position = group.position;
  }
  for (int32_t op = 0; op < sim_graph.ops; ++op) {
    Layer& layer = layers[layer_of[input.graph.group_of[op]]];
    for (size_t k = 0; k < accelerators.size(); ++k) {
      const int64_t time =
          sim_graph.time[static_cast<size_t>(op) * sim_graph.devices + accelerators[k]];
      layer.time[k] = SaturatingAdd(layer.time[k], time < 0 ? sim_graph.min_time[op] : time);
    }
  }
  return layers;
}

// Greedy filling in order: run of every layer such that no run's cost exceeds `limit`; empty if
// there is none.
using Costs = std::vector<std::vector<int64_t>>;  // [position in the order][run]
std::vector<int32_t> Fill(const Costs& costs, const std::vector<int64_t>& bytes,
                          const std::vector<int64_t>& capacity, int64_t limit) {
  std::vector<int32_t> run_of;
  size_t run = 0;
  int64_t cost = 0, used = 0;
  for (size_t i = 0; i < costs.size(); ++i) {
    while (run < capacity.size() && (SaturatingAdd(cost, costs[i][run]) > limit ||
                                     SaturatingAdd(used, bytes[i]) > capacity[run])) {
      ++run;
      cost = used = 0;
    }
    if (run == capacity.size()) return {};
    cost += costs[i][run];
    used += bytes[i];
    run_of.push_back(static_cast<int32_t>(run));
  }
  return run_of;
}

// The filling of least limit; empty if the capacities allow none.
std::vector<int32_t> BestFill(const Costs& costs, const std::vector<int64_t>& bytes,
                              const std::vector<int64_t>& capacity) {
  int64_t low = 0, high = kMaxQuantity;
  std::vector<int32_t> best = Fill(costs, bytes, capacity, high);
  while (!best.empty() && low < high) {
    const int64_t middle = low + (high - low) / 2;
    std::vector<int32_t> run_of = Fill(costs, bytes, capacity, middle);
    if (run_of.empty()) {
      low = middle + 1;
    } else {
      best = std::move(run_of);
      high = middle;
    }
  }
  return best;
}

}  // namespace

std::vector<int32_t> PlaceLayered(const PlacerInput& input) {
  const std::vector<int32_t>& accelerators = input.candidates.chain;
  const std::vector<int32_t> layer_of = LayerOfGroups(input);
  const std::vector<Layer> layers = MakeLayers(input, layer_of);
  std::vector<int32_t> order(layers.size());
  std::iota(order.begin(), order.end(), 0);
  const auto position = [&](int32_t i) {
    const Layer& layer = layers[i];
    return layer.weight > 0 ? static_cast<int64_t>(layer.weighted_position / layer.weight)
                            : layer.first_position;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return position(a) < position(b); });
  Costs times, fractions;
  std::vector<int64_t> bytes, capacity;
  for (int32_t device : accelerators) {
    const int64_t c = input.candidates.capacity[device];
    capacity.push_back(c - c / 8 * input.attempt);
  }
  for (int32_t i : order) {
    times.push_back(layers[i].time);
    bytes.push_back(layers[i].bytes);
    fractions.emplace_back();
    for (int64_t c : capacity) {
      fractions.back().push_back(static_cast<int64_t>(std::min<__int128>(
          kMaxQuantity, (static_cast<__int128>(layers[i].bytes) << 20) / std::max<int64_t>(1, c))));
    }
  }
  std::vector<int32_t> run_of = BestFill(times, bytes, capacity);
  if (run_of.empty()) {
    const std::vector<int64_t> unlimited(capacity.size(), kMaxQuantity);
    run_of = BestFill(fractions, std::vector<int64_t>(bytes.size(), 0), unlimited);
  }
  std::vector<int32_t> device_of_layer(layers.size(), accelerators.front());
  for (size_t i = 0; i < run_of.size(); ++i) device_of_layer[order[i]] = accelerators[run_of[i]];
  std::vector<int32_t> device_of;
  for (size_t u = 0; u < layer_of.size(); ++u) {
    const std::vector<int32_t>& allowed = input.candidates.preferred[u];
    const int32_t wanted = device_of_layer[layer_of[u]];
    const bool may = std::find(allowed.begin(), allowed.end(), wanted) != allowed.end();
    device_of.push_back(may ? wanted : allowed.front());
  }
  return device_of;
}

}  // namespace placewright
