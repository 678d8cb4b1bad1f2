#ifndef PLACEWRIGHT_TESTS_SIMULATOR_SHUFFLE_H_
#define PLACEWRIGHT_TESTS_SIMULATOR_SHUFFLE_H_

#include <utility>
#include <vector>

#include "base/random.h"

namespace placewright {

template <class T>
void Shuffle(Random& random, std::vector<T>& items) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.Below(i)]);
}

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_SIMULATOR_SHUFFLE_H_
