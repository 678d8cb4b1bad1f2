// Model parallelism as TAG has it (sec. 4.1.1): whole ops, cut into one part a device. What the option of that name in
// layouts means.
#ifndef PLACEWRIGHT_SEARCH_PARTITION_MODEL_PARALLEL_H_
#define PLACEWRIGHT_SEARCH_PARTITION_MODEL_PARALLEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cost/cost_table.h"
#include "graph/graph.h"

namespace placewright {

// METIS on the groups: nodes by the minimum time of their ops, edges by the bytes that would cross. Errors: those of
// PartitionMetis.
Result<std::vector<int32_t>> CutByMetis(const Graph& graph, const CostTable& costs,
                                        const std::vector<GroupId>& groups, size_t parts);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PARTITION_MODEL_PARALLEL_H_
