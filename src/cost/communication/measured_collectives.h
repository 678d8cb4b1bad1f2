// Times of collectives as they were measured, and how they become times of other sizes.
//
// What was measured is named by the collective and the machines that took part:
//
//   "all-reduce 8xV100-16GB/2"             two machines with 8 V100 each
//   "all-gather 4xV100-32GB/1, 2xT4/3"     one machine with 4 V100, three with 2 T4 each
//   "broadcast 1xXeon-E5-2650v4:12+2xT4/1" one machine with two T4 and 12 computing cores of a CPU
//
// Nothing is said of the links: a measurement holds wherever the machines are of these kinds.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_MEASURED_COLLECTIVES_H_
#define PLACEWRIGHT_COST_COMMUNICATION_MEASURED_COLLECTIVES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "cost/communication/collective_kind.h"
#include "cost/cost_table.h"
#include "cost/transfer_fit.h"

namespace placewright {

struct MeasuredCollective {
  Bytes bytes;  // of the whole tensor, in even pieces
  Nanos time;   // median, from when the last device is ready until the last one has the result
  int64_t runs = 0;
};

struct MeasuredCollectives {
  std::string backend;                    // "nccl", "gloo"
  std::string devices;                    // as MeasuredCollectiveKey says
  std::vector<MeasuredCollective> sizes;  // ascending
};

// A transfer between devices of two machines, whichever way: "transfer 1xV100-16GB/2".
std::string MeasuredTransferKey(const Cluster& cluster, DeviceId from, DeviceId to);

// The machines in the order of what is in them; devices of one kind and cores are counted together.
std::string MeasuredCollectiveKey(CollectiveKind kind, const Cluster& cluster,
                                  std::span<const DeviceId> devices);

// Times by key: lines through the measured sizes (FitSegments). Of several entries with one key the
// first with two sizes or more counts.
class CollectiveFits {
 public:
  CollectiveFits() = default;
  explicit CollectiveFits(const std::vector<MeasuredCollectives>& measured);

  struct Fit {
    std::vector<TransferSegment> segments;
    Bytes smallest, largest;  // measured
    // kMeasured between the smallest and the largest size, beyond them kModelled.
    Nanos TimeOf(Bytes bytes) const;
    CostSource SourceOf(Bytes bytes) const;
  };
  const Fit* Find(const std::string& key) const;  // nullptr: not measured
  bool empty() const { return fits_.empty(); }

 private:
  std::map<std::string, Fit> fits_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_MEASURED_COLLECTIVES_H_
