// Planners that cut the graph into as many parts as there are accelerators: `metis` and `scotch`.
//
//   graph  of colocation groups (group_graph.h)
//   parts  accelerators; share of the time in proportion to speed (1 / time of all ops there),
//          share of the memory in proportion to capacity
//
// The partitioners do not know precedence: they balance total work, not work at any moment, and
// that is what the papers compare with (GDP sec. 4.1: METIS). Attempt 0 balances time alone, as
// they do; later attempts, taken where the plan overflows, bring memory in: METIS as a second
// constraint with less and less imbalance, Scotch, which knows one weight, by mixing it in.
#ifndef PLACEWRIGHT_SEARCH_PARTITION_PARTITION_PLACERS_H_
#define PLACEWRIGHT_SEARCH_PARTITION_PARTITION_PLACERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "search/constructive/placer.h"

namespace placewright {

// A partitioner that fails (out of memory) leaves every group to the first accelerator, or its
// first preferred device, and a note to the user.
GroupPlacement PlaceMetis(const PlacerInput& input);
GroupPlacement PlaceScotch(const PlacerInput& input);

class MetisPlanner : public ConstructivePlanner {
 public:
  explicit MetisPlanner(int attempts)
      : ConstructivePlanner(
            "metis", "METIS on colocation groups, one part a device (Karypis and Kumar, SISC 1998)",
            &PlaceMetis, attempts) {}
  bool on_calling_thread() const override { return true; }
};

// The placement that a partition of the groups means, or a failure.
GroupPlacement PlacePartition(const PlacerInput& input, std::string_view planner,
                              const Result<std::vector<int32_t>>& parts);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PARTITION_PARTITION_PLACERS_H_
