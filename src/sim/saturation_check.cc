// CheckNotSaturated: whether a result is one, or the end of the counting range.
#include "sim/saturation_check.h"

#include <string>

#include "base/text.h"
#include "sim/simulator.h"

namespace placewright {

namespace {

std::string Exactly(int64_t count, const char* unit) { return FormatCount(count) + unit; }

// What lasts longest, of equals the first.
std::string Longest(const SimGraph& p, const Graph& graph, const Cluster& cluster,
                    const Placement& placement, const Schedule& schedule) {
  int64_t max = -1;
  std::string text;
  for (ExecOpId exec : p.exec_ops()) {
    const OpId op = p.op_of[exec];
    const int64_t time = p.Time(exec, placement[op]);
    if (time <= max) continue;
    max = time;
    text = "op " + Printable(graph.op(op).name, 80) + " takes " + Exactly(time, " ns on ") +
           Printable(cluster.device(placement[op]).name, 80);
  }
  for (const TransferSpan& span : schedule.transfers) {
    const int64_t time = cluster.TransferDuration(span.from, span.to, span.length).count;
    if (time <= max) continue;
    max = time;
    text = Exactly(span.length.count, " B take ") + Exactly(time, " ns from ") +
           Printable(cluster.device(span.from).name, 80) + " to " +
           Printable(cluster.device(span.to).name, 80);
  }
  for (CollectiveId id : graph.collectives()) {
    const int64_t time = p.collective_time[id];
    if (time <= max) continue;
    max = time;
    text =
        "collective " + Printable(graph.collective(id).name, 80) + " takes " + Exactly(time, " ns");
  }
  return text;
}

}  // namespace

Status CheckNotSaturated(const SimGraph& sim_graph, const Graph& graph, const Cluster& cluster,
                         const Placement& placement, const SimResult& result) {
  if (result.step_time.count >= kMaxQuantity) {
    return MakeError(ErrorCode::kTooLarge,
                     "the step takes 2^60 ns or longer, the limit; its longest part: " +
                         Longest(sim_graph, graph, cluster, placement, *result.schedule));
  }
  for (DeviceId id : cluster.devices()) {
    if (result.devices[id.index()].peak.count < kMaxQuantity) continue;
    return MakeError(
        ErrorCode::kTooLarge,
        "device " + Printable(cluster.device(id).name, 80) + " needs 2^60 B or more, the limit", "",
        "Correct the sizes of the tensors: no machine holds as much.");
  }
  return Ok();
}

}  // namespace placewright
