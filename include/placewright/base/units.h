// Whole nanoseconds and whole bytes. Unit changes are named functions; nothing converts silently.
#ifndef PLACEWRIGHT_BASE_UNITS_H_
#define PLACEWRIGHT_BASE_UNITS_H_

#include <compare>
#include <cstdint>
#include <string>

namespace placewright {

// A signed integer of one unit.
template <class Unit>
struct Quantity {
  int64_t count = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(int64_t value) : count(value) {}
  friend constexpr auto operator<=>(Quantity a, Quantity b) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.count + b.count);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.count - b.count);
  }
  friend constexpr Quantity operator*(Quantity a, int64_t k) { return Quantity(a.count * k); }
  constexpr Quantity& operator+=(Quantity b) {
    count += b.count;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity b) {
    count -= b.count;
    return *this;
  }
};

using Nanos = Quantity<struct NanosUnit>;
using Bytes = Quantity<struct BytesUnit>;
using BytesPerSecond = Quantity<struct BytesPerSecondUnit>;

// Largest size, time and bandwidth that any input may state: 2^60. Sums of two stay in int64.
inline constexpr int64_t kMaxQuantity = int64_t{1} << 60;

// ceil(size * 1e9 / bandwidth), exact (the product may exceed 64 bits). bandwidth >= 1.
// Saturates at kMaxQuantity.
Nanos TransferTime(Bytes size, BytesPerSecond bandwidth);

// Rounded up to the allocator's 512-byte granule; 0 stays 0 (simulator rule 8).
constexpr Bytes RoundUpToGranule(Bytes size) { return Bytes((size.count + 511) / 512 * 512); }

// a + b, saturating at kMaxQuantity; for sums over untrusted inputs.
int64_t SaturatingAdd(int64_t a, int64_t b);
inline void AddSaturating(Bytes& total, Bytes size) {
  total = Bytes(SaturatingAdd(total.count, size.count));
}
// a * b for a, b >= 0, saturating at kMaxQuantity.
int64_t SaturatingMultiply(int64_t a, int64_t b);

double Seconds(Nanos time);
std::string FormatNanos(Nanos time);  // "812 ns", "3.42 us", "2.41 s"; "at least 2^60 ns"
std::string FormatBytes(Bytes size);  // "512 B", "1.5 KiB", "10.2 GiB"
std::string FormatBandwidth(BytesPerSecond bandwidth);  // "12.0 GB/s"; powers of 1,000
std::string FormatCount(int64_t n);                     // "3,667"

// part / whole; 0 of nothing.
inline double ShareOf(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_UNITS_H_
