// The original of a step whose draws of random numbers count (docs/sharding.md).
#ifndef CHECK_PLAN_DISTRIBUTED_COUNTED_DRAWS_H_
#define CHECK_PLAN_DISTRIBUTED_COUNTED_DRAWS_H_

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright::check {

// The op that counts the steps: of no op of the original.
inline constexpr std::string_view kCounterIncrement = "placewright.step.add_";

// Whether a compiled step has draws that count: it has the buffer "buffer:placewright.step".
bool CountsDraws(const Graph& step);

// `original` with what can be drawn by counting drawn so, as steps are compiled from it: masks
// (aten.bernoulli_.float, aten.bernoulli, aten.native_dropout in training) and numbers (rand, randn, randint, their
// forms in place and like a tensor, ...) become placewright.counter_*, of (what it reads or its size, the buffer,
// the seed, its number in the order of the file, its distribution and numbers, no part). The last op increments the
// buffer. The seed is that of the step's draws. Groups stay, that of the buffer comes behind them.
// Errors: those of GraphBuilder.
Result<Graph> WithDrawsThatCount(const Graph& original, const Graph& step);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_COUNTED_DRAWS_H_
