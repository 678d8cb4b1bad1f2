// PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6) for one device, as it is
// without PYTORCH_CUDA_ALLOC_CONF: what it takes from the driver ("reserved")
// for a sequence of allocations and frees.
//
// Sizes are rounded up to 512 B. Up to 1 MiB they come from the small pool, whose segments are of
// 2 MiB; larger ones from the large pool, whose segments are of 20 MiB for less than 10 MiB, else
// of the size in multiples of 2 MiB. The smallest free block of the pool that is large enough is
// taken, of equal ones the first by address, before a segment is asked for; what is left of it is
// split off where it is at least 512 B (small pool) or more than 1 MiB (large pool). A freed block
// joins free neighbours of its segment. Where the limit leaves no room for a segment, every segment
// that is wholly free goes back to the driver, and the request is tried once more.
//
// Each stream has pools of its own: what another one has freed is not taken.
//
// Ours: segments have ascending addresses, the newest the highest; the driver's need not. Events
// that delay frees are left out.
#ifndef PLACEWRIGHT_SIM_MEMORY_CACHING_ALLOCATOR_H_
#define PLACEWRIGHT_SIM_MEMORY_CACHING_ALLOCATOR_H_

#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/units.h"

namespace placewright {

class CachingAllocator {
 public:
  using Block = int32_t;

  // `limit`: what the driver has for it.
  explicit CachingAllocator(Bytes limit = Bytes(kMaxQuantity)) : limit_(limit.count) {}

  // `size` >= 1, `stream` >= 0. None: there is no room, even with all cached segments given back.
  // O(log blocks).
  std::optional<Block> Allocate(Bytes size, size_t stream = 0);
  // Of Allocate, once.
  void Free(Block block);

  Bytes reserved() const { return Bytes(reserved_); }  // in segments
  Bytes max_reserved() const { return Bytes(max_reserved_); }
  // How often cached segments were given back for want of room, each a stall of the device.
  int64_t retries() const { return retries_; }

 private:
  struct Extent {
    int64_t size = 0, address = 0;
    size_t pool = 0;
    bool free = false;
    Block before = -1, after = -1;  // in its segment
  };
  using Pool = std::set<std::tuple<int64_t, int64_t, Block>>;  // free: size, address

  Block Add(Extent extent);
  void Insert(Block block);  // among the free ones
  void Remove(Block block);
  std::optional<Block> MakeSegment(int64_t size, size_t pool);
  void Release();
  void SplitOff(Block block, int64_t size);
  void Absorb(Block left, Block right);  // left becomes both

  int64_t limit_, reserved_ = 0, max_reserved_ = 0, next_address_ = 0, retries_ = 0;
  std::vector<Extent> extents_;
  std::vector<Block> unused_;  // places in `extents_`
  std::vector<Pool> pools_;    // of each stream the small, the large
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_MEMORY_CACHING_ALLOCATOR_H_
