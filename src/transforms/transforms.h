// A step rewritten by a list of transforms, in its order: of a graph a graph. What lays out, replays, runs or checks a
// plan takes the step after them.
#ifndef PLACEWRIGHT_TRANSFORMS_TRANSFORMS_H_
#define PLACEWRIGHT_TRANSFORMS_TRANSFORMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stop_check.h"
#include "graph/graph.h"
#include "graph/transform.h"

namespace placewright {

// Of random draws, in every plan.
inline constexpr uint64_t kDrawSeed = 0;
// Of every step whose ops may be split.
inline const Transforms kUsualTransforms = {Transform{Transform::kCountedDraws}};

// What a user asks for, in the order that makes it right: types are those of all that follows, draws count before they are copied, and what a micro-batch
// recomputes is its own; what is still kept is offloaded; a pipeline orders all of it. Nothing asked for: no transforms.
Transforms TransformsFor(const Rewriting& asked);
// `precision`: types and globs of kPrecision (Transform::modules), or nothing.
Transforms TransformsFor(const Rewriting& asked, const std::vector<std::string>& precision);
// What was asked for, read back from what TransformsFor made of it: layers that were chosen for stages are stated, too.
Rewriting RewritingFor(const Transforms& transforms);
// What cuts the step into stages; nullptr: nothing does.
const Transform* PipelineOf(const Transforms& transforms);

// The graph lists what changed something (Graph::transforms), behind what it was made by before. nullptr: nothing did.
// Ops keep their names. Errors: kUsage for a graph that no recorded step is (draws are counted in others, too), those of
// WithCountedDraws, WithAccumulation, WithRecomputation, WithOffloading, WithPipeline, WithPrecision and
// WithSplitBackward.
// `written`: only the first so many micro-batches (WithAccumulation), to simulate them. `stop`: asked behind each transform;
// true ends it with kCancelled.
Result<std::unique_ptr<Graph>> ApplyTransforms(const Graph& step, const Transforms& transforms,
                                               std::optional<int64_t> written = {},
                                               const StopCheck& stop = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_TRANSFORMS_H_
