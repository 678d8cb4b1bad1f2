#include "search/constructive/layered.h"

#include <algorithm>

namespace placewright {
namespace {

using LayerId = Id<struct LayerTag>;
using LayerOfGroup = IdVector<ColocationGroupId, LayerId>;

struct Layer {
  std::vector<int64_t> time;  // [index of accelerator]
  int64_t bytes = 0;
  __int128 weighted_position = 0;
  int64_t weight = 0;
  int32_t first_position = 0;
};

// Layer of every group: its module, or its leader where there are too few modules.
LayerOfGroup LayerOfGroups(const PlacerInput& input) {
  IdVector<ModuleId, LayerId> layer_of_module(input.problem.graph->module_count());
  LayerOfGroup layer_of(input.groups.size());
  int32_t modules = 0;
  for (ColocationGroupId u : IdsOf(input.groups)) {
    LayerId& layer = layer_of_module[input.groups[u].module];
    if (!layer.valid()) layer = LayerId(modules++);
    layer_of[u] = layer;
  }
  if (modules >= 2 * static_cast<int32_t>(input.candidates.accelerators.size())) return layer_of;
  for (ColocationGroupId u : IdsOf(input.groups)) {
    layer_of[u] = LayerId(input.groups[u].leader.value());
  }
  return layer_of;
}

IdVector<LayerId, Layer> MakeLayers(const PlacerInput& input, const LayerOfGroup& layer_of) {
  const std::vector<DeviceId>& accelerators = input.candidates.accelerators;
  const SimGraph& sim_graph = input.problem.sim_graph;
  const size_t count =
      layer_of.empty() ? 0 : std::max_element(layer_of.begin(), layer_of.end())->index() + 1;
  IdVector<LayerId, Layer> layers(count);
  for (Layer& layer : layers) layer.time.assign(accelerators.size(), 0);
  for (ColocationGroupId u : IdsOf(layer_of)) {
    const GroupInfo& group = input.groups[u];
    Layer& layer = layers[layer_of[u]];
    layer.bytes = SaturatingAdd(layer.bytes, SaturatingAdd(group.persistent, group.live_at_peak));
    const int64_t weight = group.forward ? group.time : 0;
    layer.weighted_position += static_cast<__int128>(weight) * group.position;
    layer.weight = SaturatingAdd(layer.weight, weight);
    layer.first_position = group.position;
  }
  for (ExecOpId op : sim_graph.exec_ops()) {
    Layer& layer = layers[layer_of[input.graph.group_of[op]]];
    for (size_t k = 0; k < accelerators.size(); ++k) {
      const int64_t time = sim_graph.Time(op, accelerators[k]);
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

// The filling of smallest limit; empty if the capacities allow none.
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

GroupPlacement PlaceLayered(const PlacerInput& input) {
  const std::vector<DeviceId>& accelerators = input.candidates.chain;
  const LayerOfGroup layer_of = LayerOfGroups(input);
  const IdVector<LayerId, Layer> layers = MakeLayers(input, layer_of);
  std::vector<LayerId> order;
  for (LayerId layer : IdRange<LayerId>(layers.size())) order.push_back(layer);
  const auto position = [&](LayerId i) {
    const Layer& layer = layers[i];
    return layer.weight > 0 ? static_cast<int64_t>(layer.weighted_position / layer.weight)
                            : layer.first_position;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](LayerId a, LayerId b) { return position(a) < position(b); });
  Costs times, fractions;
  std::vector<int64_t> bytes, capacity;
  for (DeviceId device : accelerators) {
    const int64_t c = input.candidates.capacity[device];
    capacity.push_back(c - c / 8 * input.attempt);
  }
  for (LayerId i : order) {
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
  IdVector<LayerId, DeviceId> device_of_layer(layers.size(), accelerators.front());
  for (size_t i = 0; i < run_of.size(); ++i) device_of_layer[order[i]] = accelerators[run_of[i]];
  GroupPlacement device_of;
  for (ColocationGroupId u : IdsOf(layer_of)) {
    const std::vector<DeviceId>& allowed = input.candidates.preferred[u];
    const DeviceId wanted = device_of_layer[layer_of[u]];
    const bool may = std::find(allowed.begin(), allowed.end(), wanted) != allowed.end();
    device_of.push_back(may ? wanted : allowed.front());
  }
  return device_of;
}

}  // namespace placewright
