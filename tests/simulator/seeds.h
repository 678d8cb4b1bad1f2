// How many random steps a property is tried on.
#ifndef TESTS_SIMULATOR_SEEDS_H_
#define TESTS_SIMULATOR_SEEDS_H_

#include <cstdint>
#include <cstdlib>

namespace placewright {

// A third of `all`, the first ones, unless the environment has PLACEWRIGHT_SEEDS=all (./test --long).
inline uint64_t SeedsOf(uint64_t all) {
  return std::getenv("PLACEWRIGHT_SEEDS") != nullptr ? all : all / 3;
}

}  // namespace placewright

#endif  // TESTS_SIMULATOR_SEEDS_H_
