#include "runtime/device/block_cache.h"

#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include <bit>
#include <exception>

namespace placewright {

size_t BlockCache::Rounded(size_t bytes) {
  if (bytes < kSmall) return bytes;
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

void* BlockCache::Take(size_t bytes) {
  const size_t size = Rounded(bytes);
  if (size >= kSmall) {
    const std::scoped_lock lock(mutex_);
    const auto found = blocks_.find(size);
    if (found != blocks_.end() && !found->second.empty()) {
      void* const block = found->second.back();
      found->second.pop_back();
      return block;
    }
  }
  try {
    return c10::alloc_cpu(size);
  } catch (const std::exception&) {
    Clear();
    return c10::alloc_cpu(size);
  }
}

void BlockCache::GiveBack(void* block, size_t bytes) {
  const size_t size = Rounded(bytes);
  if (size < kSmall) {
    c10::free_cpu(block);
    return;
  }
  const std::scoped_lock lock(mutex_);
  blocks_[size].push_back(block);
}

void BlockCache::Clear() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [size, blocks] : blocks_) {
    for (void* const block : blocks) c10::free_cpu(block);
  }
  blocks_.clear();
}

}  // namespace placewright
