// Which devices a planner considers for every colocation group.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_CANDIDATE_DEVICES_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_CANDIDATE_DEVICES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "search/problem/connections.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

// Two narrowings of ColocationGroup::allowed:
//  * `any`: all allowed devices; under CandidateScope::kMutuallyReachable those of which every
//    combination is connected (KeepConnected), which is no narrowing in a cluster without
//    unreachable pairs;
//  * `preferred`: of these the accelerators, if the group may run on one. An accelerator is a
//    device at most kSlowest times slower than the fastest over the ops that both support.
//
// Methods confined to CandidateScope::kMutuallyReachable always make a connected plan if they can;
// under kAll they may use every device, and must look at `connections`.
enum class CandidateScope { kMutuallyReachable, kAll };

struct CandidateDevices {
  static constexpr int64_t kSlowest = 8;
  GroupDevices any, preferred;         // ascending
  std::vector<DeviceId> accelerators;  // ascending; never empty
  // Accelerators in the order in which to fill them: all, or, with `connections`, a DeviceChain.
  std::vector<DeviceId> chain;
  // What plans must respect; nothing if every combination of `any` is connected.
  std::optional<Connections> connections;
  IdVector<DeviceId, int64_t> work;      // time of all ops there; unsupported ones at their min
  IdVector<DeviceId, int64_t> capacity;  // TensorCapacity
};

// What each device offers to tensors: its capacity less the runtime context, at least 0.
IdVector<DeviceId, int64_t> TensorCapacity(const SimGraph& sim_graph);

// O(ops * devices), plus KeepConnected's part in clusters with unreachable pairs.
CandidateDevices FindCandidateDevices(const Problem& problem, const OpGraph& graph,
                                      CandidateScope scope = CandidateScope::kMutuallyReachable);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_CANDIDATE_DEVICES_H_
