// Philox4x32-10: random numbers by counting. The four words of a block are a function of a counter and a key
// alone, so that any element of a stream can be drawn by itself, by whichever device has it.
//
// Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3: ten
// rounds of two multiplications, whose high and low words change places. A test holds it to the vectors that
// its authors publish.
#ifndef PLACEWRIGHT_RUNTIME_OPS_PHILOX_H_
#define PLACEWRIGHT_RUNTIME_OPS_PHILOX_H_

#include <array>
#include <cstdint>

namespace placewright {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

inline PhiloxCounter Philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
        static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key[0] += 0x9E3779B9;  // the golden ratio
    key[1] += 0xBB67AE85;  // the square root of 3, less 1
  }
  return counter;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_OPS_PHILOX_H_
