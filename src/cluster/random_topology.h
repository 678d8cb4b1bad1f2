// Random machines, as TAG draws them to train on (TAG sec. 5.2).
//
// A number of machines in [1, 6], on each a number of GPUs in [1, 8] of one of three types, a
// bandwidth between the GPUs of a machine in [64, 160] Gb/s (with and without NVLink) and one
// between machines in [20, 50] Gb/s (their distance). All draws are uniform, bandwidths in whole
// Mb/s, independent, and made per machine: what a transfer between two machines gets is the less of
// their NICs'.
//
// Deviations: TAG names no types (the GPUs of its testbed are the default here) and no CPUs; each
// machine has one Xeon E5-2650 v4 with 128 GiB, whose GPUs hang on it at the drawn bandwidth.
#ifndef PLACEWRIGHT_CLUSTER_RANDOM_TOPOLOGY_H_
#define PLACEWRIGHT_CLUSTER_RANDOM_TOPOLOGY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster_builder.h"

namespace placewright {

struct DrawRange {
  int64_t min = 0, max = 0;  // both may be drawn
};

struct RandomTopologyOptions {
  DrawRange machines{1, 6};
  DrawRange gpus{1, 8};                    // of each machine
  DrawRange inside_mbps{64'000, 160'000};  // bandwidth of a GPU's link
  DrawRange between_mbps{20'000, 50'000};  // bandwidth of a machine's NIC
  std::vector<std::string> kinds = {"V100-32GB", "GTX-1080Ti", "P100-12GB"};
};

// The same options and seed always give the same topology. Errors: kUsage (an empty or impossible
// range, more devices than a cluster may have, no kinds), kUnknownName (a kind that the catalogue
// does not have), kField (one that is no GPU).
// `name`: of the cluster; empty: "random-SEED".
Result<ClusterBuilder> DrawTopology(const RandomTopologyOptions& options, uint64_t seed,
                                    std::string name = {});

// The seed of "random:SEED", the name of such a topology of TAG's ranges and types; none: another name.
std::optional<uint64_t> RandomTopologySeed(std::string_view name);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_RANDOM_TOPOLOGY_H_
