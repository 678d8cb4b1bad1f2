#include "search/layouts/token_shares.h"

#include <algorithm>
#include <cmath>

namespace placewright {

std::vector<int64_t> EndsOfEqualWork(int64_t tokens, int64_t parts, double causal, double rest) {
  constexpr int64_t kTile = 64, kTilesOfAPart = 16;
  int64_t step = 1;
  while (step < kTile && tokens >= 2 * step * kTilesOfAPart * parts) step *= 2;
  const double all = causal + rest;
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (int64_t i = 1; i < parts; ++i) {
    const double due = all * static_cast<double>(i) / static_cast<double>(parts);
    // The root of causal x^2 + rest x - due, in a form that holds for causal = 0, too.
    const double x = 2 * due / (rest + std::sqrt(rest * rest + 4 * causal * due));
    const double steps = std::floor(x * static_cast<double>(tokens / step) + 0.5);
    end = std::clamp(static_cast<int64_t>(steps) * step, end + 1, tokens - (parts - i));
    ends.push_back(end);
  }
  ends.push_back(tokens);
  return ends;
}

}  // namespace placewright
