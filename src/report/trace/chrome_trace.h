// The schedule of a step in the Trace Event Format of Chrome, which chrome://tracing and Perfetto
// open. docs/formats/chrome-trace.md says what stands where.
#ifndef PLACEWRIGHT_REPORT_TRACE_CHROME_TRACE_H_
#define PLACEWRIGHT_REPORT_TRACE_CHROME_TRACE_H_

#include <span>
#include <string>

#include "base/text_sink.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "report/memory_curve.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

struct ChromeTraceInput {
  const Graph& graph;
  const Cluster& cluster;
  const SimGraph& sim_graph;  // of graph and cluster
  const Placement& placement;
  const Schedule& schedule;             // as the simulator made it of program and placement
  std::span<const MemoryCurve> memory;  // one per device
};

// One process per device (track "ops", counter "memory"), and a process "links" with one track per
// link direction that carries anything. A transfer stands on every link of its route. A flow leads
// from the op that made the bytes (none for bytes from before the step) through the transfer, on
// the first link of its route, to the op on the destination that reads them first.
// Times are microseconds with three decimals: nanoseconds exactly. Views occupy nothing and are
// left out. Errors: the sink's. Complexity: O(ops + transfers * route + memory points).
Status WriteChromeTrace(const ChromeTraceInput& input, const TextSink& sink);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_TRACE_CHROME_TRACE_H_
