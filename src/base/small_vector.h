// A list that seldom has more than one item: the only one lies in it. Small where there are many such lists, and
// nothing is allocated for most of them.
#ifndef PLACEWRIGHT_BASE_SMALL_VECTOR_H_
#define PLACEWRIGHT_BASE_SMALL_VECTOR_H_

#include <compare>
#include <cstddef>
#include <initializer_list>
#include <variant>
#include <vector>

namespace placewright {

template <class T>
class SmallVector {
 public:
  SmallVector() = default;
  SmallVector(std::initializer_list<T> items) {
    if (items.size() == 1) {
      items_ = *items.begin();
    } else {
      items_ = std::vector<T>(items);
    }
  }

  bool empty() const { return size() == 0; }
  size_t size() const {
    const auto* const several = std::get_if<0>(&items_);
    return several == nullptr ? 1 : several->size();
  }
  const T* begin() const {
    const T* const only = std::get_if<1>(&items_);
    return only != nullptr ? only : std::get_if<0>(&items_)->data();
  }
  const T* end() const { return begin() + size(); }
  const T& front() const { return *begin(); }

  friend auto operator<=>(const SmallVector&, const SmallVector&) = default;

 private:
  std::variant<std::vector<T>, T> items_;  // none or several; one
};

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_SMALL_VECTOR_H_
