// A step rewritten by a list of transforms, in its order: of a graph a graph. What lays out, replays, runs or checks a
// plan takes the step after them.
#ifndef PLACEWRIGHT_COMPILE_TRANSFORMS_H_
#define PLACEWRIGHT_COMPILE_TRANSFORMS_H_

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "graph/graph.h"
#include "plan/transform.h"

namespace placewright {

// Of random draws, in every plan.
inline constexpr uint64_t kDrawSeed = 0;
// Of every step whose ops may be split.
inline const Transforms kUsualTransforms = {Transform{Transform::kCountedDraws}};

struct TransformedStep {
  std::unique_ptr<const Graph> graph;  // nullptr: as it was
  Transforms applied;                  // those that changed something
};
// All ops keep their ids, groups and names; new ones come behind them. Errors: those of WithCountedDraws.
Result<TransformedStep> ApplyTransforms(const Graph& step, const Transforms& transforms);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_TRANSFORMS_H_
