// Numbers of items in a short list (internal to the module).
#ifndef PLACEWRIGHT_COMPILE_NUMBERING_H_
#define PLACEWRIGHT_COMPILE_NUMBERING_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace placewright {

// Where it is in the list; nothing where it is not.
template <class Items, class Item>
std::optional<int32_t> PlaceIn(const Items& items, const Item& item) {
  const auto at = std::find(items.begin(), items.end(), item);
  if (at == items.end()) return std::nullopt;
  return static_cast<int32_t>(at - items.begin());
}

// Where it is in the list, to which it is added if it is not there.
template <class Item>
int32_t NumberIn(std::vector<Item>& items, const Item& item) {
  const auto at = std::find(items.begin(), items.end(), item);
  const auto number = static_cast<int32_t>(at - items.begin());
  if (at == items.end()) items.push_back(item);
  return number;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_NUMBERING_H_
