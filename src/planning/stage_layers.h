// Where a pipeline that is asked for by its name is cut, if its stages have unequal GPUs.
#ifndef PLACEWRIGHT_PLANNING_STAGE_LAYERS_H_
#define PLACEWRIGHT_PLANNING_STAGE_LAYERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/cost_model.h"
#include "graph/graph.h"

namespace placewright {

// The layers of each chunk of `asked`, a pipeline of the recorded step, by dynamic programming
// (search/strategies/pipeline_stages.h): as much as fits, or where nothing does the fastest. `algorithm`: 3d, or that of the
// schedule; `stated`: its settings ("gpus=A100", "tensor=4"). None: stages have equal numbers of GPUs of one kind, and chunks
// equal work; or there is no such pipeline, which its planner says. Errors: those of MakeLayouts, WithRecomputation and
// DevicesToSplitOver.
Result<std::vector<int64_t>> LayersOfUnequalStages(const Graph& step, const Cluster& cluster,
                                                   const CostOptions& costs, const Rewriting& asked,
                                                   std::string_view algorithm,
                                                   const std::vector<std::string>& stated);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_STAGE_LAYERS_H_
