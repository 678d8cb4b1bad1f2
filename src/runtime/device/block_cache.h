// Large blocks of memory, kept for the next request of their size: a step asks for the same sizes again
// and again, and from the system every page of a block comes new and empty.
#ifndef PLACEWRIGHT_RUNTIME_DEVICE_BLOCK_CACHE_H_
#define PLACEWRIGHT_RUNTIME_DEVICE_BLOCK_CACHE_H_

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace placewright {

class BlockCache {
 public:
  static constexpr size_t kSmall = size_t{32}
                                   << 10;  // below that, the system's allocator is as fast

  BlockCache() = default;
  ~BlockCache() { Clear(); }
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // At least `bytes` bytes, aligned as LibTorch aligns. From any thread. Throws c10::Error where the
  // system has none.
  void* Take(size_t bytes);
  // `bytes` as it was asked for.
  void GiveBack(void* block, size_t bytes);
  void Clear();

 private:
  // An eighth of a power of two: at most so much of a block is waste.
  static size_t Rounded(size_t bytes);

  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> blocks_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_DEVICE_BLOCK_CACHE_H_
