#include "cluster/discovery/topo_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "base/text.h"

namespace placewright {
namespace {

constexpr size_t kMaxText = size_t{1} << 20;
constexpr int32_t kMaxLanes = 256;

struct Word {
  std::string_view word;
  TopoPath path;
};
constexpr std::array kWords = {Word{"X", TopoPath::kSelf},  Word{"PIX", TopoPath::kPix},
                               Word{"PSB", TopoPath::kPix}, Word{"PXB", TopoPath::kPxb},
                               Word{"PHB", TopoPath::kPhb}, Word{"NODE", TopoPath::kNode},
                               Word{"SYS", TopoPath::kSys}, Word{"SOC", TopoPath::kSys}};

struct Line {
  int32_t number = 0;
  std::vector<std::string> words;
};

// A line without terminal escapes (ESC [ ... letter), split at blanks and tabs.
std::vector<std::string> SplitWords(std::string_view line) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\x1b') {
      if (i + 1 < line.size() && line[i + 1] == '[') ++i;
      while (i + 1 < line.size() && !(line[i + 1] >= '@' && line[i + 1] <= '~')) ++i;
      ++i;  // the letter that ends it
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// The table's lines: from the first with words to the next without, or the legend.
std::vector<Line> TableLines(std::string_view text) {
  std::vector<Line> lines;
  int32_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::vector<std::string> words = SplitWords(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const bool legend = !words.empty() && words[0].starts_with("Legend");
    if (words.empty() && lines.empty()) continue;
    if (words.empty() || legend || lines.size() > kMaxTopoNodes + 1) break;
    lines.push_back({number, std::move(words)});
  }
  return lines;
}

Error Bad(int32_t line, std::string message) {
  return MakeError(ErrorCode::kField, std::move(message), fmt::format("line {}", line),
                   "Give the whole output of `nvidia-smi topo -m`, unchanged.");
}

std::optional<int32_t> Number(std::string_view digits, int32_t max) {
  int32_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value);
  if (digits.empty() || digits[0] == '-' || rest != end || error != std::errc() || value > max) {
    return std::nullopt;
  }
  return value;
}

// Columns up to "CPU Affinity".
Result<std::vector<TopoNode>> ReadHeader(const Line& header) {
  std::vector<TopoNode> nodes;
  std::set<std::string_view> names;
  int32_t gpus = 0;
  for (const std::string& word : header.words) {
    if (word == "CPU" || word == "NUMA") break;
    TopoNode node{word, -1, -1};
    if (word.starts_with("GPU")) {
      const auto index = Number(std::string_view(word).substr(3), 1'000'000);
      if (index != gpus || static_cast<size_t>(gpus) < nodes.size()) {
        return Bad(header.number, fmt::format("the column \"{}\" stands where GPU{} is expected",
                                              Printable(word, 40), gpus));
      }
      node.gpu = gpus++;
    }
    if (!names.insert(word).second) {
      return Bad(header.number, fmt::format("two columns are called \"{}\"", Printable(word, 40)));
    }
    nodes.push_back(std::move(node));
  }
  if (gpus == 0) return Bad(header.number, "the first line names no GPU0");
  if (nodes.size() > kMaxTopoNodes) {
    return Bad(header.number,
               fmt::format("{} columns; at most {} are read", nodes.size(), kMaxTopoNodes));
  }
  return nodes;
}

Result<TopoCell> ReadCell(const Line& line, const std::string& word) {
  for (const Word& known : kWords) {
    if (known.word == word) return TopoCell{known.path, 0};
  }
  if (word.starts_with("NV")) {
    const auto lanes = Number(std::string_view(word).substr(2), kMaxLanes);
    if (lanes.value_or(0) > 0) return TopoCell{TopoPath::kPhb, *lanes};
  }
  return Bad(line.number, fmt::format("\"{}\" is no path; known are X, NV#, PIX, PXB, PHB, NODE "
                                      "and SYS",
                                      Printable(word, 40)));
}

Status ReadRow(const Line& line, size_t row, TopoMatrix& matrix) {
  const size_t n = matrix.nodes.size();
  if (line.words[0] != matrix.nodes[row].name) {
    return Bad(line.number,
               fmt::format("the row \"{}\" stands where {} is expected",
                           Printable(line.words[0], 40), Printable(matrix.nodes[row].name, 40)));
  }
  if (line.words.size() < n + 1) {
    return Bad(line.number, fmt::format("the row {} has {} of {} paths",
                                        Printable(line.words[0], 40), line.words.size() - 1, n));
  }
  for (size_t column = 0; column < n; ++column) {
    PW_ASSIGN(matrix.cell(row, column), ReadCell(line, line.words[column + 1]));
    const TopoCell& cell = matrix.cell(row, column);
    if ((cell == TopoCell{}) != (row == column)) {
      return Bad(line.number, fmt::format("the path from {} to {} is \"{}\"",
                                          Printable(matrix.nodes[row].name, 40),
                                          Printable(matrix.nodes[column].name, 40),
                                          Printable(line.words[column + 1], 40)));
    }
    if (column < row && !(cell == matrix.cell(column, row))) {
      return Bad(line.number, fmt::format("the path from {} to {} differs from the way back",
                                          Printable(matrix.nodes[row].name, 40),
                                          Printable(matrix.nodes[column].name, 40)));
    }
  }
  // CPU affinity, NUMA affinity: "0-31 0", "0-15,32-47 0-1", "N/A".
  if (line.words.size() > n + 2) {
    const std::string_view affinity(line.words[n + 2]);
    const auto numa = Number(affinity.substr(0, affinity.find_first_of("-,")), 1'000'000);
    matrix.nodes[row].numa = numa.value_or(-1);
  }
  return Ok();
}

// NVLink hides how a pair would go over PCIe.
void GuessHiddenPaths(TopoMatrix& matrix) {
  for (size_t a = 0; a < matrix.nodes.size(); ++a) {
    for (size_t b = 0; b < matrix.nodes.size(); ++b) {
      TopoCell& cell = matrix.cell(a, b);
      if (cell.lanes > 0 && matrix.nodes[a].numa != matrix.nodes[b].numa) {
        cell.path = TopoPath::kSys;
      }
    }
  }
}

}  // namespace

