// What of a step's rewriting the options leave open.
#ifndef PLACEWRIGHT_PLANNING_REWRITING_H_
#define PLACEWRIGHT_PLANNING_REWRITING_H_

#include <string>

#include "base/result.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "graph/transform.h"

namespace placewright {

// Of a pipeline, where nothing states them: as many stages as have their layers stated, or as there are hosts with GPUs, or
// GPUs on a single host, no more than layers, and fewer where only these find micro-batches; two chunks for interleaved; as
// many micro-batches as divide the batch, four for each stage at most, with a sample for every GPU of a stage. `of_groups`:
// stages hold tensor groups (3d), so that all have equally many GPUs, of a single host as many as two stages leave, where
// two divide them. Errors: kUsage (stages, chunks or their layers of no pipeline; no such number of micro-batches).
Result<Rewriting> ChooseRewriting(const Graph& step, const Cluster& cluster, Rewriting asked,
                                  bool of_groups = false);

// Whether GPUs of one kind, all of which have a part in stages without tensor parallelism, get a sample of each micro-batch:
// what the planner refuses (search/layouts/pipelines.h) once the step is rewritten, which takes seconds. Of several kinds
// some may be left out, so that nothing is said. Errors: kUsage.
Status CheckSamplesOfStages(const Graph& step, const Cluster& cluster, const Rewriting& rewriting);

// A pipeline is asked for by its schedule or by the algorithm of that name: either states the other; 3d is in the order of
// 1f1b unless a schedule is stated. `given`: there are
// layouts by hand, or a plan, in the place of an algorithm's.
void AlignPipeline(bool given, std::string& algorithm, Rewriting& asked);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_REWRITING_H_
