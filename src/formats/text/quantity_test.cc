#include "formats/text/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace placewright {
namespace {

using ::testing::HasSubstr;

TEST(Quantity, Bytes) {
  EXPECT_EQ(ParseBytes("12 GiB").Take(), Bytes(int64_t{12} << 30));
  EXPECT_EQ(ParseBytes("12GB").Take(), Bytes(12'000'000'000));
  EXPECT_EQ(ParseBytes("62.5 GiB").Take(), Bytes(67'108'864'000));
  EXPECT_EQ(ParseBytes("1.5 B").Take(), Bytes(2));  // halves up
  EXPECT_EQ(ParseBytes("0").Take(), Bytes(0));
  // 2^60 = 1048576 TiB is the largest.
  EXPECT_EQ(ParseBytes("1048576 TiB").Take(), Bytes(kMaxQuantity));
  EXPECT_FALSE(ParseBytes("1048577 TiB").ok());
}

TEST(Quantity, BandwidthInBytesAndBits) {
  EXPECT_EQ(ParseBandwidth("12 GB/s").Take(), BytesPerSecond(12'000'000'000));
  EXPECT_EQ(ParseBandwidth("12GiB/s").Take(), BytesPerSecond(int64_t{12} << 30));
  EXPECT_EQ(ParseBandwidth("100 Gbps").Take(), BytesPerSecond(12'500'000'000));
  EXPECT_EQ(ParseBandwidth("2.5 Gbit/s").Take(), BytesPerSecond(312'500'000));
  EXPECT_EQ(ParseBandwidth("400 Gb/s").Take(), BytesPerSecond(50'000'000'000));
  EXPECT_EQ(ParseBandwidth("64000 Mb/s").Take(), BytesPerSecond(8'000'000'000));
  EXPECT_EQ(ParseBandwidth("8 b/s").Take(), BytesPerSecond(1));
  EXPECT_THAT(ParseBandwidth("12 GB").error().message, HasSubstr("GB/s"));
}

TEST(Quantity, SeparatorsOfThousands) {
  EXPECT_EQ(ParseBytes("12,288 MiB").Take(), Bytes(int64_t{12} << 30));
  EXPECT_EQ(ParseBytes("1,234,567 B").Take(), Bytes(1'234'567));
  EXPECT_EQ(ParseBytes("1,024.5 KiB").Take(), Bytes(1'049'088));
  EXPECT_DOUBLE_EQ(ParseRate("1,979 TFLOP/s").Take(), 1979e12);
  for (const char* text : {"1,5 GiB", ",500 B", "1234,567 B", "12,34 B", "1,2345 B", "1,234, B",
                           "1.234,567 B", "1,,234 B", "1,234,56 B"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
}

// Whatever is printed can be put into a file: it reads back as what prints the same again.
TEST(Quantity, WhatIsPrintedIsRead) {
  for (int64_t amount = 1; amount < kMaxQuantity / 9; amount = amount * 7 / 2 + 1) {
    const std::string bytes = FormatBytes(Bytes(amount)), time = FormatNanos(Nanos(amount)),
                      bandwidth = FormatBandwidth(BytesPerSecond(amount)),
                      count = FormatCount(amount) + " B";
    EXPECT_EQ(FormatBytes(ParseBytes(bytes).Take()), bytes);
    EXPECT_EQ(FormatNanos(ParseDuration(time).Take()), time);
    EXPECT_EQ(FormatBandwidth(ParseBandwidth(bandwidth).Take()), bandwidth);
    // A number has at most 18 digits.
    if (amount < 1'000'000'000'000'000'000) {
      EXPECT_EQ(ParseBytes(count).Take(), Bytes(amount));
    }
  }
}

TEST(Quantity, Durations) {
  EXPECT_EQ(ParseDuration("5us").Take(), Nanos(5'000));
  EXPECT_EQ(ParseDuration("0.5 ms").Take(), Nanos(500'000));
  EXPECT_EQ(ParseDuration("2 s").Take(), Nanos(2'000'000'000));
}

TEST(Quantity, Rates) {
  EXPECT_DOUBLE_EQ(ParseRate("9.3 TFLOP/s").Take(), 9.3e12);
  EXPECT_DOUBLE_EQ(ParseRate("130 TOPS").Take(), 130e12);
  EXPECT_DOUBLE_EQ(ParseRate("0").Take(), 0);
  EXPECT_FALSE(ParseRate("9.3").ok());
  EXPECT_FALSE(ParseRate("9.3 T").ok());
  EXPECT_FALSE(ParseRate("-1 TFLOPS").ok());
}

TEST(Quantity, Refused) {
  for (const char* text : {"", "GB", "12", "12 Gb", "-3 GB", "1.2.3 GB", ".", "1e3 GB", "12 GB x",
                           "1234567890123456789 B", "0x10 B", "\xff GB"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
    EXPECT_FALSE(ParseBandwidth(text).ok()) << text;
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
  EXPECT_THAT(ParseBytes("12").error().message, HasSubstr("unit is missing"));
  EXPECT_THAT(ParseBytes("12 Gi").error().message, HasSubstr("GiB"));
}

}  // namespace
}  // namespace placewright
