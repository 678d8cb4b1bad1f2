// The transform `pipeline`: the micro-batches of a step (accumulate.h) in the order of a pipeline's schedule. Ops stay as
// they are; only their order changes, which is that of each device under `--order program` (docs/simulator.md, rule 17).
// Which devices a stage has is the layouts' to say.
//
// A model is a chain of its layers, cut into chunks of as many layers as are stated or of about equal work, each at least
// a layer. Ops outside of layers go with a layer, too: forward ops with the last one that they read of, backward ops with
// the first, what reads of none with the first that reads it. Work is of no device: bytes moved, and arithmetic at 160 (16
// bits) or 15 operations a byte, about where the rooflines of GPUs bend.
#ifndef PLACEWRIGHT_TRANSFORMS_PIPELINE_H_
#define PLACEWRIGHT_TRANSFORMS_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/transform.h"

namespace placewright {

// The chunk of every op, from 0: of all that `pipeline` (kPipeline) cuts the step into. The same before and behind the
// transform. Errors: kTransform (fewer layers than chunks; stated numbers that are not those of the chunks).
Result<IdVector<OpId, int32_t>> PipelineChunks(const Graph& step, const Transform& pipeline);

// Without kAccumulate before it the whole batch is the one micro-batch. Errors: those of PipelineSequences and
// PipelineChunks.
// Complexity: O((ops + edges) log ops + layers^2 chunks).
Result<std::unique_ptr<Graph>> WithPipeline(const Graph& step, const Transform& pipeline);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_PIPELINE_H_
