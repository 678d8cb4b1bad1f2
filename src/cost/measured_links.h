// Times of transfers as they were measured between devices, and how they become figures of a cluster's
// links.
#ifndef PLACEWRIGHT_COST_MEASURED_LINKS_H_
#define PLACEWRIGHT_COST_MEASURED_LINKS_H_

#include <cstdint>
#include <vector>

#include "cluster/cluster.h"
#include "cost/communication/measured_collectives.h"
#include "cost/measured_costs.h"

namespace placewright {

// The way of bytes from one device of a machine to another.
struct MeasuredTransfer {
  Bytes bytes;
  Nanos time;  // median, from what made them until what reads them
  int64_t runs = 0;
};

struct MeasuredTransfers {
  MeasuredOn from, to;
  std::vector<MeasuredTransfer> sizes;  // ascending
};

// Every link that by itself joins two devices of one host whose kinds and cores were measured gets the
// latency and the bandwidth of the line through the measured sizes (FitLine); of several measurements of a
// pair of kinds the first counts. Returns the links that it has set, ascending. As they are stay links that
// other routes take, too (what goes there is shared), and all of a pair of kinds where the
// cluster describes them differently: the measurement is of one of them.
std::vector<LinkId> SetMeasuredLinks(const std::vector<MeasuredTransfers>& measured,
                                     Cluster& cluster);

// The same of devices of two machines, by what transfers took between processes there (entries whose key is
// MeasuredTransferKey's; the first of a key counts). Of a route's links those with its smallest bandwidth, as
// described, get the measured one and share the measured latency, less that of the other links. As they
// are stay links that routes within a machine take, and all of a key whose routes the cluster describes
// differently.
std::vector<LinkId> SetMeasuredNetwork(const std::vector<MeasuredCollectives>& measured,
                                       Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_MEASURED_LINKS_H_
