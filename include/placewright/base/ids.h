// Dense, typed indices. An `OpId` never mixes with a `DeviceId`: each is its own type over int32.
#ifndef PLACEWRIGHT_BASE_IDS_H_
#define PLACEWRIGHT_BASE_IDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace placewright {

// A position in a dense array, or "none" (-1, the default).
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(int32_t value) : value_(value) {}
  constexpr explicit Id(size_t value) : value_(static_cast<int32_t>(value)) {}

  constexpr int32_t value() const { return value_; }
  constexpr size_t index() const { return static_cast<size_t>(value_); }  // only when valid()
  constexpr bool valid() const { return value_ >= 0; }

  friend constexpr auto operator<=>(Id a, Id b) = default;

 private:
  int32_t value_ = -1;
};

using OpId = Id<struct OpTag>;
using TensorId = Id<struct TensorTag>;
using StorageId = Id<struct StorageTag>;
using ModuleId = Id<struct ModuleTag>;  // a module path such as "m.encoder.layer.0"
using GroupId = Id<struct GroupTag>;    // a colocation group or a coarser group of ops
using DeviceId = Id<struct DeviceTag>;
using LinkId = Id<struct LinkTag>;  // one direction of a link
using CollectiveId = Id<struct CollectiveTag>;

// std::vector indexed by a typed id.
template <class IdType, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(size_t size, const T& value = T()) : items_(size, value) {}

  decltype(auto) operator[](IdType id) { return items_[id.index()]; }
  decltype(auto) operator[](IdType id) const { return items_[id.index()]; }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  IdType push_back(T item) {
    items_.push_back(std::move(item));
    return IdType(items_.size() - 1);
  }
  void assign(size_t size, const T& value) { items_.assign(size, value); }
  void resize(size_t size) { items_.resize(size); }
  void reserve(size_t size) { items_.reserve(size); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::vector<T>& raw() { return items_; }
  const std::vector<T>& raw() const { return items_; }
  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  std::vector<T> items_;
};

// for (OpId op : IdRange<OpId>(n)) ...
template <class IdType>
class IdRange {
 public:
  explicit IdRange(size_t size) : size_(static_cast<int32_t>(size)) {}
  struct Iterator {
    int32_t value;
    IdType operator*() const { return IdType(value); }
    Iterator& operator++() {
      ++value;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return value != other.value; }
  };
  Iterator begin() const { return {0}; }
  Iterator end() const { return {size_}; }

 private:
  int32_t size_;
};

}  // namespace placewright

template <class Tag>
struct std::hash<placewright::Id<Tag>> {
  size_t operator()(placewright::Id<Tag> id) const noexcept {
    return std::hash<int32_t>()(id.value());
  }
};

#endif  // PLACEWRIGHT_BASE_IDS_H_
