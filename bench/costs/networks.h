// Training steps of the networks that published throughputs name, for any batch.
#ifndef PLACEWRIGHT_BENCH_COSTS_NETWORKS_H_
#define PLACEWRIGHT_BENCH_COSTS_NETWORKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace placewright::bench {

// "resnet50", "vgg16", "inception3", ...; nullopt for a name that is not in NetworkNames().
std::optional<Graph> BuildNetwork(std::string_view name, int64_t batch);
std::vector<std::string> NetworkNames();

}  // namespace placewright::bench

#endif  // PLACEWRIGHT_BENCH_COSTS_NETWORKS_H_
