#include "capture/recorder/tensor_table.h"

namespace placewright {
namespace {

const c10::StorageImpl* StorageOf(const at::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl();
}

c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> Weak(const at::Tensor& tensor) {
  return c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>(
      tensor.getIntrusivePtr());
}

}  // namespace

bool TensorTable::Place::Is(const at::Tensor& tensor) const {
  return offset == tensor.storage_offset() && type == tensor.scalar_type() &&
         tensor.sizes() == at::IntArrayRef(sizes) && tensor.strides() == at::IntArrayRef(strides);
}

const TensorTable::Entry* TensorTable::EntryOf(const at::Tensor& tensor) const {
  const auto it = entries_.find(StorageOf(tensor));
  return it == entries_.end() ? nullptr : &it->second;
}

TensorTable::Index TensorTable::Find(const at::Tensor& tensor) const {
  const Entry* entry = EntryOf(tensor);
  if (entry == nullptr) return kNone;
  for (const Place& place : entry->places) {
    if (!place.Is(tensor)) continue;
    for (const Alias& alias : place.aliases) {
      if (alias.object._unsafe_get_target() == tensor.unsafeGetTensorImpl()) return alias.index;
    }
    return place.index;
  }
  return kNone;
}

TensorTable::Index TensorTable::FindStorage(const at::Tensor& tensor) const {
  const Entry* entry = EntryOf(tensor);
  return entry == nullptr ? kNone : entry->places.front().index;
}

void TensorTable::Define(const at::Tensor& tensor, Index index, bool view) {
  const auto [it, is_new] =
      entries_.try_emplace(StorageOf(tensor), Entry{tensor.storage().getWeakStorageImpl(), {}});
  for (Place& place : it->second.places) {
    if (!place.Is(tensor)) continue;
    if (view) {
      place.aliases.push_back({Weak(tensor), index});
    } else {
      place.index = index;
      place.aliases.clear();
    }
    return;
  }
  it->second.places.push_back({tensor.storage_offset(),
                               tensor.scalar_type(),
                               {tensor.sizes().begin(), tensor.sizes().end()},
                               {tensor.strides().begin(), tensor.strides().end()},
                               index,
                               {}});
}

bool TensorTable::SharesStorage(const at::Tensor& a, const at::Tensor& b) {
  return StorageOf(a) == StorageOf(b);
}

}  // namespace placewright
