#include "formats/tensorboard/event_file.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

// RFC 3720, appendix B.4, and the usual check value.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(EventFile, RecordsAreThoseOfTensorFlow) {
  // The first record: length 24, masked checksums, wall time 1.0, "brain.Event:2".
  const std::string first = FirstEvent(1.0);
  ASSERT_EQ(first.size(), 8u + 4 + 24 + 4);
  EXPECT_EQ(first.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(first.substr(12, 11), std::string("\x09\0\0\0\0\0\0\xf0\x3f\x1a\x0d", 11));
  EXPECT_EQ(first.substr(23, 13), "brain.Event:2");
  const std::string event = ScalarEvent(1.0, 300, {{"best", 0.5F}}).substr(12 + 9);
  // step 300, summary of 13 bytes: value of 11 bytes: tag "best", simple_value 0.5.
  EXPECT_EQ(event.substr(0, event.size() - 4), std::string("\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04"
                                                           "best\x15\0\0\0\x3f",
                                                           18));
}

}  // namespace
}  // namespace placewright
