// Devices or links on which something may start, each once, in the order of being touched.
#ifndef PLACEWRIGHT_SIM_ENGINE_TOUCH_LIST_H_
#define PLACEWRIGHT_SIM_ENGINE_TOUCH_LIST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace placewright {

template <class IdType>  // DeviceId or LinkId
class TouchList {
 public:
  explicit TouchList(size_t size) : items_(size), touched_(size, 0) {}

  bool empty() const { return count_ == 0; }
  void Add(IdType item) {
    if (touched_[item]) return;
    touched_[item] = 1;
    items_[count_++] = item;
  }
  // Calls `visit` with every item and empties the list; `visit` adds none.
  template <class Visit>
  void Drain(const Visit& visit) {
    for (int32_t i = 0; i < count_; ++i) {
      touched_[items_[i]] = 0;
      visit(items_[i]);
    }
    count_ = 0;
  }
  void Clear() {
    Drain([](IdType) {});
  }

 private:
  std::vector<IdType> items_;
  IdVector<IdType, int32_t> touched_;  // flags; not bytes, which alias everything
  int32_t count_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_TOUCH_LIST_H_
