// Why a step takes as long as it does: its realised critical path, every nanosecond accounted for.
//
// The path is walked backwards from the last completion. An op is preceded by the requirement that
// was met last (an op beside it, a transfer, a local reader of what it overwrites, an explicit
// edge), a transfer by the op that made its content. Between an op's becoming ready and its start
// it waits in its device's queue, a transfer likewise in those of its links. A collective is
// preceded by the requirement of its members that was met last. The shares sum exactly to the step
// time.
//
// Ties between requirements go to an op before a transfer, then to the smallest id.
#ifndef PLACEWRIGHT_SIM_BOTTLENECKS_H_
#define PLACEWRIGHT_SIM_BOTTLENECKS_H_

#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

struct Bottlenecks {
  IdVector<DeviceId, Nanos> compute;      // the path's ops
  IdVector<DeviceId, Nanos> device_wait;  // ready ops of the path, while the device served others
  // A transfer counts for the narrowest link of its route (the first of several).
  IdVector<LinkId, Nanos> transfer;
  IdVector<LinkId, Nanos> link_wait;
  Nanos collective, collective_wait;  // moving, and ready but waiting for links
  std::vector<std::pair<std::string, Nanos>> compute_by_type;  // longest first, then by name
  std::vector<OpId> path;                                      // its ops, first to last
  Nanos Total() const;  // of all times above but compute_by_type: the step time
};

// `schedule` is that of simulating `placement`. Complexity: O(ops + edges + transfers log).
Bottlenecks FindBottlenecks(const SimGraph& sim_graph, const Graph& graph, const Cluster& cluster,
                            const Placement& placement, const Schedule& schedule);

// One line of "why is it not faster", for people.
struct Reason {
  std::string what;  // "computing on host0/gpu1", "moving over host0/gpu0>host0/pcie0",
                     // "queueing for host0/gpu1", "queueing for host0/gpu0>host0/pcie0",
                     // "in collectives", "queueing for collectives"
  Nanos time;
};
// All that are not 0, longest first; they sum to the step time.
std::vector<Reason> TopReasons(const Bottlenecks& bottlenecks, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_BOTTLENECKS_H_
