#include "formats/safetensors/safetensors.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

std::string Small() {
  SafetensorsWriter file;
  file.Metadata("who", "me");
  file.Add("w", "F32", {2, 1}, "abcdefgh");
  file.Add("mask", "BOOL", {3}, "xyz");
  return file.Write();
}

TEST(Safetensors, AreReadBack) {
  const std::string bytes = Small();
  const Result<SafeTensors> file = ParseSafetensors(bytes);
  ASSERT_TRUE(file.ok()) << file.error().ToString();
  EXPECT_EQ(file.value().metadata.at("who"), "me");
  ASSERT_EQ(file.value().tensors.size(), 2u);
  const SafeTensor& w = file.value().tensors.at("w");
  EXPECT_EQ(w.dtype, "F32");
  EXPECT_EQ(w.shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(w.bytes, "abcdefgh");
  EXPECT_EQ(file.value().tensors.at("mask").bytes, "xyz");
  EXPECT_EQ(FormatSafetensors(file.value().header, file.value().content), bytes);
}

// As the format's own library writes a tensor of two floats.
TEST(Safetensors, FilesOfOthersAreRead) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  bytes += header + "12345678";
  const Result<SafeTensors> file = ParseSafetensors(bytes);  // whose views are of them
  ASSERT_TRUE(file.ok()) << file.error().ToString();
  EXPECT_EQ(file.value().tensors.at("a").bytes, "12345678");
  EXPECT_TRUE(file.value().metadata.empty());
}

TEST(Safetensors, DamageIsNamed) {
  const std::string bytes = Small();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseSafetensors(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
  EXPECT_EQ(ParseSafetensors("PK, a long text that is no such file").error().code,
            ErrorCode::kFormatUnknown);
  const auto replaced = [&](std::string_view from, std::string_view to) {
    std::string changed = bytes;
    changed.replace(changed.find(from), from.size(), to);
    return ParseSafetensors(changed).error().code;
  };
  EXPECT_EQ(replaced("[0,8]", "[0,7]"), ErrorCode::kFileCorrupt);
  EXPECT_EQ(replaced("[2,1]", "[3,1]"), ErrorCode::kFileCorrupt);
  EXPECT_EQ(replaced("\"F32\"", "\"F31\""), ErrorCode::kField);
}

TEST(Safetensors, TypesHaveNames) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64,
                            DType::kI32, DType::kI16, DType::kI8, DType::kU8, DType::kBool}) {
    EXPECT_EQ(SafetensorsElement(SafetensorsName(dtype)), SizeOf(dtype));
  }
  EXPECT_EQ(SafetensorsName(DType::kC64), "");
  EXPECT_EQ(SafetensorsElement("Q4"), 0);
}

}  // namespace
}  // namespace placewright
