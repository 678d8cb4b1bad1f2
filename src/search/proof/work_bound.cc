#include "search/proof/work_bound.h"

#include <algorithm>
#include <vector>

namespace placewright {

int64_t WorkBound(std::span<const int64_t> times, std::span<const size_t> counts) {
  const size_t sorts = counts.size();
  constexpr int64_t kOne = int64_t{1} << 20;
  const int64_t evaluations = static_cast<int64_t>(times.size()) + 1;
  const int rounds = static_cast<int>(std::clamp<int64_t>(20'000'000 / evaluations, 10, 400));
  int64_t devices = 0;
  for (const size_t count : counts) devices += static_cast<int64_t>(count);
  std::vector<int64_t> weight(sorts, kOne);
  int64_t best = 0;
  for (int round = 0; round < rounds; ++round) {
    __int128 sum = 0;
    std::vector<__int128> load(sorts, 0);  // time of all of a sort, if jobs take the cheapest
    const auto has_less = [&](size_t a, size_t b) {
      return load[a] * static_cast<int64_t>(counts[b]) < load[b] * static_cast<int64_t>(counts[a]);
    };
    for (size_t row = 0; sorts > 0 && row < times.size(); row += sorts) {
      __int128 cheapest = -1;
      size_t sort = sorts;
      for (size_t s = 0; s < sorts; ++s) {
        const int64_t time = times[row + s];
        const __int128 cost = static_cast<__int128>(weight[s]) * time;
        // Equal costs go where less lies on each, so that they are shared.
        if (time >= 0 &&
            (sort == sorts || cost < cheapest || (cost == cheapest && has_less(s, sort)))) {
          cheapest = cost, sort = s;
        }
      }
      if (sort == sorts) continue;
      sum += cheapest;
      load[sort] += times[row + sort];
    }
    __int128 weights = 0, total = 0;
    for (size_t s = 0; s < sorts; ++s) {
      weights += static_cast<__int128>(weight[s]) * static_cast<int64_t>(counts[s]);
      total += load[s];
    }
    if (weights == 0 || total == 0) break;
    best = std::max(best, static_cast<int64_t>((sum + weights - 1) / weights));
    // Devices loaded above the mean become dearer, those below cheaper.
    for (size_t s = 0; s < sorts; ++s) {
      const __int128 share = load[s] * devices * 1000 / static_cast<int64_t>(counts[s]) /
                             total;              // of each device; 1000: the mean
      const int64_t step = 4000 / (20 + round);  // per mille
      const int64_t change = std::clamp<int64_t>(static_cast<int64_t>(share) - 1000, -1000, 1000);
      weight[s] += weight[s] / 1000 * (change * step) / 1000;
      weight[s] = std::clamp<int64_t>(weight[s], 1, kOne << 10);
    }
  }
  return best;
}

}  // namespace placewright
