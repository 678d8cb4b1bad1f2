// One round of a collective: transfers between devices that start together.
//
//   time(bytes) = max over transfers of  latency of the route
//                                        + max over its links of ceil(bytes * load / bandwidth)
//
// where the load of a link is the sum of the weights of all transfers whose routes take it: they
// share its bandwidth. A transfer that shares nothing takes what the simulator's rule 4 says. Both
// directions of a half-duplex link are one link, and so add up.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_ROUND_H_
#define PLACEWRIGHT_COST_COMMUNICATION_ROUND_H_

#include <span>
#include <vector>

#include "cluster/cluster.h"

namespace placewright {

// `weight` * bytes of a round go from one device to another; the two differ and are connected.
struct RoundTransfer {
  DeviceId from, to;
  double weight = 1;
};

class Round {
 public:
  Round() = default;  // nothing moves; takes no time
  Round(const Cluster& cluster, std::span<const RoundTransfer> transfers);

  double NanosFor(double bytes) const;
  double latency() const;                                      // the largest of any transfer, ns
  double nanos_per_byte() const;                               // the largest of any transfer
  const std::vector<LinkId>& links() const { return links_; }  // ascending, distinct

 private:
  struct Line {
    double latency = 0, nanos_per_byte = 0;
  };
  std::vector<Line> lines_;  // of the transfers that can be the last, by latency
  std::vector<LinkId> links_;
};

// The links of several rounds, ascending and distinct.
void AddLinks(const Round& round, std::vector<LinkId>& links);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_ROUND_H_
