// How little a placement of whole ops uses the GPUs, and whether something that is not searched
// would use them better.
#ifndef PLACEWRIGHT_REPORT_GPU_USE_H_
#define PLACEWRIGHT_REPORT_GPU_USE_H_

#include <optional>
#include <string>

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "sim/simulator.h"

namespace placewright {

// All GPUs of the cluster.
struct GpuUse {
  std::string kind;            // where all are of one kind
  int64_t gpus = 0, idle = 0;  // idle: no op runs there
  double busy = 0;             // share of the step in which they compute, on the average
  // Whether data parallelism would probably be faster, by a rough estimate that is shown nowhere:
  // what the devices compute in the step split evenly over n GPUs, and a ring AllReduce of
  // the parameters' gradients over their narrowest route,
  //     sum of busy times / n + 2 (n - 1) / n * parameter bytes / bandwidth,
  // is at most half the step. n is the number of GPUs of the kind that does the most computing or,
  // if smaller, the batch. False without parameters that an op of the update writes, where two of
  // the GPUs are not connected, and where parameters, state and gradients with an nth of all other
  // memory do not fit one of them.
  bool data_parallelism_probably_faster = false;
};

// None with fewer than two GPUs, and where all of them run ops and compute at least
// half of the step on the average.
std::optional<GpuUse> FindIdleGpus(const SimResult& result, const Graph& graph,
                                   const Cluster& cluster);

// "The 16 H100-80GB compute 6.2% of the step on the average, 10 of them idle. The bound does not
// cover data parallelism, replication or pipelining; data parallelism would probably be faster."
std::string DescribeGpuUse(const GpuUse& use);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_GPU_USE_H_
