#include "search/partition/partition_placers.h"

#include <algorithm>
#include <string>

#include "search/partition/group_graph.h"

namespace placewright {
namespace {

PartitionOptions OptionsFor(const PlacerInput& input) {
  PartitionOptions options;
  options.parts = static_cast<int>(input.candidates.accelerators.size());
  options.seed = input.seed + static_cast<uint64_t>(input.attempt);
  for (DeviceId device : input.candidates.accelerators) {
    const double work = static_cast<double>(std::max<int64_t>(1, input.candidates.work[device]));
    options.shares.push_back({1 / work, static_cast<double>(input.candidates.capacity[device])});
  }
  return options;
}

// Parts are accelerators; a group that may not run there takes its first preferred device.
GroupPlacement DevicesOf(const PlacerInput& input, const std::vector<int32_t>& part_of) {
  GroupPlacement device_of;
  for (ColocationGroupId u : IdsOf(input.groups)) {
    const std::vector<DeviceId>& allowed = input.candidates.preferred[u];
    const DeviceId wanted = input.candidates.accelerators[part_of[u.index()]];
    const bool may = std::binary_search(allowed.begin(), allowed.end(), wanted);
    device_of.push_back(may ? wanted : allowed.front());
  }
  return device_of;
}

}  // namespace

GroupPlacement PlacePartition(const PlacerInput& input, std::string_view planner,
                              const Result<std::vector<int32_t>>& parts) {
  if (parts.ok()) return DevicesOf(input, parts.value());
  if (input.notes != nullptr) {
    input.notes->push_back(std::string(planner) + ": no partition was made (" +
                           parts.error().message + "); all went to the first accelerator");
  }
  return DevicesOf(input, std::vector<int32_t>(input.groups.size(), 0));
}

GroupPlacement PlaceMetis(const PlacerInput& input) {
  WeightedGraph graph = MakeGroupGraph(input.problem, input.groups);
  PartitionOptions options = OptionsFor(input);
  if (input.attempt == 0) {
    graph.weights.resize(1);
    for (auto& share : options.shares) share.resize(1);
  } else {
    options.imbalance = 0.2 / input.attempt;
  }
  return PlacePartition(input, "metis", PartitionMetis(graph, options));
}

GroupPlacement PlaceScotch(const PlacerInput& input) {
  WeightedGraph graph = MakeGroupGraph(input.problem, input.groups);
  const PartitionOptions options = OptionsFor(input);
  // attempt / 4 of a node's weight is its share of the memory, the rest its share of the time.
  constexpr int64_t kScale = int64_t{1} << 24;
  __int128 total_time = 1, total_bytes = 1;
  for (int64_t time : graph.weights[0]) total_time += time;
  for (int64_t bytes : graph.weights[1]) total_bytes += bytes;
  for (int32_t u = 0; u < graph.nodes(); ++u) {
    const auto time = static_cast<int64_t>(graph.weights[0][u] * __int128{kScale} / total_time);
    const auto bytes = static_cast<int64_t>(graph.weights[1][u] * __int128{kScale} / total_bytes);
    graph.weights[0][u] = (4 - input.attempt) * time + input.attempt * bytes;
  }
  return PlacePartition(input, "scotch", PartitionScotch(graph, options));
}

}  // namespace placewright
