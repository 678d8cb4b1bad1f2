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

void Table::AddRow(std::vector<Cell> cells) {
  PW_CHECK_LE(cells.size(), columns_.size());
  for (Cell& cell : cells) cell.text = Printable(cell.text, std::string_view::npos);
  cells.resize(columns_.size(), Cell(""));
  rows_.push_back(std::move(cells));
}

std::string Table::Render(const Style& style, int indent) const {
  std::vector<int> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int width = DisplayWidth(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[c].text));
    widths.push_back(width);
  }
  const auto line_of = [&](const auto& cell_of) {
    std::string line;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) line += "  ";
      AppendPadded(line, cell_of(c), widths[c], columns_[c].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  const std::string margin(static_cast<size_t>(indent), ' ');
  const std::string titles = line_of([&](size_t c) { return columns_[c].title; });
  std::string text = margin + Paint(titles, Tone::kStrong, style) + "\n";
  for (const auto& row : rows_) {
    const auto painted = [&](size_t c) { return Paint(row[c].text, row[c].tone, style); };
    text += margin + line_of(painted) + "\n";
  }
  return text;
}

}  // namespace placewright
