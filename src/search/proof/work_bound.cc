#include "search/proof/work_bound.h"

#include <algorithm>
#include <vector>

namespace placewright {

int64_t WorkBound(std::span<const int64_t> times, size_t devices) {
  constexpr int64_t kOne = int64_t{1} << 20;
  const int64_t evaluations = static_cast<int64_t>(times.size()) + 1;
  const int rounds = static_cast<int>(std::clamp<int64_t>(20'000'000 / evaluations, 10, 400));
  std::vector<int64_t> weight(devices, kOne);
  int64_t best = 0;
  for (int round = 0; round < rounds; ++round) {
    __int128 sum = 0;
    std::vector<__int128> load(devices, 0);  // time, if every job takes its cheapest device
    for (size_t row = 0; devices > 0 && row < times.size(); row += devices) {
      __int128 cheapest = -1;
      size_t device = devices;
      for (size_t d = 0; d < devices; ++d) {
        const int64_t time = times[row + d];
        const __int128 cost = static_cast<__int128>(weight[d]) * time;
        // Equal costs go where less lies, so that equal devices share.
        if (time >= 0 && (device == devices || cost < cheapest ||
                          (cost == cheapest && load[d] < load[device]))) {
          cheapest = cost, device = d;
        }
      }
      if (device == devices) continue;
      sum += cheapest;
      load[device] += times[row + device];
    }
    __int128 weights = 0, total = 0;
    for (size_t d = 0; d < devices; ++d) weights += weight[d], total += load[d];
    if (weights == 0 || total == 0) break;
    best = std::max(best, static_cast<int64_t>((sum + weights - 1) / weights));
    // Devices loaded above the mean become dearer, those below cheaper.
    for (size_t d = 0; d < devices; ++d) {
      const __int128 share =
          load[d] * static_cast<int64_t>(devices) * 1000 / total;  // 1000: the mean
      const int64_t step = 4000 / (20 + round);                    // per mille
      const int64_t change = std::clamp<int64_t>(static_cast<int64_t>(share) - 1000, -1000, 1000);
      weight[d] += weight[d] / 1000 * (change * step) / 1000;
      weight[d] = std::clamp<int64_t>(weight[d], 1, kOne << 10);
    }
  }
  return best;
}

}  // namespace placewright
