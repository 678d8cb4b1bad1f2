// Which forward ops are computed again together (internal to the module; recompute.h has the meaning of a set).
#ifndef PLACEWRIGHT_TRANSFORMS_RECOMPUTE_REGIONS_H_
#define PLACEWRIGHT_TRANSFORMS_RECOMPUTE_REGIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

struct RecomputedRegion {
  std::string name;       // of its module, or of an op of it
  int32_t module = 0;     // equal for calls of the same module
  std::vector<OpId> ops;  // forward, ascending
};

struct RecomputedRegions {
  std::vector<RecomputedRegion> regions;  // in the order of their first ops
  IdVector<OpId, int32_t> of_op;          // a region, or -1
  IdVector<OpId, bool> kept;              // what the op makes is not made again
};

// Errors: kUnknownName.
Result<RecomputedRegions> FindRecomputedRegions(const Graph& step,
                                                const std::vector<std::string>& set);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_RECOMPUTE_REGIONS_H_
