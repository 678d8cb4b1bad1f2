#include "formats/costs/override_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace placewright {
namespace {

using testing::HasSubstr;

Error ErrorOfOverrides(std::string_view text) {
  auto result = ReadCostOverrides(text);
  EXPECT_FALSE(result.ok()) << text;
  return result.ok() ? Error() : result.error();
}

TEST(OverrideReader, ReadsEveryFieldInFileOrder) {
  const auto lines = ReadCostOverrides(
      "schema: placewright.cost-overrides/1\n"
      "overrides:\n"
      "  - {type: 'aten.mm.*', kind: 'V100*', time: 12.5us}\n"
      "  - op: conv_1\n"
      "    device: host0/gpu0\n"
      "    scale: 1.5\n"
      "  - {op: 'x*', time_ns: 7, source: given}\n"
      "  - {type: Scan, kind: T4, supported: false}\n");
  ASSERT_TRUE(lines.ok()) << lines.error().ToString();
  ASSERT_EQ(lines.value().size(), 4u);
  const auto& l = lines.value();
  EXPECT_EQ(l[0].type, "aten.mm.*");
  EXPECT_EQ(l[0].kind, "V100*");
  EXPECT_EQ(l[0].time, Nanos(12'500));  // 12.5 us
  EXPECT_EQ(l[0].source, CostSource::kMeasured);
  EXPECT_EQ(l[1].op, "conv_1");
  EXPECT_EQ(l[1].device, "host0/gpu0");
  EXPECT_EQ(l[1].scale, 1.5);
  EXPECT_EQ(l[1].source, CostSource::kModelled);
  EXPECT_EQ(l[1].place, "line 4, column 5");
  EXPECT_EQ(l[2].time, Nanos(7));
  EXPECT_EQ(l[2].source, CostSource::kGiven);
  EXPECT_EQ(l[3].time, CostTable::kUnsupported);
}

TEST(OverrideReader, ReadsABareListAndJson) {
  EXPECT_EQ(ReadCostOverrides("- {op: a, time: 1ms}\n").value()[0].time, Nanos(1'000'000));
  EXPECT_EQ(
      ReadCostOverrides(R"({"overrides": [{"op": "a", "time": "0.000000001 s"}]})").value()[0].time,
      Nanos(1));
  EXPECT_TRUE(ReadCostOverrides("overrides: []\n").value().empty());
}

TEST(OverrideReader, TimesAreExactDecimals) {
  EXPECT_EQ(ReadCostOverrides("- {op: a, time: 0.001us}").value()[0].time, Nanos(1));
  EXPECT_EQ(ReadCostOverrides("- {op: a, time: 1.50000us}").value()[0].time, Nanos(1500));
  for (const char* bad :
       {"0.0001us", "1", "us", "1.2.3us", "-1us", "1e3us", "9999999999999s", "."}) {
    const Error error = ErrorOfOverrides(std::string("- {op: a, time: '") + bad + "'}");
    EXPECT_EQ(error.code, ErrorCode::kField) << bad;
    EXPECT_EQ(error.place, "line 1, column 17") << bad;
  }
}

TEST(OverrideReader, NamesThePlaceOfEveryMistake) {
  const Error key = ErrorOfOverrides("overrides:\n  - {op: a, tme: 1us}\n");
  EXPECT_EQ(key.place, "line 2, column 13");
  EXPECT_THAT(key.message, HasSubstr("did you mean time"));
  EXPECT_EQ(ErrorOfOverrides("overrides:\n - op: a\n   op: b\n").code, ErrorCode::kDuplicateName);
  EXPECT_EQ(ErrorOfOverrides("overrides: [\n").code, ErrorCode::kSyntax);
  EXPECT_THAT(ErrorOfOverrides("overrides: [\n").place, HasSubstr("line "));
  EXPECT_FALSE(ReadCostOverrides("").ok());
  EXPECT_EQ(ErrorOfOverrides("- {op: a, time: 1us}\n---\n- {op: b, time: 1us}\n").code,
            ErrorCode::kSyntax);
  EXPECT_EQ(ErrorOfOverrides("overrides: 7\n").place, "line 1, column 12");
  EXPECT_EQ(ErrorOfOverrides("- [a]\n").place, "line 1, column 3");
  EXPECT_EQ(ErrorOfOverrides("- {time: 1us}\n").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfOverrides("- {op: a}\n").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfOverrides("- {op: a, time: 1us, scale: 2}\n").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfOverrides("- {op: '', time: 1us}\n").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfOverrides("- {op: a, scale: nan}\n").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfOverrides("- {op: a, scale: 0}\n").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfOverrides("- {op: a, time_ns: -1}\n").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfOverrides("- {op: a, supported: true}\n").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfOverrides("- {op: a, time: 1us, source: guessed}\n").code, ErrorCode::kField);
  EXPECT_EQ(ErrorOfOverrides("{schema: other/1, overrides: []}").code, ErrorCode::kField);
}

// Truncated and bit-flipped files: an error or a list, never a crash; errors carry a place.
TEST(OverrideReader, DamagedFilesAreErrorsOrLists) {
  const std::string good =
      "overrides:\n  - {type: 'aten.mm.*', kind: V100, time: 12.5us}\n"
      "  - op: conv_1\n    scale: 1.5\n  - {op: x, supported: false}\n";
  int errors = 0;
  const auto check = [&](const std::string& text) {
    const auto result = ReadCostOverrides(text);
    if (result.ok()) return;
    ++errors;
    EXPECT_FALSE(result.error().message.empty()) << text;
  };
  for (size_t length = 0; length < good.size(); ++length) check(good.substr(0, length));
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    check(flipped);
  }
  EXPECT_GT(errors, 100);
}

}  // namespace
}  // namespace placewright
