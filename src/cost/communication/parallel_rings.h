// Rings that go on side by side, each with a share of the bytes.
//
// Inside a machine: the best ring, then the best one of what capacity is left, as long as its
// slowest route starts no later than the first ring's and its rate is a tenth of the first's or
// more; behind each ring the same ring backwards, which takes the other directions of full-duplex
// links. On the eight V100 of a DGX-1 that finds two rings of double lanes and two of single ones:
// all six lanes of each GPU, of which NCCL makes six rings. Where up to 8 devices could pass on
// more than these rings do, the others of the best first rings are tried, too.
//
// Over several machines: the devices of one machine follow one another, in the order of one of its
// own rings; the machines are in the order of the best ring through one device of each. Every ring
// leaves the machines at other devices.
//
// NCCL searches such rings over the topology ("src/graph/search.cc"); its rings are of equal rates.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_PARALLEL_RINGS_H_
#define PLACEWRIGHT_COST_COMMUNICATION_PARALLEL_RINGS_H_

#include <span>
#include <vector>

#include "cost/communication/ring_search.h"
#include "cost/communication/round.h"

namespace placewright {

// The devices of each machine, ascending; machines in the order of their first devices.
using Machines = std::vector<std::vector<DeviceId>>;
Machines MachinesOf(const Cluster& cluster, std::span<const DeviceId> devices);

// `devices`: ascending, distinct, connected both ways. None for one device; at least one for more.
std::vector<Ring> ParallelRings(const Cluster& cluster, std::span<const DeviceId> devices);

// Every device passes on one piece: of `bytes` in each piece, every ring takes a part in proportion
// to its rate.
Round RingRound(const Cluster& cluster, std::span<const Ring> rings);
// The same, but that the last device of each ring passes on nothing.
Round PipelineRound(const Cluster& cluster, std::span<const Ring> rings);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_PARALLEL_RINGS_H_
