// How an all-to-all goes, what it takes and which links it holds. With n devices on h machines, and p bytes that the
// device with the most has before or behind it:
//
//   direct   start + one round of p / n from each device to each other one
//
// Across machines NICs carry s times the bytes, so that the bus bandwidth p (n - 1) / n / time of devices with a NIC each
// is NIC * (1 - 0.44 / h): connections of many pairs share the NICs less evenly than a ring does.
//
//   s = (n - 1) / n / ((1 - 1 / h) (1 - 0.44 / h))
//
// GPUs start a send and a receive for each peer: 30 us and 1 us a peer, 37 us over 8 GPUs and 285 us over 256. Other
// devices start at once.
//
// Inside a machine no factor corrects the figures of links: 8 H100 have 376 GB/s by them, of 380 GB/s measured.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_ALL_TO_ALL_PLAN_H_
#define PLACEWRIGHT_COST_COMMUNICATION_ALL_TO_ALL_PLAN_H_

#include <span>
#include <vector>

#include "cost/communication/round.h"

namespace placewright {

class AllToAllPlan {
 public:
  // `devices`: two or more, distinct, connected both ways.
  AllToAllPlan(const Cluster& cluster, std::span<const DeviceId> devices);

  double NanosOf(double piece) const;  // of p
  // Ascending, distinct; the communicator's among them where all collectives have one.
  const std::vector<LinkId>& links() const { return links_; }

 private:
  double devices_ = 0;
  double start_ = 0;
  Round round_;
  std::vector<LinkId> links_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_ALL_TO_ALL_PLAN_H_
