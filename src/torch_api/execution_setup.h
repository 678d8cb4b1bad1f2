// From a cluster to what executes its devices' work on this machine.
#ifndef PLACEWRIGHT_TORCH_API_EXECUTION_SETUP_H_
#define PLACEWRIGHT_TORCH_API_EXECUTION_SETUP_H_

#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "graph/graph.h"
#include "torch_api/execution_service.h"

namespace placewright {

// Every CPU of the cluster as cores of this machine: as many as its kind states, or else a share
// like that of the others. Its GPUs, all of one host, as LibTorch's CUDA devices in the cluster's order.
// `simulate`: a core for each, whatever it is, with a queue and a memory that others do not see. Errors:
// kMissingRuntime (a device that is neither, GPUs of several hosts, more cores than this machine's);
// whether a GPU is here is for StartExecution to say. `here` [device], of a run over several processes: whether it is
// on this machine; the others' are kElsewhere. Empty: all are.
Result<std::vector<ExecutionDevice>> ExecutionDevicesOf(const Cluster& cluster, bool simulate,
                                                        const std::vector<bool>& here = {});

// Everything but the seed. `policy` critical path takes its paths from the costs; the order of the program is given
// as sequences. Errors: those of ExecutionDevicesOf, of CheckProgramOrder.
Result<ExecutionRequest> MakeExecutionRequest(const Graph& graph, const Cluster& cluster,
                                              const CostTable& costs, const Placement& placement,
                                              SchedulingPolicy policy, bool simulate,
                                              const std::vector<bool>& here = {});

// kField where a graph is of a format that cannot be executed.
Status CheckExecutable(const Graph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_EXECUTION_SETUP_H_
