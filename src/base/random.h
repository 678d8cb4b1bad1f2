// Seeded pseudo-random numbers, equal on every platform and compiler. The standard distributions
// differ between libraries, so the draws are our own.
#ifndef PLACEWRIGHT_BASE_RANDOM_H_
#define PLACEWRIGHT_BASE_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace placewright {

// SplitMix64 (Steele, Lea, Flood 2014): 64-bit state, period 2^64, streams by `Fork`.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound); bound >= 1. Multiply-shift with rejection: exactly uniform (Lemire
  // 2019).
  uint64_t Below(uint64_t bound) {
    unsigned __int128 product = static_cast<unsigned __int128>(Next()) * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t threshold = (0 - bound) % bound;
      while (static_cast<uint64_t>(product) < threshold) {
        product = static_cast<unsigned __int128>(Next()) * bound;
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // Uniform in [0, 1), 53 bits.
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  // With which Random(state()) goes on as this does.
  uint64_t state() const { return state_; }

  // An independent stream; the same (seed, stream) always gives the same draws.
  Random Fork(uint64_t stream) const {
    Random mixed(state_ ^ (stream * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du));
    return Random(mixed.Next());
  }

 private:
  uint64_t state_;
};

// 0 .. n - 1 in an order drawn uniformly.
inline std::vector<int64_t> RandomPermutation(int64_t n, Random& random) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  return order;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_RANDOM_H_
