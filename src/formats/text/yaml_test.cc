#include "formats/text/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace placewright {
namespace {

using ::testing::HasSubstr;

Error Bad(std::string_view text) {
  auto result = ParseYaml(text);
  EXPECT_FALSE(result.ok()) << text;
  return result.ok() ? Error() : result.error();
}

TEST(Yaml, TreeWithPlaces) {
  const YamlNode root = ParseYaml("a: 1\nb:\n  - x\n  - {c: \"2\"}\nd: ~\n").Take();
  EXPECT_EQ(root.Find("a")->AsInt("a", 0, 9).Take(), 1);
  const YamlNode& list = *root.Find("b");
  ASSERT_TRUE(list.IsList());
  EXPECT_EQ(list.items[1].Place(), "line 4, column 5");
  EXPECT_FALSE(list.items[1].Find("c")->AsInt("c", 0, 9).ok());  // quoted: text
  EXPECT_EQ(root.Find("d")->type, YamlNode::Type::kNull);
  EXPECT_EQ(root.Find("e"), nullptr);
}

TEST(Yaml, JsonInEveryDress) {
  for (const char* text : {"{\"a\":[1,{\"b\":null}]}", "{\n\t\"a\" : [ 1,\n\t\t{\"b\":null} ]\n}\n",
                           "{\"a\":\n[1,{\"b\":null}]}"}) {
    const auto root = ParseYaml(text);
    ASSERT_TRUE(root.ok()) << text << root.error().ToString();
    EXPECT_EQ(root.value().Find("a")->items[0].AsInt("a", 0, 9).Take(), 1);
    EXPECT_EQ(root.value().Find("a")->items[1].Find("b")->type, YamlNode::Type::kNull);
  }
}

TEST(Yaml, SyntaxErrorsNameLineAndColumn) {
  EXPECT_EQ(Bad("a: [1, 2").code, ErrorCode::kSyntax);
  EXPECT_THAT(Bad("a: 1\nb: [1, 2\nc: }").place, HasSubstr("line "));
  EXPECT_THAT(Bad("").place, HasSubstr("line 1"));
  EXPECT_THAT(Bad("a: 1\n---\nb: 2\n").message, HasSubstr("more than one document"));
  EXPECT_EQ(Bad("a: *missing").code, ErrorCode::kSyntax);
  EXPECT_EQ(Bad("&x [*x]").code, ErrorCode::kSyntax);
  EXPECT_EQ(Bad("? [a]\n: 1\n").code, ErrorCode::kSyntax);
}

TEST(Yaml, UnclosedBrackets) {
  EXPECT_THAT(Bad("a: 1\nb: {c: 2,\n").message, HasSubstr("not closed"));
  EXPECT_THAT(Bad("a: [1, 2\nb: 3\n").message, HasSubstr("not closed"));
}

TEST(Yaml, Encodings) {
  EXPECT_EQ(ParseYaml("\xef\xbb\xbf"
                      "a: \xc3\xa4\r\nb: 2\r\n")
                .Take()
                .Find("a")
                ->text,
            "\xc3\xa4");  // a byte order mark, CRLF, and a letter of two bytes
  EXPECT_EQ(Bad("a: \xe4\n").code, ErrorCode::kSyntax);          // Latin-1
  EXPECT_EQ(Bad("a: \xed\xa0\x80\n").code, ErrorCode::kSyntax);  // half of a surrogate pair
  EXPECT_EQ(Bad("\xff: 1\n").place, "line 1, column 1");
}

TEST(Yaml, DuplicateKeys) {
  const Error error = Bad("a: 1\nbc: 2\na: 3\n");
  EXPECT_EQ(error.code, ErrorCode::kDuplicateName);
  EXPECT_EQ(error.place, "line 3, column 1");
}

TEST(Yaml, UnknownKeysWithNearOnes) {
  const YamlNode root = ParseYaml("x: 1\nbandwith: 2\n").Take();
  const Status status = root.CheckKeys("a link", {"x", "bandwidth"});
  EXPECT_EQ(status.error().place, "line 2, column 1");
  EXPECT_THAT(status.error().message, HasSubstr("did you mean bandwidth"));
}

TEST(Yaml, DepthIsBounded) {
  for (const size_t depth : {size_t{100}, size_t{1000}, size_t{10'000}}) {
    EXPECT_EQ(Bad(std::string(depth, '[')).code, ErrorCode::kSyntax);
    EXPECT_EQ(Bad(std::string(depth, '{')).code, ErrorCode::kSyntax);
  }
  std::string dashes;
  for (int i = 0; i < 1000; ++i) dashes += "- ";
  EXPECT_EQ(Bad(dashes + "x").code, ErrorCode::kSyntax);
}

// Nine levels of nine aliases each would be 9^9 = 387 million values.
TEST(Yaml, AliasBombsAreRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) text += (j ? ", *a" : "*a") + std::to_string(i - 1);
    text += "]\n";
  }
  EXPECT_EQ(Bad(text).code, ErrorCode::kFileTooLarge);
  const YamlNode small = ParseYaml("a: &x {k: 1}\nb: *x\n").Take();
  EXPECT_EQ(small.Find("b")->Find("k")->text, "1");
}

// The parser queues 236 bytes for each bracket before it says a word: refused before it is asked.
TEST(Yaml, TokenBombsAreRefusedUnparsed) {
  for (const std::string unit : {"[", "{", "[x,", "{a,", "\"\",", "[],"}) {
    std::string text = "[";
    while (text.size() < 3'900'000) text += unit;
    EXPECT_EQ(Bad(text).code, ErrorCode::kFileTooLarge) << unit;
  }
  EXPECT_EQ(Bad(std::string(4'200'000, ' ')).code, ErrorCode::kFileTooLarge);
}

// 2,000 copies of 100 kB each: few nodes, but 200 MB of text.
TEST(Yaml, AliasesCannotMultiplyText) {
  std::string text = "a: &a " + std::string(100'000, 'x') + "\nb: [*a";
  for (int i = 1; i < 2000; ++i) text += ", *a";
  EXPECT_EQ(Bad(text + "]\n").code, ErrorCode::kFileTooLarge);
}

// A cluster of the documented 16,384 links, one a line, stays within all limits.
TEST(Yaml, LargeDescriptionsAreRead) {
  std::string text = "links:\n";
  for (int i = 0; i < 16'384; ++i) {
    text += "  - {between: [\"host" + std::to_string(i) + "/gpu0\", \"host" + std::to_string(i) +
            "/pcie0\"], bandwidth: 12.5 GB/s, latency: 3 us, duplex: half}\n";
  }
  const Result<YamlNode> read = ParseYaml(text);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read.value().items[0].items.size(), 16'384u);
}

TEST(Yaml, Scalars) {
  const YamlNode root =
      ParseYaml("[99999999999999999999, -3, 1.5, yes, true, 1e400, nan, '', x]").Take();
  const auto at = [&](size_t i) -> const YamlNode& { return root.items[i]; };
  EXPECT_FALSE(at(0).AsInt("n", 0, INT64_MAX).ok());
  EXPECT_THAT(at(1).AsInt("n", 0, 5).error().message, HasSubstr("-3"));
  EXPECT_FALSE(at(2).AsInt("n", 0, 5).ok());
  EXPECT_DOUBLE_EQ(at(2).AsNumber("n").Take(), 1.5);
  EXPECT_FALSE(at(3).AsBool("b").ok());
  EXPECT_TRUE(at(4).AsBool("b").Take());
  EXPECT_FALSE(at(5).AsNumber("n").ok());
  EXPECT_FALSE(at(6).AsNumber("n").ok());
  EXPECT_FALSE(at(7).AsText("t").ok());
  EXPECT_EQ(at(8).AsText("t").Take(), "x");
}

}  // namespace
}  // namespace placewright
