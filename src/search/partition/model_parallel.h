// Model parallelism as TAG has it (sec. 4.1.1): whole ops, cut into one part a device by METIS, with equal time in each and
// few bytes between them. `metis` has parts by the devices' speed and memory (partition_placers.h). Nothing is drawn: the
// seed is always the same. Layouts are of the step after its transforms, which may be cut in another way.
#ifndef PLACEWRIGHT_SEARCH_PARTITION_MODEL_PARALLEL_H_
#define PLACEWRIGHT_SEARCH_PARTITION_MODEL_PARALLEL_H_

#include <vector>

#include "base/result.h"
#include "cost/cost_table.h"
#include "graph/graph.h"
#include "plan/layout.h"
#include "search/constructive/placer.h"

namespace placewright {

// Of a whole step, over the accelerators.
class ModelParallelPlanner : public ConstructivePlanner {
 public:
  ModelParallelPlanner();
  bool in_auto() const override { return false; }  // `metis` is
  bool on_calling_thread() const override { return true; }
};

// Of some groups, as layouts by hand leave them open: each gets one of the devices. Groups weigh the minimum time of their
// ops, edges the bytes that would cross. `speeds`: of the devices, to which the parts are in proportion; none: they are
// alike. Errors: those of PartitionMetis.
Status PlaceModelParallel(const Graph& graph, const CostTable& costs,
                          const std::vector<GroupId>& groups, const std::vector<DeviceId>& devices,
                          const std::vector<double>& speeds, Layouts& layouts);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PARTITION_MODEL_PARALLEL_H_
