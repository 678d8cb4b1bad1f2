// A pipeline workload as a planning problem: graph, devices and times.
//
// The step that our simulator runs is one pass through the workload, its time nearest to the
// latency objective. What is carried exactly: times on both kinds of device, which nodes may run on
// accelerators, sizes and memory limits (workload_scale.h), colour classes (colocation groups),
// phases, data edges.
//
// Moving. An activation is as many bytes as its cost takes on the accelerators' links: 16,384 for
// the largest cost, so that a cost is exact to 1/32768 of it, and activations hardly count beside
// the sizes. An accelerator has one link to the host and one from it; from one accelerator to
// another a transfer holds both for twice the cost, as data goes through the host. Between CPUs
// moving takes at most a nanosecond.
//
// What is not carried: that compute and communication add up (here they overlap), that a producer
// pays once for all its receivers (here once each), that CPUs are unlimited in one objective and
// one in the other (here they are maxCPUs devices).
#ifndef PLACEWRIGHT_FORMATS_DNN_PARTITIONING_WORKLOAD_GRAPH_H_
#define PLACEWRIGHT_FORMATS_DNN_PARTITIONING_WORKLOAD_GRAPH_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "formats/costs/costgraph_reader.h"
#include "plan/pipeline_workload.h"
#include "plan/placement.h"
#include "plan/split.h"

namespace placewright {

// A unit of a workload's time is taken for a millisecond.
inline constexpr double kNanosPerWorkloadUnit = 1e6;

// Ops in the order of the nodes; an op is called as its node, or "node<id>" where names are missing
// or repeat. Devices: "accelerator1", ..., then "cpu1", ... Errors: kGraphCycle; kClusterInvalid
// (no device at all, or more than kMaxDevices); kFileTooLarge (nodes times devices beyond 2^25).
Result<CostGraph> WorkloadToCostGraph(const PipelineWorkload& workload);

// What of the file is read otherwise than it was meant, a sentence each.
std::vector<std::string> WorkloadNotes(const PipelineWorkload& workload);

// Where a split puts the ops of the workload's cost graph: entry i of the accelerators is
// "accelerator<i>", entry j of the CPUs "cpu<j>". Errors: those of DevicesOfNodes; kSplitDevices (a
// node on an entry beyond the devices of the workload).
Result<NamedPlacement> PlacementOfSplit(const PipelineWorkload& workload, const Split& split);

// The split that says the same: an entry for every device of the workload, ids ascending by
// position. `placement` is one of WorkloadToCostGraph's graph and cluster.
Split SplitOfPlacement(const PipelineWorkload& workload, const Placement& placement);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_DNN_PARTITIONING_WORKLOAD_GRAPH_H_
