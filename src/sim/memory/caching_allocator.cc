#include "sim/memory/caching_allocator.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace placewright {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGranule = 512;
constexpr int64_t kSmall = kMiB;  // at most, of the small pool
constexpr int64_t kSmallSegment = 2 * kMiB;
constexpr int64_t kLargeSegment = 20 * kMiB;  // for less than kOwnSegment
constexpr int64_t kOwnSegment = 10 * kMiB;
constexpr int64_t kSegmentGranule = 2 * kMiB;

int64_t RoundUp(int64_t size, int64_t granule) { return (size + granule - 1) / granule * granule; }

int64_t SegmentFor(int64_t size) {
  if (size <= kSmall) return kSmallSegment;
  return size < kOwnSegment ? kLargeSegment : RoundUp(size, kSegmentGranule);
}

}  // namespace

std::optional<CachingAllocator::Block> CachingAllocator::Allocate(Bytes bytes, size_t stream) {
  PW_CHECK(bytes.count > 0);
  const int64_t size = RoundUp(bytes.count, kGranule);
  const bool small = size <= kSmall;
  const size_t number = 2 * stream + (small ? 0 : 1);
  if (pools_.size() <= number) pools_.resize(number + 1);
  Pool& pool = pools_[number];
  std::optional<Block> block;
  if (const auto best = pool.lower_bound({size, -1, -1}); best != pool.end()) {
    block = std::get<Block>(*best);
    Remove(*block);
  } else {
    block = MakeSegment(SegmentFor(size), number);
    if (!block) return std::nullopt;
  }
  const int64_t rest = extents_[*block].size - size;
  if (small ? rest >= kGranule : rest > kSmall) SplitOff(*block, size);
  return block;
}

void CachingAllocator::Free(Block block) {
  PW_CHECK(!extents_[block].free);
  const Block before = extents_[block].before;
  if (before >= 0 && extents_[before].free) {
    Remove(before);
    Absorb(before, block);
    block = before;
  }
  const Block after = extents_[block].after;
  if (after >= 0 && extents_[after].free) {
    Remove(after);
    Absorb(block, after);
  }
  Insert(block);
}

CachingAllocator::Block CachingAllocator::Add(Extent extent) {
  if (unused_.empty()) {
    extents_.push_back(extent);
    return static_cast<Block>(extents_.size() - 1);
  }
  const Block block = unused_.back();
  unused_.pop_back();
  extents_[block] = extent;
  return block;
}

void CachingAllocator::Insert(Block block) {
  Extent& extent = extents_[block];
  extent.free = true;
  pools_[extent.pool].insert({extent.size, extent.address, block});
}

void CachingAllocator::Remove(Block block) {
  Extent& extent = extents_[block];
  extent.free = false;
  pools_[extent.pool].erase({extent.size, extent.address, block});
}

std::optional<CachingAllocator::Block> CachingAllocator::MakeSegment(int64_t size, size_t pool) {
  if (reserved_ > limit_ - size) {
    ++retries_;
    Release();
    if (reserved_ > limit_ - size) return std::nullopt;
  }
  reserved_ += size;
  max_reserved_ = std::max(max_reserved_, reserved_);
  const Block block = Add({.size = size, .address = next_address_, .pool = pool});
  next_address_ += size;
  return block;
}

void CachingAllocator::Release() {
  for (Pool& pool : pools_) {
    for (auto it = pool.begin(); it != pool.end();) {
      const Block block = std::get<Block>(*it);
      const Extent& extent = extents_[block];
      const bool whole = extent.before < 0 && extent.after < 0;
      if (whole) {
        reserved_ -= extent.size;
        unused_.push_back(block);
      }
      it = whole ? pool.erase(it) : std::next(it);
    }
  }
}

void CachingAllocator::SplitOff(Block block, int64_t size) {
  Extent rest = extents_[block];
  rest.size -= size;
  rest.address += size;
  rest.before = block;
  const Block tail = Add(rest);
  if (rest.after >= 0) extents_[rest.after].before = tail;
  extents_[block].after = tail;
  extents_[block].size = size;
  Insert(tail);
}

void CachingAllocator::Absorb(Block left, Block right) {
  extents_[left].size += extents_[right].size;
  extents_[left].after = extents_[right].after;
  if (extents_[right].after >= 0) extents_[extents_[right].after].before = left;
  unused_.push_back(right);
}

}  // namespace placewright
