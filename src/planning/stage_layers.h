// Where a pipeline that is asked for by its name is cut on GPUs of several kinds.
#ifndef PLACEWRIGHT_PLANNING_STAGE_LAYERS_H_
#define PLACEWRIGHT_PLANNING_STAGE_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/cost_model.h"
#include "graph/graph.h"

namespace placewright {

// The layers of each chunk of `asked`, a pipeline of the recorded step, by dynamic programming
// (search/strategies/pipeline_stages.h): as much as fits, or where nothing does the fastest. `settings`: of its algorithm
// ("gpus=A100", "tensor=4"). None: its GPUs are alike, and chunks have equal work; or there is no such pipeline, which its
// planner says. Errors: those of MakeLayouts, WithRecomputation and DevicesToSplitOver.
Result<std::vector<int64_t>> LayersOfUnequalStages(const Graph& step, const Cluster& cluster,
                                                   const CostOptions& costs, const Rewriting& asked,
                                                   const std::vector<std::string>& settings);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_STAGE_LAYERS_H_
