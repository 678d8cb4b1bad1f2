// Checks of a schedule that look at one op, transfer, device or link at a time: everything but the
// order among those that are ready at once (replay.h).
#ifndef CHECK_PLAN_TIMING_CHECK_H_
#define CHECK_PLAN_TIMING_CHECK_H_

#include "check_plan/step.h"
#include "check_plan/waits.h"

namespace placewright::check {

// Every op lasts as its cost says, every transfer as its route says (rule 4); views last nothing.
MaybeViolation CheckDurations(const Step& step);

// Nothing starts before all it waits for has ended; a view is there exactly when its content is,
// and a transfer is ready exactly then (0 for what is there from the beginning).
MaybeViolation CheckPrecedence(const Step& step, const Waits& waits);

// At no time two ops on a device or two transfers on a directed link.
MaybeViolation CheckExclusivity(const Step& step);

}  // namespace placewright::check

#endif  // CHECK_PLAN_TIMING_CHECK_H_
