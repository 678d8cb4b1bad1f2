// The rules of PyTorch's caching allocator on sequences worked out by hand.
#include "sim/memory/caching_allocator.h"

#include <gtest/gtest.h>

#include <vector>

namespace placewright {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

using Block = CachingAllocator::Block;

Block Allocate(CachingAllocator& allocator, int64_t bytes) {
  const auto block = allocator.Allocate(Bytes(bytes));
  EXPECT_TRUE(block.has_value());
  return block.value_or(-1);
}

TEST(CachingAllocator, SegmentsFollowTheSize) {
  const std::vector<std::pair<int64_t, int64_t>> size_and_segment = {
      {1, 2 * kMiB},
      {kMiB, 2 * kMiB},
      {kMiB + 1, 20 * kMiB},         // large
      {10 * kMiB - 512, 20 * kMiB},  // rounded to 512 it is still below 10 MiB
      {10 * kMiB - 511, 10 * kMiB},  // rounded it is 10 MiB: a segment of its own
      {10 * kMiB, 10 * kMiB},
      {11 * kMiB, 12 * kMiB},
      {100 * kMiB + 1, 102 * kMiB},
  };
  for (const auto& [size, segment] : size_and_segment) {
    CachingAllocator allocator;
    Allocate(allocator, size);
    EXPECT_EQ(allocator.reserved().count, segment) << size;
  }
}

// 4096 blocks of 512 B fill a small segment; one more takes another.
TEST(CachingAllocator, SmallSegmentsAreSplitToTheLastGranule) {
  CachingAllocator allocator;
  for (int i = 0; i < 4096; ++i) Allocate(allocator, 1);
  EXPECT_EQ(allocator.reserved().count, 2 * kMiB);
  Allocate(allocator, 1);
  EXPECT_EQ(allocator.reserved().count, 4 * kMiB);
}

// A segment of 20 MiB: 9 + 9 leave 2 MiB, of which 1 MiB and 512 B leave less than 1 MiB. That stays
// with them, and the next large request finds nothing.
TEST(CachingAllocator, LargeBlocksKeepARestOfUpToOneMebibyte) {
  CachingAllocator allocator;
  Allocate(allocator, 9 * kMiB);
  Allocate(allocator, 9 * kMiB);
  const Block last = Allocate(allocator, kMiB + 512);
  EXPECT_EQ(allocator.reserved().count, 20 * kMiB);
  Allocate(allocator, kMiB + 512);
  EXPECT_EQ(allocator.reserved().count, 40 * kMiB);
  // Freed, it has its 2 MiB again.
  allocator.Free(last);
  Allocate(allocator, 2 * kMiB);
  EXPECT_EQ(allocator.reserved().count, 40 * kMiB);
}

// What one stream has freed serves it, no other one, until segments go back to the driver.
TEST(CachingAllocator, StreamsKeepTheirBlocks) {
  CachingAllocator allocator(Bytes(50 * kMiB));
  const auto on = [&](size_t stream) {
    return allocator.Allocate(Bytes(20 * kMiB), stream).value();
  };
  allocator.Free(on(1));
  allocator.Free(on(1));
  EXPECT_EQ(allocator.reserved().count, 20 * kMiB);
  allocator.Free(on(0));
  EXPECT_EQ(allocator.reserved().count, 40 * kMiB);
  (void)on(2);
  EXPECT_EQ(allocator.retries(), 1);
  EXPECT_EQ(allocator.reserved().count, 20 * kMiB);
}

// Free blocks of 30 and 20 MiB: 18 MiB take the smaller, so that 25 MiB still fit the larger.
TEST(CachingAllocator, TheSmallestBlockThatFitsIsTaken) {
  CachingAllocator allocator;
  const Block large = Allocate(allocator, 30 * kMiB);
  const Block middle = Allocate(allocator, 20 * kMiB);
  allocator.Free(large);
  allocator.Free(middle);
  Allocate(allocator, 18 * kMiB);
  Allocate(allocator, 25 * kMiB);
  EXPECT_EQ(allocator.reserved().count, 50 * kMiB);
}

// 12 MiB and 8 MiB of one segment of 20 MiB are free apart: 16 MiB do not fit until both join.
TEST(CachingAllocator, FreedNeighboursJoin) {
  CachingAllocator allocator;
  const Block whole = Allocate(allocator, 20 * kMiB);
  allocator.Free(whole);
  const Block left = Allocate(allocator, 12 * kMiB);
  const Block right = Allocate(allocator, 8 * kMiB);
  EXPECT_EQ(allocator.reserved().count, 20 * kMiB);
  allocator.Free(left);
  const Block other = Allocate(allocator, 16 * kMiB);
  EXPECT_EQ(allocator.reserved().count, 36 * kMiB);
  allocator.Free(other);
  allocator.Free(right);
  Allocate(allocator, 16 * kMiB);
  Allocate(allocator, 20 * kMiB);
  EXPECT_EQ(allocator.reserved().count, 36 * kMiB);
}

// Three neighbours in a segment: freeing the middle one last joins both sides.
TEST(CachingAllocator, TheMiddleJoinsBothSides) {
  CachingAllocator allocator;
  const Block whole = Allocate(allocator, 30 * kMiB);
  allocator.Free(whole);
  const std::vector<Block> thirds = {Allocate(allocator, 10 * kMiB), Allocate(allocator, 10 * kMiB),
                                     Allocate(allocator, 10 * kMiB)};
  for (const size_t i : {0, 2, 1}) allocator.Free(thirds[i]);
  Allocate(allocator, 30 * kMiB);
  EXPECT_EQ(allocator.reserved().count, 30 * kMiB);
}

// Pools are apart: a free segment of 20 MiB does not serve a small request.
TEST(CachingAllocator, SmallRequestsDoNotUseLargeSegments) {
  CachingAllocator allocator;
  allocator.Free(Allocate(allocator, 5 * kMiB));
  Allocate(allocator, 512);
  EXPECT_EQ(allocator.reserved().count, 22 * kMiB);
}

// Of 64 MiB a segment of 40 MiB is cached when 30 MiB are asked for: taken, as it is large enough.
// Then 60 MiB are asked for, which fit only once the cached 40 MiB went back.
TEST(CachingAllocator, WhollyFreeSegmentsGoBackWhereTheLimitIsMet) {
  CachingAllocator allocator(Bytes(64 * kMiB));
  const Block first = Allocate(allocator, 40 * kMiB);
  allocator.Free(first);
  const Block second = Allocate(allocator, 30 * kMiB);
  EXPECT_FALSE(allocator.Allocate(Bytes(60 * kMiB)).has_value());  // the segment is split: it stays
  EXPECT_EQ(allocator.retries(), 1);
  allocator.Free(second);
  Allocate(allocator, 60 * kMiB);
  EXPECT_EQ(allocator.retries(), 2);
  EXPECT_EQ(allocator.reserved().count, 60 * kMiB);
  EXPECT_EQ(allocator.max_reserved().count, 60 * kMiB);
}

// What PyTorch 2.6's own allocator reserves after every 500th operation of the same sequence
// (bench/memory/pytorch_allocator.cc), and how often it gives segments back under a limit.
struct Sequence {
  std::vector<int64_t> reserved;
  int64_t max = 0, retries = 0;
};
Sequence Follow(uint64_t state, int count, CachingAllocator allocator) {
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  Sequence sequence;
  std::vector<Block> live;
  for (int i = 1; i <= count; ++i) {
    const bool frees = live.size() > 40 || (!live.empty() && next() % 5 < 2);
    if (frees) {
      const size_t at = next() % live.size();
      allocator.Free(live[at]);
      live[at] = live.back();
      live.pop_back();
    } else {
      const uint64_t scale = uint64_t{1} << (9 + next() % 17);  // 512 B to 32 MiB
      live.push_back(Allocate(allocator, static_cast<int64_t>(scale + next() % scale)));
    }
    if (i % 500 == 0) sequence.reserved.push_back(allocator.reserved().count);
  }
  sequence.max = allocator.max_reserved().count;
  sequence.retries = allocator.retries();
  return sequence;
}

TEST(CachingAllocator, ReservesWhatPyTorchReserves) {
  const Sequence one = Follow(1, 5000, CachingAllocator());
  EXPECT_EQ(one.reserved,
            (std::vector<int64_t>{486539264, 618659840, 618659840, 618659840, 618659840, 679477248,
                                  788529152, 788529152, 788529152, 788529152}));
  EXPECT_EQ(one.max, 788529152);
  EXPECT_EQ(one.retries, 0);
  const Sequence tight = Follow(1, 5000, CachingAllocator(Bytes(680000000)));
  EXPECT_EQ(tight.max, 679477248);
  EXPECT_EQ(tight.retries, 2);
  EXPECT_EQ(Follow(7, 4000, CachingAllocator()).reserved,
            (std::vector<int64_t>{553648128, 557842432, 620756992, 620756992, 687865856, 687865856,
                                  687865856, 687865856}));
}

}  // namespace
}  // namespace placewright
