#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"

namespace placewright {
namespace {

std::string_view EscapeOf(Tone tone) {
  switch (tone) {
    case Tone::kPlain: return "";
    case Tone::kGood: return "\x1b[32m";
    case Tone::kWarning: return "\x1b[33m";
    case Tone::kBad: return "\x1b[31m";
    case Tone::kFaint: return "\x1b[2m";
    case Tone::kStrong: return "\x1b[1m";
  }
  return "";
}

void AppendPadded(std::string& line, const std::string& cell, int width, Table::Align align) {
  const std::string space(static_cast<size_t>(std::max(0, width - DisplayWidth(cell))), ' ');
  line += align == Table::Align::kRight ? space + cell : cell + space;
}

}  // namespace

std::string Paint(std::string_view text, Tone tone, const Style& style) {
  std::string shown = Printable(text, std::string_view::npos);
  if (!style.color || tone == Tone::kPlain) return shown;
  return fmt::format("{}{}\x1b[0m", EscapeOf(tone), shown);
}

std::string Bar(double share, int width, const Style& style) {
  // Eighths of a column in UTF-8, whole columns in ASCII.
  constexpr std::array<std::string_view, 9> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
  const int steps = style.utf8 ? 8 : 1;
  const int total = width * steps;
  int filled = 0;
  if (share >= 1) {
    filled = total;
  } else if (share > 0) {
    filled = std::clamp(static_cast<int>(std::lround(share * total)), 1, total - 1);
  }
  std::string bar;
  for (int column = 0; column < width; ++column) {
    const int part = std::clamp(filled - column * steps, 0, steps);
    if (part == 0) {
      bar += style.utf8 ? "░" : ".";
    } else {
      bar += style.utf8 ? kEighths[static_cast<size_t>(part)] : std::string_view("#");
    }
  }
  return bar;
}

std::string FormatShare(double share) {
  if (!std::isfinite(share)) return "-";
  if (share > 0 && share < 0.0005) return "<0.1%";
  if (share < 1 && share >= 0.9995) return ">99.9%";
  return fmt::format("{:.1f}%", share * 100);
}

std::string FormatNanosLike(Nanos time, Nanos like) {
  if (time == like || time.count >= kMaxQuantity) return FormatNanos(time);
  if (like.count < 1000) return FormatCount(time.count) + " ns";
  // The thresholds of FormatNanos: 999.5 of a unit are one of the next.
  const auto range = static_cast<double>(like.count);
  const int unit = range < 999.5e3 ? 0 : range < 999.5e6 ? 1 : 2;
  constexpr std::array<double, 3> kScales = {1e-3, 1e-6, 1e-9};
  constexpr std::array<const char*, 3> kNames = {"us", "ms", "s"};
  const double value = static_cast<double>(time.count) * kScales[unit];
  if (value >= 999.5) return fmt::format("{} {}", FormatCount(std::llround(value)), kNames[unit]);
  if (value > 0 && value < 0.005) return fmt::format("<0.01 {}", kNames[unit]);
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, kNames[unit]);
}

