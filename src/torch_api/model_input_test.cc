#include "torch_api/model_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace placewright {
namespace {

using testing::HasSubstr;

ModelInput Parsed(const std::string& text) {
  Result<ModelInput> input = ParseModelInput(text);
  EXPECT_TRUE(input.ok()) << text << ": " << input.error().ToString();
  return input.ok() ? input.value() : ModelInput{};
}

TEST(ModelInput, IsReadAndWritten) {
  const ModelInput ids = Parsed("ids=i64[B,128]<30522");
  EXPECT_EQ(ids.name, "ids");
  EXPECT_EQ(ids.dtype, DType::kI64);
  EXPECT_EQ(ids.sizes, (std::vector<int64_t>{ModelInput::kBatch, 128}));
  EXPECT_EQ(ids.below, 30522);
  EXPECT_EQ(ToString(ids), "ids=i64[B,128]<30522");
  EXPECT_EQ(ToString(Parsed("[32, 3]")), "f32[32,3]");
  EXPECT_EQ(ToString(Parsed(" x = [ B ] ")), "x=f32[B]");
  EXPECT_EQ(ToString(Parsed("mask=bool[2,2]")), "mask=bool[2,2]");
  EXPECT_EQ(ToString(Parsed("s=f64[]")), "s=f64[]");
}

TEST(ModelInput, NamesWhatCannotBeRead) {
  const std::pair<const char*, const char*> kBad[] = {
      {"", "no sizes in brackets"},
      {"x=f32", "no sizes in brackets"},
      {"x=f32]3[", "no sizes in brackets"},
      {"=f32[3]", "name before '='"},
      {"x=float[3]", "\"float\" is no type of elements"},
      {"x=i63[3]", "did you mean"},
      {"x=[3,,4]", "the size \"\""},
      {"x=[3,4,]", "the size \"\""},
      {"x=[3,-4]", "the size \"-4\""},
      {"x=[0]", "the size \"0\""},
      {"x=[b]", "the size \"b\""},
      {"x=[99999999999999999999]", "the size"},
      {"x=[2000000000,2000000000]", "more than 2^50"},
      {"x=[3]4", "behind the sizes"},
      {"x=i64[3]<0", "behind the sizes"},
      {"x=f32[3]<5", "for integers"},
  };
  for (const auto& [text, message] : kBad) {
    const Result<ModelInput> input = ParseModelInput(text);
    ASSERT_FALSE(input.ok()) << text;
    EXPECT_EQ(input.error().code, ErrorCode::kUsage) << text;
    EXPECT_THAT(input.error().ToString(), HasSubstr(message)) << text;
  }
  std::string many = "x=[1";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_THAT(ParseModelInput(many + "]").error().ToString(), HasSubstr("more than 64"));
}

TEST(ModelInput, BatchIsTheOneAskedElseTheFirstSize) {
  const auto batch = [](const std::vector<ModelInput>& inputs, std::optional<int64_t> asked) {
    const Result<int64_t> result = BatchOf(inputs, asked);
    return result.ok() ? result.value() : -1;
  };
  EXPECT_EQ(batch({Parsed("[4,3]"), Parsed("[4]"), Parsed("[]")}, {}), 4);
  EXPECT_EQ(batch({Parsed("[4,3]"), Parsed("[5]")}, {}), 0);
  EXPECT_EQ(batch({Parsed("[4,3]"), Parsed("[5]")}, 7), 7);
  EXPECT_EQ(batch({Parsed("[B,3]")}, {}), -1);
  EXPECT_EQ(batch({Parsed("[B,3]")}, 2), 2);
}

TEST(ModelInput, SizesFollowTheBatch) {
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(SizesAt(Parsed("[3,B]"), true, 8), (Sizes{3, 8}));
  EXPECT_EQ(SizesAt(Parsed("[3,4]"), true, 8), (Sizes{3, 4}));
  EXPECT_EQ(SizesAt(Parsed("[3,4]"), false, 8), (Sizes{8, 4}));
  EXPECT_EQ(SizesAt(Parsed("[3,4]"), false, 0), (Sizes{3, 4}));
  EXPECT_EQ(SizesAt(Parsed("[]"), false, 8), (Sizes{}));
}

}  // namespace
}  // namespace placewright
