#include "formats/policy/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace placewright {
namespace {

using testing::HasSubstr;

StoredPolicy Small() {
  StoredPolicy policy;
  policy.algorithm = "mars";
  policy.vocabulary = 1;
  policy.settings = {{"width", "8"}, {"clip", "0.2"}};
  policy.parameters["encoder.0"] = {
      StoredTensor::Type::kF32, {2, 1}, std::string("\0\0\x80\x3f\1\2\3\4", 8)};
  policy.parameters["none"] = {StoredTensor::Type::kF64, {0, 3}, ""};
  policy.state = {{"samples", "20"}, {"odd \"name\"\n", "line\nline"}};
  policy.state_tensors["adam"] = {StoredTensor::Type::kU8, {3}, "abc"};
  return policy;
}

TEST(PolicyFile, IsReadBack) {
  const std::string bytes = FormatPolicy(Small());
  const auto read = ParsePolicy(bytes);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(FormatPolicy(read.value()), bytes);
  EXPECT_EQ(read.value().algorithm, "mars");
  EXPECT_EQ(read.value().settings, Small().settings);
  EXPECT_EQ(read.value().state, Small().state);
  EXPECT_EQ(read.value().parameters.at("encoder.0").bytes, Small().parameters["encoder.0"].bytes);
  EXPECT_EQ(read.value().state_tensors.at("adam").sizes, std::vector<int64_t>{3});
}

TEST(PolicyFile, EveryDamageIsNoticed) {
  const std::string bytes = FormatPolicy(Small());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParsePolicy(bytes.substr(0, size)).ok()) << size;
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(ParsePolicy(changed).ok()) << at;
  }
  std::string flipped = bytes;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  EXPECT_EQ(ParsePolicy(flipped).error().code, ErrorCode::kFileCorrupt);
  EXPECT_THAT(ParsePolicy("{\"schema\": \"x\"}").error().message, HasSubstr("no policy"));
}

TEST(PolicyFile, OtherVersionsAreRefused) {
  std::string bytes = FormatPolicy(Small());
  bytes.replace(bytes.find("placewright.policy/1"), 20, "placewright.policy/2");
  EXPECT_EQ(ParsePolicy(bytes).error().code, ErrorCode::kField);
}

// Nothing in them, but sizes that no tensor can have.
TEST(PolicyFile, SizesAreBounded) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{0, int64_t{1} << 40}, std::vector<int64_t>(9, 0)}) {
    StoredPolicy policy = Small();
    policy.parameters["none"].sizes = sizes;
    EXPECT_FALSE(ParsePolicy(FormatPolicy(policy)).ok());
  }
}

}  // namespace
}  // namespace placewright
