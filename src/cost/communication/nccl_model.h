// What collectives take under NCCL on NVIDIA's GPUs whose kinds state channels (Hopper and later with
// NVSwitches): latency + bytes / bandwidth, the fastest of NCCL's algorithms and protocols. With n devices on m
// machines, k on each, B bytes of the whole tensor, steps = 2 (n - 1) of an all-reduce and n - 1 of a gather,
// crossings = 2 (m - 1) and m - 1:
//
//   ring        base + (steps - crossings) nvlink + crossings network + steps (B / n) / (ring * share)
//   tree        base + 2 ((k - 1) nvlink + log2(m) network) + B / (0.5 * 0.92 * ring * share * 0.6)
//   nvls        25 us + B (1 + 1/n) / (link * e): every device has the switch read all of its bytes and writes
//               the sum of its n-th part
//   nvls-tree   25 us + 2 log2(m) 14 us + B / min(link * e / (1 + 1/k), trees * 0.85): the switches add up, and
//               two binary trees over the machines carry a slice through each NIC
//
// e = 0.85 (Hopper; Blackwell 0.74) * (c - 1) / c of c channels. With it NVLS begins to pay at five devices: four
// would send 1.25 B at 0.81 of the rate where a ring sends 1.5 B.
//
//   protocol    share of the bandwidth                              base, nvlink, network in us (tree's in brackets)
//   LL          0.5, up to 141 GB/s on one machine (Blackwell 282), 39 on two, 20.4 on more   6.6 (6.8)  0.6  2.7 (5)
//   LL128       0.92                                                                14  1.9 (1.25)  4 (8.5)
//   Simple      1; latency of all-reduces over several machines * 1.4               8.4  3.4 (4)  14
//
// Reference: NCCL 2.28, "src/graph/tuning.cc" (ncclTopoTuneModel, ncclTopoGetAlgoTime). Base latencies count the
// launch. Where each machine has one device, its rings have the trees' network latency.
//
// Deviations: bandwidths are those of the cluster's routes, not of NCCL's search over channels, and the
// amounts that nvls moves are counted (NCCL takes twice a ring's rate); trees have 0.6 for NCCL's table of
// corrections by size (0.4 to 1), which is what it has where trees are the fastest. CollNet is left out: it
// needs switches of InfiniBand that add up. Broadcasts: broadcast_plan.h.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_NCCL_MODEL_H_
#define PLACEWRIGHT_COST_COMMUNICATION_NCCL_MODEL_H_

#include "cost/communication/collective_kind.h"

namespace placewright {

class NcclModel {
 public:
  // What the cluster says of a set of devices.
  struct Setting {
    int devices = 2, machines = 1;
    double ring = 0;   // ns for a byte that every device passes on, 1 / the rate of all rings
    double link = 0;   // ns a byte between a device and its NVSwitch; 0: no NVLS
    double trees = 0;  // ns a byte of the tensor over the machines' trees; 0: none
    int channels = 2;  // two or more where there is NVLS
    bool blackwell = false;
  };
  explicit NcclModel(const Setting& setting) : set_(setting) {}

  // kAllReduce, kAllGather, kReduceScatter; `bytes`: of the whole tensor in even pieces. Infinite: there is no
  // such way.
  double NanosOf(CollectiveAlgorithm algorithm, CollectiveKind kind, double bytes) const;

 private:
  double RingNanos(CollectiveKind kind, double bytes) const;
  double TreeNanos(double bytes) const;
  double NvlsNanos(double bytes) const;
  double NvlsTreeNanos(double bytes) const;
  double SwitchNanosPerByte(int devices) const;
  double Capped(double nanos_per_byte, bool ll) const;

  Setting set_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_NCCL_MODEL_H_
