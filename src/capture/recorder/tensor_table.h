// Which recorded tensor a LibTorch tensor is: by its storage and its place there (offset, sizes,
// strides, type). Autograd makes new tensor objects of the same memory all the time, so that the
// object itself says nothing. Of several records of one place the newest counts.
#ifndef PLACEWRIGHT_CAPTURE_RECORDER_TENSOR_TABLE_H_
#define PLACEWRIGHT_CAPTURE_RECORDER_TENSOR_TABLE_H_

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace placewright {

class TensorTable {
 public:
  using Index = int32_t;
  static constexpr Index kNone = -1;

  // The record of the tensor's place, or kNone.
  Index Find(const at::Tensor& tensor) const;
  // Any record of the tensor's storage (its first one), or kNone.
  Index FindStorage(const at::Tensor& tensor) const;
  void Define(const at::Tensor& tensor, Index index);

  static bool SharesStorage(const at::Tensor& a, const at::Tensor& b);

 private:
  struct Place {
    int64_t offset;
    c10::ScalarType type;
    c10::SmallVector<int64_t, 5> sizes, strides;
    Index index;
    bool Is(const at::Tensor& tensor) const;
  };
  struct Entry {
    // Keeps the address from being used again, not the memory.
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    std::vector<Place> places;
  };
  const Entry* EntryOf(const at::Tensor& tensor) const;

  std::unordered_map<const c10::StorageImpl*, Entry> entries_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_RECORDER_TENSOR_TABLE_H_
