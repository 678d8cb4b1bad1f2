#include "formats/text/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

Error ErrorOfJson(std::string_view text, const JsonLimits& limits = {}) {
  auto document = ParseJson(text, limits);
  EXPECT_FALSE(document.ok()) << text.substr(0, 80);
  return document.ok() ? Error{} : document.error();
}

TEST(ParseJson, KeepsOrderAndTypes) {
  const Json json =
      ParseJson(R"( {"b": [1, -2, 2.5, null], "a": {"x": "\u00e9"}, "": true} )").Take();
  EXPECT_EQ(json.dump(), "{\"b\":[1,-2,2.5,null],\"a\":{\"x\":\"\xc3\xa9\"},\"\":true}");
}

// Keys begin at their quotes; nesting is refused at the bracket of level 201.
TEST(ParseJson, PlacesAreLineAndColumn) {
  const auto place = [](std::string_view text, ErrorCode code) {
    const Error error = ErrorOfJson(text);
    EXPECT_EQ(error.code, code) << error.ToString();
    return error.place;
  };
  EXPECT_EQ(place("{\"a\": 1,\n  \"a\": 2}", ErrorCode::kDuplicateName), "line 2, column 3");
  EXPECT_EQ(place("{\"\": {},\"\":0}", ErrorCode::kDuplicateName), "line 1, column 9");
  // {"x\"y": 1, "x\"y": 2}: the first key takes columns 2 to 7, the second begins at 13.
  EXPECT_EQ(place(R"({"x\"y": 1, "x\"y": 2})", ErrorCode::kDuplicateName), "line 1, column 13");
  EXPECT_EQ(place(R"({"b\\": 1, "b\\": 2})", ErrorCode::kDuplicateName), "line 1, column 12");
  EXPECT_TRUE(ParseJson(std::string(200, '[') + std::string(200, ']')).ok());
  EXPECT_EQ(place(std::string(201, '['), ErrorCode::kSyntax), "line 1, column 201");
  EXPECT_EQ(place("{\"a\":\n" + std::string(200, '['), ErrorCode::kSyntax), "line 2, column 200");
  EXPECT_EQ(place("{\"a\": }", ErrorCode::kSyntax), "line 1, column 7");
  EXPECT_EQ(place("[1] x", ErrorCode::kSyntax), "line 1, column 5");
}

// A NUL is neither white space nor an end.
TEST(ParseJson, NulBytesAreRefused) {
  const Error behind = ErrorOfJson(std::string_view("{\"a\": 1}\n\0", 10));
  EXPECT_EQ(behind.code, ErrorCode::kSyntax);
  EXPECT_THAT(behind.message, HasSubstr("NUL"));
  EXPECT_EQ(behind.place, "line 2, column 1");
  EXPECT_EQ(ErrorOfJson(std::string_view("[1]\0 garbage", 12)).place, "line 1, column 4");
  EXPECT_TRUE(ParseJson("[\"\\u0000\"]").ok());
}

TEST(ParseJson, MessagesAreOurs) {
  const Error overflow = ErrorOfJson("{\"time_ns\":\n 1e999}");
  EXPECT_EQ(overflow.code, ErrorCode::kSyntax);
  EXPECT_EQ(overflow.message, "number overflow parsing '1e999'");
  EXPECT_THAT(overflow.place, HasSubstr("line 2"));
  EXPECT_THAT(ErrorOfJson("[1,]").message, HasSubstr("syntax error"));
  const Json json = ParseJson(R"({"a": 1.5, "b": "x", "c": [], "d": null, "e": {}})").Take();
  const auto message = [&json](std::string_view key) {
    return GetInt(json, key, "", 0, 9).error().message;
  };
  EXPECT_EQ(message("a"), "must be an integer, not 1.5");
  EXPECT_EQ(message("b"), "must be an integer, not \"x\"");
  EXPECT_EQ(message("c"), "must be an integer, not a list");
  EXPECT_EQ(message("d"), "must be an integer, not null");
  EXPECT_EQ(GetString(json, "e", "ops[3]").error().message, "must be a string, not an object");
}

