// How long each micro-batch but the first and the last of a step takes, of a step of which only some are written.
//
// When the second micro-batch begins, and when the third does, all that came before is done: no op, transfer or collective
// is under way or waits for a link. So both begin in the same state, but for sums of gradients of equal size, and the
// second does what each one behind it does that is not the last. K of them take as long as three, and K - 3 times what lies
// between the two beginnings; the fullest moment is that of one of the three.
#ifndef PLACEWRIGHT_PLANNING_MICRO_BATCH_PERIOD_H_
#define PLACEWRIGHT_PLANNING_MICRO_BATCH_PERIOD_H_

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "graph/graph.h"
#include "search/evaluation/compiled_step.h"

namespace placewright {

inline constexpr int64_t kWrittenMicroBatches = 3;

// `compiled`: of `step`, of which so many are written. None: a micro-batch begins before another one is done.
std::optional<Nanos> PeriodOfMicroBatches(const Graph& step, const CompiledStep& compiled);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_MICRO_BATCH_PERIOD_H_
