#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace placewright {

namespace {

// "3.42", "17.0", "120": trailing zeros kept, so that columns of times compare.
std::string ThreeDigits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

}  // namespace

Nanos TransferTime(Bytes size, BytesPerSecond bandwidth) {
  using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(size.count) * 1'000'000'000u;
  const Wide rate = static_cast<Wide>(bandwidth.count);
  const Wide time = (product + rate - 1) / rate;
  const Wide limit = static_cast<Wide>(kMaxQuantity);
  return Nanos(static_cast<int64_t>(std::min(time, limit)));
}

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return kMaxQuantity;
  return std::min(sum, kMaxQuantity);
}

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return kMaxQuantity;
  return std::min(product, kMaxQuantity);
}

double Seconds(Nanos time) { return static_cast<double>(time.count) * 1e-9; }

std::string FormatNanos(Nanos time) {
  const double ns = static_cast<double>(time.count);
  if (time.count >= kMaxQuantity) return "at least 2^60 ns";  // counting stops there
  if (time.count < 1000) return fmt::format("{} ns", time.count);
  if (ns < 999.5e3) return ThreeDigits(ns * 1e-3) + " us";
  if (ns < 999.5e6) return ThreeDigits(ns * 1e-6) + " ms";
  return ThreeDigits(ns * 1e-9) + " s";
}

std::string FormatBytes(Bytes size) {
  static constexpr std::array<const char*, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (size.count < 1024 && size.count > -1024) return fmt::format("{} B", size.count);
  double value = static_cast<double>(size.count);
  size_t unit = 0;
  while (std::max(value, -value) >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string FormatBandwidth(BytesPerSecond bandwidth) {
  static constexpr std::array<const char*, 5> kNames = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  auto value = static_cast<double>(bandwidth.count);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < kNames.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kNames[unit]);
}

std::string FormatCount(int64_t n) {
  std::string digits = fmt::format("{}", n);
  for (size_t i = digits.size(); i > 3 && digits[i - 3 - 1] != '-'; i -= 3)
    digits.insert(i - 3, ",");
  return digits;
}

}  // namespace placewright
