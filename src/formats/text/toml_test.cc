#include "formats/text/toml.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

TEST(Toml, ReadsTablesAndValues) {
  const YamlNode root = ParseToml(
                            "title = \"a \\\"job\\\"\"  # a comment\n"
                            "[training]\n"
                            "steps = 1_000\n"
                            "sizes = [1,\n  2, # two\n  3]\n"
                            "[a.b]\n"
                            "on = true\n"
                            "inline = {x = 1.5, 'y z' = 'raw\\n'}\n")
                            .Take();
  EXPECT_EQ(root.Find("title")->text, "a \"job\"");
  EXPECT_TRUE(root.Find("title")->quoted);
  EXPECT_EQ(root.Find("training")->Find("steps")->text, "1000");
  EXPECT_EQ(root.Find("training")->Find("sizes")->items.size(), 3u);
  const YamlNode& inner = *root.Find("a")->Find("b");
  EXPECT_EQ(inner.Find("on")->text, "true");
  EXPECT_EQ(inner.Find("inline")->Find("x")->text, "1.5");
  EXPECT_EQ(inner.Find("inline")->Find("y z")->text, "raw\\n");
  EXPECT_EQ(inner.Find("on")->Place(), "line 8, column 6");
}

TEST(Toml, WhatIsWrongHasItsPlace) {
  const auto error_of = [](std::string_view text) {
    const auto read = ParseToml(text);
    EXPECT_FALSE(read.ok()) << text;
    return read.ok() ? Error() : read.error();
  };
  EXPECT_EQ(error_of("a = 1\na = 2\n").code, ErrorCode::kDuplicateName);
  EXPECT_EQ(error_of("a = 1\na = 2\n").place, "line 2, column 1");
  EXPECT_EQ(error_of("[t]\nb 3\n").place, "line 2, column 3");
  EXPECT_EQ(error_of("a = \"open\n").place, "line 1, column 10");
  EXPECT_EQ(error_of("a = [1, 2\n").code, ErrorCode::kSyntax);
  EXPECT_EQ(error_of("[[list]]\n").code, ErrorCode::kSyntax);
  EXPECT_EQ(error_of("a = 1\n[a]\n").code, ErrorCode::kSyntax);
  EXPECT_EQ(error_of("a = " + std::string(100, '[')).code, ErrorCode::kSyntax);
  EXPECT_EQ(error_of("a =").code, ErrorCode::kSyntax);
  EXPECT_EQ(error_of("[t").code, ErrorCode::kSyntax);
}

}  // namespace
}  // namespace placewright
