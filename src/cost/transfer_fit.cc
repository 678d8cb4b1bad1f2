#include "cost/transfer_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace placewright {
namespace {

constexpr size_t kSizesOfLine = 3;

// time = a + b * bytes, weighted by 1 / time^2.
struct LatencyLine {
  double a = 0, b = 0, error = 0;
};

LatencyLine Fit(std::span<const SizeAndTime> sizes) {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [bytes, time] : sizes) {
    const double t = std::max(1.0, static_cast<double>(time.count));
    const double size = static_cast<double>(bytes.count), weight = 1 / (t * t);
    w += weight;
    x += weight * size;
    y += weight * t;
    xx += weight * size * size;
    xy += weight * size * t;
  }
  LatencyLine line;
  const double across = w * xx - x * x;
  line.b = across > 0 ? (w * xy - x * y) / across : 0;
  line.a = (y - line.b * x) / w;
  // Neither may be negative: then the best line lies on that border.
  if (line.b < 0) {
    line.b = 0;
    line.a = y / w;
  } else if (line.a < 0) {
    line.a = 0;
    line.b = xx > 0 ? xy / xx : 0;
  }
  for (const auto& [bytes, time] : sizes) {
    const double t = std::max(1.0, static_cast<double>(time.count));
    const double away = (line.a + line.b * static_cast<double>(bytes.count)) / t - 1;
    line.error += away * away;
  }
  return line;
}

TransferSegment SegmentOf(Bytes from, const LatencyLine& line) {
  constexpr double kFastest = 1e15;  // bytes a second, where size shows no effect
  const double bandwidth = line.b > 0 ? std::clamp(1e9 / line.b, 1.0, kFastest) : kFastest;
  return {from, Nanos(static_cast<int64_t>(std::llround(line.a))),
          BytesPerSecond(static_cast<int64_t>(bandwidth))};
}

}  // namespace

TransferSegment FitLine(std::span<const SizeAndTime> sizes) {
  return SegmentOf(Bytes(0), Fit(sizes));
}

std::vector<TransferSegment> FitSegments(std::span<const SizeAndTime> sizes, size_t max) {
  // best[k][i]: the smallest error of the first i sizes in k + 1 lines, and where the last one begins.
  struct Best {
    double error = std::numeric_limits<double>::infinity();
    size_t begin = 0;
  };
  const size_t count = sizes.size();
  std::vector<std::vector<Best>> best(max, std::vector<Best>(count + 1));
  for (size_t k = 0; k < max; ++k) {
    for (size_t end = 1; end <= count; ++end) {
      for (size_t begin = 0; begin < end; ++begin) {
        if (k == 0 && begin > 0) break;
        if (end - begin < kSizesOfLine && begin > 0) break;
        const double before = begin == 0 ? (k == 0 ? 0 : std::numeric_limits<double>::infinity())
                                         : best[k - 1][begin].error;
        if (k > 0 && begin < kSizesOfLine) continue;
        const double error = before + Fit(sizes.subspan(begin, end - begin)).error;
        if (error < best[k][end].error) best[k][end] = {error, begin};
      }
    }
  }
  // A line more is worth it where one misses the sizes by more than a percent.
  const double good = 1e-4 * static_cast<double>(count);
  size_t lines = 0;
  while (lines + 1 < max && best[lines][count].error > good &&
         best[lines + 1][count].error < best[lines][count].error / 2) {
    ++lines;
  }
  std::vector<TransferSegment> segments;
  size_t end = count;
  for (size_t k = lines + 1; k-- > 0;) {
    const size_t begin = best[k][end].begin;
    segments.push_back(SegmentOf(begin == 0 ? Bytes(0) : sizes[begin].first,
                                 Fit(sizes.subspan(begin, end - begin))));
    end = begin;
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace placewright
