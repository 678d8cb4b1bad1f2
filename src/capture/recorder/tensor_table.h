// Which recorded tensor a LibTorch tensor is: by its storage and its place there (offset, sizes,
// strides, type). Autograd makes new tensor objects of the same memory all the time, so that the
// object alone says nothing. Of several records of one place (a weight, and the transpose of its
// transpose) it is the one with that very object, else the one that was not made by a view.
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
  // `view`: the record is another name of its bytes, else it made or wrote them.
  void Define(const at::Tensor& tensor, Index index, bool view);

  static bool SharesStorage(const at::Tensor& a, const at::Tensor& b);

 private:
  // Weak pointers keep an address from being used again, not the memory.
  struct Alias {
    c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> object;
    Index index;
  };
  struct Place {
    int64_t offset;
    c10::ScalarType type;
    c10::SmallVector<int64_t, 5> sizes, strides;
    Index index;
    std::vector<Alias> aliases;  // further views of this place
    bool Is(const at::Tensor& tensor) const;
  };
  struct Entry {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    std::vector<Place> places;
  };
  const Entry* EntryOf(const at::Tensor& tensor) const;

  std::unordered_map<const c10::StorageImpl*, Entry> entries_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_RECORDER_TENSOR_TABLE_H_