std::string_view ToString(TopoPath path) {
  if (path == TopoPath::kSys) return "SYS";
  for (const Word& known : kWords) {
    if (known.path == path) return known.word;
  }
  return "?";
}

size_t TopoMatrix::GpuCount() const {
  return static_cast<size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const TopoNode& n) { return n.gpu >= 0; }));
}

Result<TopoMatrix> ParseTopoMatrix(std::string_view text) {
  if (text.size() > kMaxText) {
    return MakeError(ErrorCode::kFileTooLarge,
                     fmt::format("{} bytes of text; at most {} are read", text.size(), kMaxText),
                     "line 1");
  }
  const std::vector<Line> lines = TableLines(text);
  if (lines.empty()) return Bad(1, "there is no table");
  TopoMatrix matrix;
  PW_ASSIGN(matrix.nodes, ReadHeader(lines[0]));
  const size_t n = matrix.nodes.size();
  matrix.cells.resize(n * n);
  for (size_t row = 0; row < n; ++row) {
    if (row + 1 >= lines.size()) {
      return Bad(lines.back().number, fmt::format("the table ends after {} of {} rows", row, n));
    }
    PW_RETURN_IF_ERROR(ReadRow(lines[row + 1], row, matrix));
  }
  if (lines.size() > n + 1) {
    return Bad(lines[n + 1].number, fmt::format("the table has more than its {} rows", n));
  }
  GuessHiddenPaths(matrix);
  return matrix;
}

}  // namespace placewright
