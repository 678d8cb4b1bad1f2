#include "formats/prices/price_reader.h"

#include <gmock/gmock.h>

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Error ErrorOfPrices(std::string_view text) {
  const auto read = ReadGpuPrices(text);
  EXPECT_FALSE(read.ok()) << text;
  return read.ok() ? Error() : read.error();
}

TEST(PriceReader, KindsGoByAnyOfTheirNames) {
  const GpuPrices prices =
      ReadGpuPrices("currency: EUR\nper_gpu_hour: {h100: 2.5, RTX 4090: 0.5}\n").Take();
  EXPECT_EQ(prices.currency, "EUR");
  EXPECT_THAT(prices.per_hour, ElementsAre(Pair("H100", 2.5), Pair("RTX-4090", 0.5)));
}

TEST(PriceReader, RefusesWhatIsNoPrice) {
  const Error unknown = ErrorOfPrices("currency: USD\nper_gpu_hour:\n  A100: 1\n");
  EXPECT_EQ(unknown.code, ErrorCode::kUnknownName);
  EXPECT_EQ(unknown.place, "line 3, column 3");
  EXPECT_THAT(unknown.message, HasSubstr("A100-80GB"));
  const Error free = ErrorOfPrices("currency: USD\nper_gpu_hour:\n  H100: 0\n");
  EXPECT_EQ(free.code, ErrorCode::kField);
  EXPECT_EQ(free.place, "line 3, column 9");
  EXPECT_EQ(ErrorOfPrices("currency: USD\nper_gpu_hour: {H100: cheap}").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfPrices("per_gpu_hour: {H100: 1}").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfPrices("currency: USD\nper_gpu_hour: {}").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfPrices("currency: USD\nper_gpu_hour: {H100: 1, h100: 2}").code,
            ErrorCode::kDuplicateName);
}

}  // namespace
}  // namespace placewright