std::string FormatBytesLike(Bytes size, Bytes like) {
  if (size == like) return FormatBytes(size);
  constexpr std::array<const char*, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  double scale = 1;
  while (static_cast<double>(like.count) >= 1024 * scale && unit + 1 < kNames.size()) {
    scale *= 1024;
    ++unit;
  }
  if (unit == 0 || size.count == 0) return fmt::format("{} {}", size.count, kNames[unit]);
  const double value = static_cast<double>(size.count) / scale;
  if (value > 0 && value < 0.05) return fmt::format("<0.1 {}", kNames[unit]);
  return fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string CountOf(int64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", FormatCount(n), noun, n == 1 ? "" : "s");
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::string FirstColumns(std::string_view text, int width) {
  size_t end = 0;
  for (int column = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins && column++ >= width) break;
  }
  return std::string(text.substr(0, end));
}

std::string Wrap(std::string_view text, const Style& style, int indent) {
  if (style.width <= 0) return std::string(text);
  std::string out;
  int column = 0;
  for (size_t begin = 0; begin < text.size();) {
    if (text[begin] == '\n') {
      out += '\n', column = 0, ++begin;
      continue;
    }
    // A word with the spaces before it.
    const size_t word = std::min(text.find_first_not_of(' ', begin), text.size());
    const size_t end = std::min(text.find_first_of(" \n", word), text.size());
    const int width = DisplayWidth(text.substr(begin, end - begin));
    if (column > 0 && column + width > style.width && word < end) {
      out += "\n" + std::string(static_cast<size_t>(indent), ' ');
      out += text.substr(word, end - word);
      column = indent + DisplayWidth(text.substr(word, end - word));
    } else {
      out += text.substr(begin, end - begin);
      column += width;
    }
    begin = end;
  }
  return out;
}

namespace {

// "host0/gpu" and 12 of "host0/gpu12"; no number: -1. Numbers with leading zeros are names.
std::pair<std::string, int64_t> SplitNumber(const std::string& name) {
  const size_t last = name.find_last_not_of("0123456789");
  const size_t begin = last == std::string::npos ? 0 : last + 1;
  const size_t digits = name.size() - begin;
  if (digits == 0 || digits > 9 || (digits > 1 && name[begin] == '0')) return {name, -1};
  return {name.substr(0, begin), std::stoll(name.substr(begin))};
}

std::vector<std::string> FoldRuns(std::span<const std::string> names) {
  std::vector<std::string> runs;
  for (size_t i = 0; i < names.size();) {
    const auto [stem, first] = SplitNumber(names[i]);
    size_t end = i + 1;
    while (first >= 0 && end < names.size() &&
           SplitNumber(names[end]) == std::pair(stem, first + static_cast<int64_t>(end - i))) {
      ++end;
    }
    runs.push_back(end - i == 1
                       ? names[i]
                       : fmt::format("{}-{}", names[i], first + static_cast<int64_t>(end - i) - 1));
    i = end;
  }
  return runs;
}

}  // namespace

std::string FoldNames(std::span<const std::string> names) {
  // What stands behind the first '/', by what stands before it: hosts with the same are one.
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> tails;
  for (const std::string& name : names) {
    const size_t slash = name.find('/');
    const bool split = slash != std::string::npos && slash > 0;
    const std::string head = split ? name.substr(0, slash) : name;
    const std::string tail = split ? name.substr(slash) : "";
    if (heads.empty() || heads.back() != head || tails.back().back().empty() || tail.empty()) {
      heads.push_back(head);
      tails.emplace_back();
    }
    tails.back().push_back(tail);
  }
  std::vector<std::string> parts;
  for (size_t i = 0; i < heads.size();) {
    size_t end = i + 1;
    while (end < heads.size() && tails[end] == tails[i]) ++end;
    const std::vector<std::string> folded = FoldRuns(tails[i]);
    for (const std::string& head : FoldRuns(std::span(heads).subspan(i, end - i))) {
      for (const std::string& tail : folded) parts.push_back(head + tail);
    }
    i = end;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string FirstNames(std::span<const std::string> names, size_t max) {
  const size_t shown = names.size() <= max ? names.size() : max - 1;
  std::string text = fmt::format("{}", fmt::join(names.first(shown), ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

void Table::AddRow(std::vector<Cell> cells) {
  PW_CHECK_LE(cells.size(), columns_.size());
  for (Cell& cell : cells) cell.text = Printable(cell.text, std::string_view::npos);
  cells.resize(columns_.size(), Cell(""));
  rows_.push_back(std::move(cells));
}

namespace {

int LongestWord(std::string_view text) {
  int longest = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    longest = std::max(longest, DisplayWidth(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return longest;
}

// The lines of a cell in a column of `width`, those after the first indented by a space.
std::vector<std::string> LinesOf(const std::string& text, int width) {
  const std::string wrapped = DisplayWidth(text) <= width ? text : Wrap(text, {.width = width}, 1);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin <= wrapped.size();) {
    const size_t end = std::min(wrapped.find('\n', begin), wrapped.size());
    lines.push_back(wrapped.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

// Columns of text that are wider than all others lose a column each, until the row fits or none has more than its
// longest word.
void Table::Narrow(const std::vector<size_t>& shown, int excess, std::vector<int>& widths) const {
  std::vector<int> min = widths;
  for (const size_t c : shown) {
    if (columns_[c].align == Align::kRight) continue;
    min[c] = LongestWord(columns_[c].title);
    // The space by which what is wrapped is indented.
    for (const auto& row : rows_) min[c] = std::max(min[c], 1 + LongestWord(row[c].text));
    min[c] = std::min(min[c], widths[c]);
  }
  for (; excess > 0; --excess) {
    size_t widest = columns_.size();
    for (const size_t c : shown) {
      const bool may = widths[c] > min[c];
      if (may && (widest == columns_.size() || widths[c] > widths[widest])) widest = c;
    }
    if (widest == columns_.size()) return;
    --widths[widest];
  }
}

std::string Table::Render(const Style& style, int indent) const {
  std::vector<int> widths;
  int total = indent;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int width = DisplayWidth(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[c].text));
    widths.push_back(width);
    total += width + (c > 0 ? 2 : 0);
  }
  std::vector<size_t> shown;
  for (size_t c = columns_.size(); c-- > 0;) {
    const bool leave_out = columns_[c].optional && style.width > 0 && total > style.width;
    if (leave_out) total -= widths[c] + 2;
    if (!leave_out) shown.insert(shown.begin(), c);
  }
  if (style.width > 0) Narrow(shown, total - style.width, widths);
  // The lines of a row: as many as its highest cell has.
  const auto lines_of = [&](const auto& cell_of) {
    std::vector<std::vector<std::string>> cells;
    size_t height = 0;
    for (const size_t c : shown) {
      cells.push_back(LinesOf(cell_of(c).text, widths[c]));
      height = std::max(height, cells.back().size());
    }
    std::vector<std::string> lines;
    for (size_t y = 0; y < height; ++y) {
      std::string line;
      for (size_t i = 0; i < shown.size(); ++i) {
        const size_t c = shown[i];
        if (i > 0) line += "  ";
        const std::string part = y < cells[i].size() ? cells[i][y] : std::string();
        AppendPadded(line, part.empty() ? part : Paint(part, cell_of(c).tone, style), widths[c],
                     columns_[c].align);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(std::move(line));
    }
    return lines;
  };
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::string text;
  for (const std::string& line : lines_of([&](size_t c) { return Cell(columns_[c].title); })) {
    text += margin + Paint(line, Tone::kStrong, style) + "\n";
  }
  for (const auto& row : rows_) {
    for (const std::string& line : lines_of([&](size_t c) { return row[c]; })) {
      text += margin + line + "\n";
    }
  }
  return text;
}

}  // namespace placewright
