#include "search/proof/work_bound.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace placewright {
namespace {

constexpr int64_t kOne = int64_t{1} << 20, kMaxWeight = kOne << 10;

// Product: what holds a weight times a time, and the time of all jobs.
template <class Product>
int64_t BoundIn(std::span<const int64_t> times, size_t devices) {
  const int64_t evaluations = static_cast<int64_t>(times.size()) + 1;
  const int rounds = static_cast<int>(std::clamp<int64_t>(20'000'000 / evaluations, 10, 400));
  std::vector<int64_t> weight(devices, kOne);
  int64_t best = 0;
  for (int round = 0; round < rounds; ++round) {
    __int128 sum = 0;
    std::vector<Product> load(devices, 0);  // time, if every job takes its cheapest device
    for (size_t row = 0; devices > 0 && row < times.size(); row += devices) {
      Product cheapest = -1;
      size_t device = devices;
      for (size_t d = 0; d < devices; ++d) {
        const int64_t time = times[row + d];
        const Product cost = static_cast<Product>(weight[d]) * time;
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
          __int128{load[d]} * static_cast<int64_t>(devices) * 1000 / total;  // 1000: the mean
      const int64_t step = 4000 / (20 + round);                    // per mille
      const int64_t change = std::clamp<int64_t>(static_cast<int64_t>(share) - 1000, -1000, 1000);
      weight[d] += weight[d] / 1000 * (change * step) / 1000;
      weight[d] = std::clamp<int64_t>(weight[d], 1, kMaxWeight);
    }
  }
  return best;
}

}  // namespace

int64_t WorkBound(std::span<const int64_t> times, size_t devices) {
  const int64_t longest = times.empty() ? 0 : *std::max_element(times.begin(), times.end());
  const auto jobs = static_cast<int64_t>(times.size() / std::max<size_t>(1, devices)) + 1;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const bool narrow = longest <= kMax / kMaxWeight && longest <= kMax / jobs;
  return narrow ? BoundIn<int64_t>(times, devices) : BoundIn<__int128>(times, devices);
}

}  // namespace placewright
