#include "graph/name_index.h"

#include <functional>
#include <utility>

namespace placewright {

uint32_t NameIndex::HashOf(std::string_view name) {
  return static_cast<uint32_t>(std::hash<std::string_view>()(name));
}

void NameIndex::Put(Slot slot) {
  size_t at = slot.hash & mask();
  while (slots_[at].item != kNone) at = (at + 1) & mask();
  slots_[at] = slot;
}

void NameIndex::Add(std::string_view name, int32_t item) {
  constexpr size_t kFirst = 64;
  if (3 * (count_ + 1) > 2 * slots_.size()) {
    const std::vector<Slot> old =
        std::exchange(slots_, std::vector<Slot>(slots_.empty() ? kFirst : 2 * slots_.size()));
    for (const Slot& slot : old) {
      if (slot.item != kNone) Put(slot);
    }
  }
  Put({HashOf(name), item});
  ++count_;
}

}  // namespace placewright
