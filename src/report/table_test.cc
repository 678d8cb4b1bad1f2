#include "report/table.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

TEST(Table, AlignsColumnsAndTrimsLineEnds) {
  Table table({{"device"}, {"ops", Table::Align::kRight}, {"note"}});
  table.AddRow({"host0/gpu0", "12", "busy"});
  table.AddRow({"cpu", "3,667"});
  // "host0/gpu0" is 10 wide, "3,667" is 5 wide, two spaces between columns.
  EXPECT_EQ(table.Render({}),
            "device        ops  note\n"
            "host0/gpu0     12  busy\n"
            "cpu         3,667\n");
  EXPECT_EQ(table.Render({}, 2).substr(0, 9), "  device ");
}

TEST(Table, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("█▏"), 2);
  EXPECT_EQ(DisplayWidth(Paint("ab", Tone::kBad, {true, true})), 2);
}

TEST(Table, ColourOnlyWhereAsked) {
  EXPECT_EQ(Paint("ab", Tone::kBad, {false, true}), "ab");
  EXPECT_EQ(Paint("ab", Tone::kBad, {true, true}), "\x1b[31mab\x1b[0m");
}

// A name from a file: it opens no line, moves no cursor and switches no colour. U+009B is a CSI.
TEST(Table, ShowsControlCharactersAsQuestionMarks) {
  Table table({{"a"}, {"b"}});
  table.AddRow({"x\x1b[31m\ny", {"z\x1b]0;t\x07", Tone::kGood}});
  EXPECT_EQ(table.Render({}),
            "a         b\n"
            "x?[31m?y  z?]0;t?\n");
  EXPECT_EQ(Paint("a\x1b[2J\xc2\x9b"
                  "1mb",
                  Tone::kBad, {true, true}),
            "\x1b[31ma?[2J?1mb\x1b[0m");
}

TEST(Bar, ShowsSomethingAboveZeroAndLeavesSomethingBelowOne) {
  const Style ascii, utf8{false, true};
  EXPECT_EQ(Bar(0, 4, ascii), "....");
  EXPECT_EQ(Bar(1e-9, 4, ascii), "#...");
  EXPECT_EQ(Bar(0.5, 4, ascii), "##..");
  EXPECT_EQ(Bar(0.999, 4, ascii), "###.");
  EXPECT_EQ(Bar(1, 4, ascii), "####");
  EXPECT_EQ(Bar(7.5, 4, ascii), "####");
  // 0.3 of 4 columns is 9.6 eighths, so 10: one whole column and two eighths of the next.
  EXPECT_EQ(Bar(0.3, 4, utf8), "█▎░░");
}

TEST(Table, LeavesOptionalColumnsOutWhereItIsTooWide) {
  Table table({{"name"},
               {"bar", Table::Align::kLeft, true},
               {"size"},
               {"bar2", Table::Align::kLeft, true}});
  table.AddRow({"a", "######", "12", "######"});
  // name, bar, size and bar2 take 4 + 6 + 4 + 6 columns and 6 between them: 26, 18, 10.
  const auto widest = [&](int width) { return table.Render({false, false, width}).find('\n'); };
  EXPECT_EQ(table.Render({false, false, 26}),
            "name  bar     size  bar2\na     ######  12    ######\n");
  EXPECT_EQ(table.Render({false, false, 25}), "name  bar     size\na     ######  12\n");
  EXPECT_EQ(table.Render({false, false, 17}), "name  size\na     12\n");
  EXPECT_EQ(widest(5), 10u);  // nothing more to leave out
}

TEST(Table, BreaksTextsWhereItIsTooWide) {
  Table table({{"name"}, {"size", Table::Align::kRight}, {"why it is not"}});
  table.AddRow({"one two", "12", {"it needs more memory", Tone::kBad}});
  table.AddRow({"three", "7"});
  // name, size and why take 7 + 4 + 20 columns and 4 between them: 35.
  EXPECT_EQ(table.Render({false, false, 35}),
            "name     size  why it is not\n"
            "one two    12  it needs more memory\n"
            "three       7\n");
  // The widest gives what is too much.
  EXPECT_EQ(table.Render({false, false, 28}),
            "name     size  why it is not\n"
            "one two    12  it needs more\n"
            "                memory\n"
            "three       7\n");
  // "memory" is 7 wide with the space before it, "three" 6; numbers stay whole: 6 + 4 + 7 and 4.
  const std::string narrow =
      "name    size  why it\n"
      "               is not\n"
      "one       12  it\n"
      " two           needs\n"
      "               more\n"
      "               memory\n"
      "three      7\n";
  EXPECT_EQ(table.Render({false, false, 21}), narrow);
  EXPECT_EQ(table.Render({false, false, 5}), narrow);
  // Every line has its colour.
  EXPECT_NE(table.Render({true, false, 28}).find("\x1b[31m memory\x1b[0m\n"), std::string::npos);
}

TEST(FirstColumns, KeepsCharactersWhole) {
  EXPECT_EQ(FirstColumns("abc", 3), "abc");
  EXPECT_EQ(FirstColumns("abc", 2), "ab");
  EXPECT_EQ(FirstColumns("a█▏b", 2), "a█");
  EXPECT_EQ(FirstColumns("abc", 0), "");
}

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_EQ(Wrap("one two three\nfour", {}), "one two three\nfour");
  EXPECT_EQ(Wrap("one two three\nfour", {false, false, 7}), "one two\n  three\nfour");
  EXPECT_EQ(Wrap("a-long-word b", {false, false, 4}, 1), "a-long-word\n b");
  // Escape sequences take no columns.
  EXPECT_EQ(Wrap("\x1b[1mone\x1b[0m two", {true, false, 7}), "\x1b[1mone\x1b[0m two");
}

TEST(FoldNames, RangesOfConsecutiveNumbers) {
  const auto fold = [](std::vector<std::string> names) { return FoldNames(names); };
  EXPECT_EQ(fold({}), "");
  EXPECT_EQ(fold({"d0"}), "d0");
  EXPECT_EQ(fold({"host0/gpu6", "host0/gpu7", "host0/gpu8"}), "host0/gpu6-8");
  EXPECT_EQ(fold({"host0/gpu0", "host0/gpu2", "host0/cpu0"}), "host0/gpu0, host0/gpu2, host0/cpu0");
  EXPECT_EQ(fold({"host0/gpu0", "host0/gpu1", "host1/gpu0", "host1/gpu1", "host3/gpu0"}),
            "host0-1/gpu0-1, host3/gpu0");
  EXPECT_EQ(fold({"h0/cpu0", "h0/gpu0", "h1/cpu0", "h1/gpu0"}), "h0-1/cpu0, h0-1/gpu0");
  EXPECT_EQ(fold({"a01", "a02", "b9", "b10", "/x/1", "/x/2"}), "a01, a02, b9-10, /x/1-2");
}

TEST(FirstNames, CountsTheRest) {
  EXPECT_EQ(FirstNames(std::vector<std::string>{"a", "b", "c"}, 3), "a, b, c");
  EXPECT_EQ(FirstNames(std::vector<std::string>{"a", "b", "c", "d"}, 3), "a, b and 2 more");
}

TEST(FormatShare, NeverRoundsToTheEnds) {
  EXPECT_EQ(FormatShare(0), "0.0%");
  EXPECT_EQ(FormatShare(0.0001), "<0.1%");
  EXPECT_EQ(FormatShare(0.7321), "73.2%");
  EXPECT_EQ(FormatShare(0.9999), ">99.9%");
  EXPECT_EQ(FormatShare(1), "100.0%");
}

}  // namespace
}  // namespace placewright
