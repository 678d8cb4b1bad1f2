// Looks the items of a growing list up by their names, without a copy of a name: who holds the
// items says how they are called.
#ifndef PLACEWRIGHT_GRAPH_NAME_INDEX_H_
#define PLACEWRIGHT_GRAPH_NAME_INDEX_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace placewright {

class NameIndex {
 public:
  static constexpr int32_t kNone = -1;

  // The item of that name, or kNone. `name_of(item)` is the name of an added item.
  template <class NameOf>
  int32_t Find(std::string_view name, const NameOf& name_of) const {
    if (slots_.empty()) return kNone;
    const uint32_t hash = HashOf(name);
    for (size_t at = hash & mask(); slots_[at].item != kNone; at = (at + 1) & mask()) {
      if (slots_[at].hash == hash && name_of(slots_[at].item) == name) return slots_[at].item;
    }
    return kNone;
  }

  // Adds an item, a number >= 0. There must be none of that name.
  void Add(std::string_view name, int32_t item);

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t item = kNone;
  };
  static uint32_t HashOf(std::string_view name);
  size_t mask() const { return slots_.size() - 1; }
  void Put(Slot slot);

  std::vector<Slot> slots_;  // none, or a power of two, of which at most two thirds are taken
  size_t count_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_NAME_INDEX_H_
