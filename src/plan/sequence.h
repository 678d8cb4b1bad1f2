// Given sequences: devices that run their ops in exactly the order that a file states (simulator
// rule 16), as 1F1B schedules of pipelines do.
#ifndef PLACEWRIGHT_PLAN_SEQUENCE_H_
#define PLACEWRIGHT_PLAN_SEQUENCE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/placement.h"

namespace placewright {

// Device name -> op names in order, as files state it. Devices may be left out.
using NamedSequences = std::vector<std::pair<std::string, std::vector<std::string>>>;

// By device; nothing where the scheduling policy orders the ops. Empty: nothing anywhere. A sequence
// belongs to one placement.
using Sequences = IdVector<DeviceId, std::optional<std::vector<OpId>>>;

// The sequence of a device lists every op placed on it that is executed by itself (no view, no
// member of a collective) once, and nothing else. Errors, with place ("sequence.d0[3]"):
// kUnknownName, kDuplicateName, kPlanMismatch (an op of another device, a view, a member; ops
// missing).
Result<Sequences> ResolveSequences(const NamedSequences& named, const Graph& graph,
                                   const Cluster& cluster, const Placement& placement);

// Where the lists make ops wait for one another: `op` is the first, in the list of the device with
// the smallest id whose list is not finished, that has not ended when nothing can happen any more.
Error SequenceDeadlock(const Graph& graph, const Cluster& cluster, const Placement& placement,
                       OpId op);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_SEQUENCE_H_
