// The original of a step whose draws of random numbers count (docs/sharding.md).
#ifndef CHECK_PLAN_DISTRIBUTED_COUNTED_DRAWS_H_
#define CHECK_PLAN_DISTRIBUTED_COUNTED_DRAWS_H_

#include <cstdint>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright::check {

// Whether a compiled step has draws that count: it has the buffer "buffer:placewright.step".
bool CountsDraws(const Graph& step);

// `original` with every mask drawn by counting, as steps are compiled from it: each aten.bernoulli_.float and
// aten.native_dropout in training becomes placewright.counter_bernoulli_ and counter_dropout, of (what it
// reads, the buffer, the seed, its number in the order of the file, p, no part). The last op increments the
// buffer. The seed is that of the step's draws. Groups stay, that of the buffer comes behind them.
// Errors: those of GraphBuilder.
Result<Graph> WithDrawsThatCount(const Graph& original, const Graph& step);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_COUNTED_DRAWS_H_
