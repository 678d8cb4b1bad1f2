#include "formats/text/document_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace placewright {
namespace {

std::string Text(std::string_view text) {
  std::string out;
  AppendJson(out, text);
  return out;
}

TEST(DocumentText, EscapesTextsAsJsonDoes) {
  EXPECT_EQ(Text("aten.mm.default"), R"("aten.mm.default")");
  EXPECT_EQ(Text(""), R"("")");
  EXPECT_EQ(Text("a\"b\\c\nd\x01"), R"("a\"b\\c\nd\u0001")");
  EXPECT_EQ(Text("\xc3\xa9"), "\"\xc3\xa9\"");
  EXPECT_EQ(Text("\xff"), "\"\xef\xbf\xbd\"");  // no UTF-8
}

TEST(DocumentText, WritesNumbersThatReadBack) {
  std::string out;
  AppendJson(out, std::numeric_limits<int64_t>::min());
  out += ' ';
  AppendJson(out, int64_t{0});
  out += ' ';
  AppendJson(out, 1.0);
  out += ' ';
  AppendJson(out, 0.1);
  EXPECT_EQ(out, "-9223372036854775808 0 1.0 0.1");
}

// The layout is that of the same document as one value: a line for each member, and for each
// element of a list of objects.
TEST(DocumentText, IsTheTextOfTheSameDocument) {
  Json whole = {{"name", "x \"y\""}, {"short", {1, 2, 3}}, {"empty", Json::array()}};
  for (int i = 0; i < 13; ++i) whole["long"].push_back(i);
  whole["object"] = {{"a", {{"b", 1}}}};
  DocumentText text;
  for (const auto& [key, value] : whole.items()) text.AddMember(key, value);
  whole["ops"] = Json::array({{{"n", 1}}, {{"n", 2}}});
  text.StartList("ops");
  for (const int64_t n : {1, 2}) {
    std::string& element = text.StartElement();
    element += "{\"n\":";
    AppendJson(element, n);
    element += '}';
  }
  text.EndList();
  whole["none"] = Json::array();
  text.StartList("none");
  text.EndList();
  EXPECT_EQ(std::move(text).Finish(), FormatDocument(whole));
}

TEST(DocumentText, HasALineForEachMember) {
  EXPECT_EQ(FormatDocument({{"a", 1}, {"b", {{{"c", 2}}, {{"c", 3}}}}}),
            "{\n\"a\": 1,\n\"b\": [\n  {\"c\":2},\n  {\"c\":3}\n]\n}\n");
}

}  // namespace
}  // namespace placewright
