// What can be wrong with a plan. Each kind has one name, which the program prints.
#ifndef CHECK_PLAN_VIOLATION_H_
#define CHECK_PLAN_VIOLATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace placewright::check {

enum class ViolationKind : uint8_t {
  kCoverage,        // "coverage": an op without a device, an unknown op or device
  kUnsupported,     // "unsupported": an op on a device that has no time for it
  kColocation,      // "colocation": a storage's views and writers, or an update, on several devices
  kScheduleDevice,  // "schedule-device": the schedule runs an op elsewhere than the placement says
  kGivenCosts,      // "given-costs": a cost stated as given is not the one of the graph file
  kTransfers,       // "transfers": one missing, superfluous, twice, or from elsewhere than its home
  kUnreachable,     // "unreachable": a transfer between devices without a route
  kDuration,        // "duration": an op or transfer takes another time than its cost
  kReadyTime,       // "ready-time": a transfer's recorded ready time, or a view's time
  kPrecedence,      // "precedence": a start before something that it waits for has ended
  kExclusivity,     // "exclusivity": two at once on one device or directed link
  kQueueOrder,      // "queue-order": one served before another that precedes it in the queue
  kIdle,            // "idle": a device or link idles though the head of its queue could start
  kStepTime,        // "step-time": not the last completion
  kMemory,          // "memory": a peak is not that of the sweep
  kFeasible,        // "feasible": the flag contradicts peaks and capacities
  kDevices,         // "devices": name, kind, capacity, ops or busy share of a device
  kNames,           // "names": of the graph or the cluster
  kBound,           // "bound": above the step time, or below what a simple bound proves
  kGap,             // "gap": not (step - bound) / step
  kBaselines,       // "baselines": one is better than the plan, or contradicts plan or history
  kHistory,         // "history": does not fall strictly, or does not end with the plan
  kSeconds,         // "seconds": of plan and history contradict each other
  kCostSources,     // "cost-sources": not the shares of the ops' time
  kDigest,          // "digest": the file was changed after it was written
  kCommunication,   // "communication": not what moves in the schedule
  kSamples,         // "samples": not the batch of the step, or another rate
  // Of distributed plans, whose step is not the original one:
  kWrongInput,     // "wrong-input": an op reads, or joins, another tensor or version than is due
  kWrongPart,      // "wrong-part": another interval than is due, or of what needs all
  kWrongArgument,  // "wrong-argument": operator, arguments or sizes are not those of the part
  kWrongDevice,    // "wrong-device": an instance is elsewhere than its layout says
  kLostSum,        // "lost-sum": shares of a sum read as if they were all of it
  kDoubledSum,     // "doubled-sum": a share is added twice
  kDoubledSample,  // "doubled-sample": a part is computed twice, or a piece is there twice
  kMissingSample,  // "missing-sample": a part is computed nowhere
  kLocalDivisor,   // "local-divisor": a mean is not divided by the size of the whole
  kWrongStatistics,  // "wrong-statistics": other results than a norm of all parts has, or of one alone
  kStaleParameter,       // "stale-parameter": what is kept is read, or left, at an old version
  kMissingCollective,    // "missing-collective": a member without one, or not all members
  kReorderedCollective,  // "reordered-collective": members of others, or an order that can deadlock
  kMissingOp,  // "missing-op": an op, an output, a kept tensor that the step does not have
  kNotProven   // "not-proven": the checker cannot follow it
};
std::string_view ToString(ViolationKind kind);

struct Violation {
  ViolationKind kind;
  std::string message;  // with the offending values
  std::string place;    // "ops[3] (mm_1)", "devices[0].busy", or empty
};

// As an error of the program: kPlanInvalid, its message led by the kind's name.
Error ToError(const Violation& violation);

using MaybeViolation = std::optional<Violation>;

}  // namespace placewright::check

// Returns the violation that `expression` found, if any.
#define CHECK_PLAN_RETURN_IF_VIOLATED(expression)        \
  do {                                                   \
    if (auto violation = (expression)) return violation; \
  } while (false)

#endif  // CHECK_PLAN_VIOLATION_H_
