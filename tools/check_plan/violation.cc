#include "check_plan/violation.h"

#include <fmt/format.h>

namespace placewright::check {

std::string_view ToString(ViolationKind kind) {
  switch (kind) {
    case ViolationKind::kCoverage: return "coverage";
    case ViolationKind::kUnsupported: return "unsupported";
    case ViolationKind::kColocation: return "colocation";
    case ViolationKind::kScheduleDevice: return "schedule-device";
    case ViolationKind::kGivenCosts: return "given-costs";
    case ViolationKind::kTransfers: return "transfers";
    case ViolationKind::kUnreachable: return "unreachable";
    case ViolationKind::kDuration: return "duration";
    case ViolationKind::kReadyTime: return "ready-time";
    case ViolationKind::kPrecedence: return "precedence";
    case ViolationKind::kExclusivity: return "exclusivity";
    case ViolationKind::kQueueOrder: return "queue-order";
    case ViolationKind::kIdle: return "idle";
    case ViolationKind::kStepTime: return "step-time";
    case ViolationKind::kMemory: return "memory";
    case ViolationKind::kFeasible: return "feasible";
    case ViolationKind::kDevices: return "devices";
    case ViolationKind::kNames: return "names";
    case ViolationKind::kBound: return "bound";
    case ViolationKind::kGap: return "gap";
    case ViolationKind::kBaselines: return "baselines";
    case ViolationKind::kHistory: return "history";
    case ViolationKind::kSeconds: return "seconds";
    case ViolationKind::kCostSources: return "cost-sources";
    case ViolationKind::kDigest: return "digest";
    case ViolationKind::kCommunication: return "communication";
    case ViolationKind::kSamples: return "samples";
    case ViolationKind::kWrongInput: return "wrong-input";
    case ViolationKind::kWrongPart: return "wrong-part";
    case ViolationKind::kWrongArgument: return "wrong-argument";
    case ViolationKind::kWrongDevice: return "wrong-device";
    case ViolationKind::kLostSum: return "lost-sum";
    case ViolationKind::kDoubledSum: return "doubled-sum";
    case ViolationKind::kDoubledSample: return "doubled-sample";
    case ViolationKind::kMissingSample: return "missing-sample";
    case ViolationKind::kLocalDivisor: return "local-divisor";
    case ViolationKind::kWrongStatistics: return "wrong-statistics";
    case ViolationKind::kStaleParameter: return "stale-parameter";
    case ViolationKind::kMissingCollective: return "missing-collective";
    case ViolationKind::kReorderedCollective: return "reordered-collective";
    case ViolationKind::kMissingOp: return "missing-op";
    case ViolationKind::kNotProven: return "not-proven";
  }
  return "";
}

Error ToError(const Violation& violation) {
  return MakeError(ErrorCode::kPlanInvalid,
                   fmt::format("{}: {}", ToString(violation.kind), violation.message),
                   violation.place);
}

}  // namespace placewright::check
