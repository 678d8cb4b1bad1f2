// A list that seldom has more than one item: the only one lies in it. Small where there are many such lists, and
// nothing is allocated for most of them.
#ifndef PLACEWRIGHT_BASE_SMALL_VECTOR_H_
#define PLACEWRIGHT_BASE_SMALL_VECTOR_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <vector>

namespace placewright {

template <class T>
class SmallVector {
 public:
  SmallVector() = default;
  SmallVector(std::initializer_list<T> items) : SmallVector(items.begin(), items.end()) {}
  template <class Iterator>
  SmallVector(Iterator first, Iterator last) : one_(last - first == 1) {
    if (one_) only_ = *first;
    if (last - first > 1) several_ = std::make_unique<std::vector<T>>(first, last);
  }
  SmallVector(const SmallVector& other) : only_(other.only_), one_(other.one_) {
    if (other.several_) several_ = std::make_unique<std::vector<T>>(*other.several_);
  }
  SmallVector(SmallVector&&) noexcept = default;
  SmallVector& operator=(const SmallVector& other) { return *this = SmallVector(other); }
  SmallVector& operator=(SmallVector&&) noexcept = default;
  ~SmallVector() = default;

  bool empty() const { return !one_ && !several_; }
  size_t size() const { return several_ ? several_->size() : static_cast<size_t>(one_); }
  const T* begin() const { return several_ ? several_->data() : &only_; }
  const T* end() const { return begin() + size(); }
  const T& front() const { return *begin(); }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend auto operator<=>(const SmallVector& a, const SmallVector& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T only_ = {};
  bool one_ = false;
  std::unique_ptr<std::vector<T>> several_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_SMALL_VECTOR_H_
