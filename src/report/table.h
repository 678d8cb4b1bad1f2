// Text tables, bars, colours and folded lists of names for terminals.
//
// Widths are counted in columns: one per UTF-8 code point (the program prints no wide characters).
// Without UTF-8 bars are drawn in ASCII; without colour no escape sequence is ever written.
#ifndef PLACEWRIGHT_REPORT_TABLE_H_
#define PLACEWRIGHT_REPORT_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"

namespace placewright {

// What the reader's terminal shows.
struct Style {
  bool color = false;
  bool utf8 = false;
  int width = 0;  // columns; 0: no limit
};

enum class Tone { kPlain, kGood, kWarning, kBad, kFaint, kStrong };

// `text` (its control characters as '?') between the escape sequences of `tone`; without colour no
// sequences.
std::string Paint(std::string_view text, Tone tone, const Style& style);

// A bar of `width` columns filled to `share` (cut to [0, 1]); any share above 0 shows something
// and any share below 1 leaves something free.
std::string Bar(double share, int width, const Style& style);

// "73.2%"; never "100.0%" below 1 and never "0.0%" above 0.
std::string FormatShare(double share);

// `time` or `size` in the unit in which FormatNanos or FormatBytes show `like`, for columns and
// messages of one unit: "9,451 ms", "<0.01 s", "0.8 GiB", "<0.1 GiB".
std::string FormatNanosLike(Nanos time, Nanos like);
std::string FormatBytesLike(Bytes size, Bytes like);

// "1 op", "3,667 ops".
std::string CountOf(int64_t n, std::string_view noun);

// Columns of text on a terminal; escape sequences count nothing.
int DisplayWidth(std::string_view text);

// As much of `text`, which has no escape sequences, as `width` columns show.
std::string FirstColumns(std::string_view text, int width);

// Lines of at most style.width columns, broken at spaces, those after the first indented by
// `indent` spaces; a longer word stands alone. Without a width the text as it is.
std::string Wrap(std::string_view text, const Style& style, int indent = 2);

// Names that differ by a number alone as a range: "host0/gpu0-3, host0/cpu0", "host0-1/gpu0-3",
// "layers.0-11". Consecutive numbers only, in the order of the list.
std::string FoldNames(std::span<const std::string> names);

// The names of a set of ops or devices, all of them up to `max`, else "a, b and 9 more".
std::string FirstNames(std::span<const std::string> names, size_t max);

// Rows under a header, columns aligned and two spaces apart; no trailing spaces.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    bool optional = false;  // left out where the table is too wide, the last first
  };

  // What is in a cell may come from a file: control characters are shown as '?'.
  struct Cell {
    std::string text;
    Tone tone = Tone::kPlain;
    Cell(std::string what, Tone how = Tone::kPlain)  // NOLINT: implicit by design
        : text(std::move(what)), tone(how) {}
    Cell(const char* what) : text(what) {}  // NOLINT: implicit by design
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Cells missing at the end are empty; precondition: no more cells than columns.
  void AddRow(std::vector<Cell> cells);
  size_t rows() const { return rows_.size(); }
  // Every line ends in a newline and starts with `indent` spaces. Where a row would be wider than style.width its
  // texts are broken at spaces.
  std::string Render(const Style& style, int indent = 0) const;

 private:
  void Narrow(const std::vector<size_t>& shown, int excess, std::vector<int>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_TABLE_H_
