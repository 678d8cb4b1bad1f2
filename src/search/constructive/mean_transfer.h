// What a transfer costs where it is not known yet between which devices.
#ifndef PLACEWRIGHT_SEARCH_CONSTRUCTIVE_MEAN_TRANSFER_H_
#define PLACEWRIGHT_SEARCH_CONSTRUCTIVE_MEAN_TRANSFER_H_

#include <cstdint>
#include <vector>

#include "cluster/cluster.h"

namespace placewright {

// Mean transfer time of `bytes` over all ordered pairs of distinct accelerators.
class MeanTransfer {
 public:
  MeanTransfer(const Cluster& cluster, const std::vector<DeviceId>& devices) {
    for (DeviceId a : devices) {
      for (DeviceId b : devices) {
        if (a == b || !cluster.Connected(a, b)) continue;
        const Route& route = cluster.route(a, b);
        latency_ = SaturatingAdd(latency_, route.latency.count);
        per_mib_ =
            SaturatingAdd(per_mib_, TransferTime(Bytes(int64_t{1} << 20), route.bandwidth).count);
        ++pairs_;
      }
    }
    if (pairs_ > 0) latency_ /= pairs_, per_mib_ /= pairs_;
  }
  int64_t Time(int64_t bytes) const {
    const auto product = static_cast<__int128>(bytes) * per_mib_ >> 20;
    return SaturatingAdd(latency_,
                         product > kMaxQuantity ? kMaxQuantity : static_cast<int64_t>(product));
  }

 private:
  int64_t latency_ = 0, per_mib_ = 0, pairs_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONSTRUCTIVE_MEAN_TRANSFER_H_