// A list takes 48 + 32 bytes, each null 48: three nulls fit into 224. The fourth ends in column 20.
TEST(ParseJson, MemoryIsBounded) {
  JsonLimits limits;
  limits.document = 224;
  EXPECT_TRUE(ParseJson("[null,null,null]", limits).ok());
  const Error error = ErrorOfJson("[null,null,null,null]", limits);
  EXPECT_EQ(error.code, ErrorCode::kFileTooLarge);
  EXPECT_EQ(error.place, "line 1, column 20");
  EXPECT_THAT(error.message, HasSubstr("224 B"));
  // Text counts: 80 + 48 + 32 + 64 are 224.
  EXPECT_TRUE(ParseJson("[\"" + std::string(64, 'x') + "\"]", limits).ok());
  EXPECT_EQ(ErrorOfJson("[\"" + std::string(65, 'x') + "\"]", limits).code,
            ErrorCode::kFileTooLarge);
  // So do keys: 80 + (80 + 16 + 48).
  EXPECT_TRUE(ParseJson("{\"" + std::string(16, 'k') + "\":0}", limits).ok());
  EXPECT_EQ(ErrorOfJson("{\"" + std::string(17, 'k') + "\":0}", limits).code,
            ErrorCode::kFileTooLarge);
}

// nlohmann's own reader is the oracle: what it takes is taken with the same values, and nothing
// else, but for repeated keys, which it does not see, and exponents too large for a double, which
// are refused whatever the digits before them ("0e400").
TEST(ParseJson, TakesWhatJsonIs) {
  const std::vector<std::string> seeds = {
      R"({"a": [1, -2, 2.5e-3, null, true], "b": {"x": "\u00e9\ud83d\ude00\n"}, "": -0})",
      "[0.1, 1e5, -1E+2, 18446744073709551615, -9223372036854775808, 18446744073709551616]",
      "\xef\xbb\xbf [\"\xc3\xa9\", \"\\/\\\\\", [[], {}], 1e-400]", "[\"\\udc00\", \"\\ud800\"]"};
  constexpr std::string_view kPieces =
      "{}[]:,\"\\/utnfbr0123456789.eE+-du \n\t\x01\x7f\xc3\xa9\xed";
  Random random(7);
  int taken = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string text = seeds[random.Below(seeds.size())];
    for (uint64_t edits = random.Below(4); edits > 0; --edits) {
      const size_t at = random.Below(text.size());
      const char piece = kPieces[random.Below(kPieces.size())];
      switch (random.Below(3)) {
        case 0: text[at] = piece; break;
        case 1: text.insert(at, 1, piece); break;
        default: text.erase(at, 1);
      }
    }
    const Result<Json> ours = ParseJson(text);
    if (!ours.ok() && (ours.error().code == ErrorCode::kDuplicateName ||
                       ours.error().message.starts_with("number overflow"))) {
      continue;
    }
    const Json theirs = Json::parse(text, nullptr, false);
    ASSERT_EQ(ours.ok(), !theirs.is_discarded()) << text << (ours.ok() ? "" : ours.error().message);
    if (!ours.ok()) continue;
    ++taken;
    ASSERT_EQ(ours.value().dump(), theirs.dump()) << text;
  }
  EXPECT_GT(taken, 3000);
}

// Each element here takes 80 + 2 * 48 = 176 bytes; the rest of the document 80 + 81 + 48 + 81.
TEST(ParseJsonStreaming, ElementsAreBoundedEachAndTogether) {
  const std::string text = R"({"n": 1, "ops": [[1, 2], [3, 4], [5, 6]]})";
  const auto read = [&text](int64_t document, int64_t element, int64_t streamed) {
    size_t count = 0;
    const ElementFn each = [&count](std::string_view, size_t, Json&) {
      ++count;
      return Ok();
    };
    JsonLimits limits{document, element, streamed};
    auto result = ParseJsonStreaming(text, {"ops"}, each, limits);
    EXPECT_TRUE(result.ok() || result.error().code == ErrorCode::kFileTooLarge);
    return result.ok() ? static_cast<int>(count) : -1 - static_cast<int>(count);
  };
  EXPECT_EQ(read(1000, 176, 528), 3);
  EXPECT_EQ(read(1000, 175, 528), -1);  // the first element is refused
  EXPECT_EQ(read(1000, 176, 527), -3);  // the third
  EXPECT_EQ(read(200, 176, 528), -1);   // what surrounds the list
}

}  // namespace
}  // namespace placewright
