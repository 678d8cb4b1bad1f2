// Which devices a planner considers for every placement unit.
#ifndef PLACEWRIGHT_SEARCH_DOMAIN_H_
#define PLACEWRIGHT_SEARCH_DOMAIN_H_

#include <cstdint>
#include <vector>

#include "search/op_graph.h"
#include "search/problem.h"

namespace placewright {

// Two narrowings of PlacementUnit::allowed:
//  * `any`: allowed devices such that every combination is connected (KeepConnected); all of them
//    in a cluster without unreachable pairs;
//  * `preferred`: of these the accelerators, if the unit may run on one. An accelerator is a device
//    at most kSlowest times slower than the fastest over the ops that both support.
struct Domain {
  static constexpr int64_t kSlowest = 8;
  std::vector<std::vector<int32_t>> any, preferred;  // [unit], ascending devices
  std::vector<int32_t> accelerators;                 // ascending; never empty
  std::vector<int64_t> work;      // [device] time of all ops there; unsupported ones at their least
  std::vector<int64_t> capacity;  // TensorCapacity
};

// What each device offers to tensors: its capacity less the runtime context, at least 0.
std::vector<int64_t> TensorCapacity(const StepProgram& program);

// O(ops * devices), plus KeepConnected's part in clusters with unreachable pairs.
Domain MakeDomain(const Problem& problem, const OpGraph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_DOMAIN_H_
