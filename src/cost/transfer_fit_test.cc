#include "cost/transfer_fit.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

std::vector<SizeAndTime> Sizes(int from, int to, double latency, double per_byte) {
  std::vector<SizeAndTime> sizes;
  for (int power = from; power <= to; ++power) {
    const int64_t bytes = int64_t{1} << power;
    sizes.emplace_back(
        Bytes(bytes), Nanos(static_cast<int64_t>(latency + per_byte * static_cast<double>(bytes))));
  }
  return sizes;
}

TEST(TransferFit, FindsLatencyAndBandwidth) {
  const TransferSegment line = FitLine(Sizes(10, 26, 8000, 0.1));
  EXPECT_NEAR(static_cast<double>(line.latency.count), 8000, 1);
  EXPECT_NEAR(static_cast<double>(line.bandwidth.count), 1e10, 1e5);
  EXPECT_EQ(FitSegments(Sizes(10, 26, 8000, 0.1)).size(), 1u);
}

// Up to 1 MiB at 20 GB/s, beyond at 5 GB/s.
TEST(TransferFit, FindsWhereTheLineBreaks) {
  std::vector<SizeAndTime> sizes = Sizes(10, 20, 5000, 0.05);
  for (const SizeAndTime& size : Sizes(21, 30, 300'000, 0.2)) sizes.push_back(size);
  const std::vector<TransferSegment> segments = FitSegments(sizes);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].from, Bytes(0));
  EXPECT_EQ(segments[1].from, Bytes(1 << 21));
  EXPECT_NEAR(static_cast<double>(segments[0].bandwidth.count), 2e10, 2e8);
  EXPECT_NEAR(static_cast<double>(segments[1].bandwidth.count), 5e9, 5e7);
  EXPECT_NEAR(static_cast<double>(segments[1].latency.count), 300'000, 3000);
}

TEST(TransferFit, NothingIsNegative) {
  const std::vector<SizeAndTime> falling = {
      {Bytes(1024), Nanos(900)}, {Bytes(2048), Nanos(800)}, {Bytes(4096), Nanos(700)}};
  EXPECT_GE(FitLine(falling).latency.count, 0);
  EXPECT_GE(FitLine(falling).bandwidth.count, 1);
  const std::vector<SizeAndTime> steep = {
      {Bytes(1024), Nanos(1)}, {Bytes(2048), Nanos(1000)}, {Bytes(4096), Nanos(100'000)}};
  EXPECT_GE(FitLine(steep).latency.count, 0);
  EXPECT_EQ(FitSegments(std::vector<SizeAndTime>{{Bytes(8), Nanos(3)}}).size(), 1u);
}

}  // namespace
}  // namespace placewright
