// The throughput objective of the dnn-partitioning benchmarks: the largest load of a device in a
// pipeline that takes one sample after the other. What matters is the slowest stage.
//
// Every node v is on device d(v): 0 for all CPUs together, i for accelerator i. With c(u) the cost
// of moving what u produces and R(u) = { d(w) : (u,w) an edge } \ { d(u) }:
//
//   load(g) = sum of accelerator times on g
//           + sum of c(u) over u on g with R(u) not empty    once, whatever |R(u)|
//           + sum of c(u) over u with g in R(u)              once, however many readers on g
//   load(0) = sum of CPU times on CPUs: moving costs a CPU nothing
//   value   = the largest load of a device with at least one node; 0 if there is none
//
// Compute and communication add up. Between accelerators both ends pay: data goes through the host.
// Forward and backward nodes count alike.
//
// Where every node runs: DevicesOfNodes (plan/split.h). Neither the number of CPUs nor whether an
// accelerator supports a node is looked at.
//
// Source: Tarnawski et al., "Efficient algorithms for device placement of DNN graph operators",
// NeurIPS 2020, section 4, and the evaluator of its package, whose values these are.
#ifndef PLACEWRIGHT_SIM_PIPELINE_MAX_LOAD_H_
#define PLACEWRIGHT_SIM_PIPELINE_MAX_LOAD_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "plan/pipeline_workload.h"
#include "plan/split.h"

namespace placewright {

struct DeviceLoad {
  int64_t nodes = 0;
  double compute = 0, communication = 0;
  double size = 0;  // bytes; accelerators only
  double Load() const { return compute + communication; }
};

struct MaxLoadResult {
  double value = 0;
  // No accelerator has more bytes than it may; a split that has them is evaluated all the same.
  bool memory_ok = true;
  std::vector<DeviceLoad> devices;  // 0: the CPUs; i: entry i of the split's accelerators, from 1
};

// Errors, in this order: kWorkloadDirection (an edge from a backward to a forward node),
// kGraphCycle, those of DevicesOfNodes, kSplitDevices (more accelerators in use than there are),
// kSplitColocation (a colour class on several devices). O((nodes + edges) log).
Result<MaxLoadResult> MaxLoad(const PipelineWorkload& workload, const Split& split);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_PIPELINE_MAX_LOAD_H_
