#include "formats/cluster/peer_matrix_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/text.h"
#include "formats/text/words.h"

namespace placewright {
namespace {

constexpr size_t kMaxPeerText = size_t{1} << 20, kMaxPeerGpus = 128;
constexpr std::string_view kPeerRemedy =
    "Give the whole output of p2pBandwidthLatencyTest or of `nvidia-smi topo -p2p r`, unchanged.";

struct PeerLine {
  int32_t number = 0;
  std::string text;
  std::vector<std::string> words;
};

Error BadMatrix(const PeerLine& line, std::string message) {
  return MakeError(ErrorCode::kField, std::move(message), fmt::format("line {}", line.number),
                   std::string(kPeerRemedy));
}

// Lines without terminal escapes (ESC [ ... letter), and their words.
std::vector<PeerLine> PeerLines(std::string_view text) {
  std::vector<PeerLine> lines;
  int32_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    PeerLine line{++number, "", {}};
    for (size_t i = 0; i < end; ++i) {
      if (text[i] != '\x1b') {
        line.text += text[i] == '\t' || text[i] == '\r' ? ' ' : text[i];
        continue;
      }
      if (i + 1 < end && text[i + 1] == '[') ++i;
      while (i + 1 < end && !(text[i + 1] >= '@' && text[i + 1] <= '~')) ++i;
      ++i;
    }
    line.words = WordsOfLine(line.text);
    lines.push_back(std::move(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The GPUs of a header "D\D 0 1 2" or "GPU0 GPU1 GPU2"; 0: it is none.
size_t GpusOfHeader(const PeerLine& line, std::string_view prefix) {
  size_t gpus = 0;
  for (const std::string& word : line.words) {
    if (word == fmt::format("{}{}", prefix, gpus)) {
      ++gpus;
    } else if (gpus > 0 || (prefix.empty() && word != "D\\D")) {
      return 0;
    }
  }
  return gpus;
}

Status SetPeerGpus(const PeerLine& line, size_t gpus, PeerMatrix& matrix) {
  if (gpus == 0) return BadMatrix(line, "a line with the numbers of the GPUs is expected");
  if (gpus > kMaxPeerGpus) {
    return BadMatrix(line, fmt::format("{} GPUs; at most {} are read", gpus, kMaxPeerGpus));
  }
  if (matrix.gpus == 0) {
    matrix.gpus = gpus;
    matrix.cells.resize(gpus * gpus);
  }
  if (matrix.gpus == gpus) return Ok();
  return BadMatrix(line, fmt::format("a matrix of {} GPUs follows one of {}", gpus, matrix.gpus));
}

// The cells of the rows behind lines[header], row by row: `rows` labels begin with `prefix`.
Status ReadPeerRows(const std::vector<PeerLine>& lines, size_t header, std::string_view prefix,
                    size_t gpus, std::vector<std::string>& cells) {
  cells.clear();
  for (size_t row = 0; row < gpus; ++row) {
    const size_t at = header + 1 + row;
    if (at >= lines.size()) {
      return BadMatrix(lines.back(), fmt::format("the matrix ends after {} of {} rows", row, gpus));
    }
    const PeerLine& line = lines[at];
    if (line.words.size() != gpus + 1 || line.words[0] != fmt::format("{}{}", prefix, row)) {
      return BadMatrix(line, fmt::format("row {} of a matrix of {} GPUs is expected", row, gpus));
    }
    cells.insert(cells.end(), line.words.begin() + 1, line.words.end());
  }
  return Ok();
}

Result<double> PeerRate(const PeerLine& line, const std::string& word) {
  double value = 0;
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || rest != word.data() + word.size() || !std::isfinite(value) ||
      value < 0 || value > 1e6) {
    return BadMatrix(line, fmt::format("\"{}\" is no bandwidth in GB/s", Printable(word, 40)));
  }
  return value;
}

// "Device: 0, NVIDIA GeForce RTX 4090, pciBusID: 1, ..."
void ReadPeerName(const PeerLine& line, PeerMatrix& matrix) {
  const size_t comma = line.text.find(',');
  const size_t end = line.text.rfind(", pciBusID");
  if (comma == std::string::npos || end == std::string::npos || end <= comma) return;
  size_t begin = comma + 1;
  while (begin < end && line.text[begin] == ' ') ++begin;
  matrix.names.push_back(line.text.substr(begin, end - begin));
}

Result<PeerMatrix> ReadBandwidthTest(const std::vector<PeerLine>& lines) {
  PeerMatrix matrix;
  matrix.source = "p2pBandwidthLatencyTest";
  std::vector<double> without, with;  // GB/s
  std::vector<std::string> cells;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& text = lines[i].text;
    const auto has = [&](std::string_view what) { return text.find(what) != std::string::npos; };
    if (text.starts_with("Device: ")) ReadPeerName(lines[i], matrix);
    const bool access = has("P2P Connectivity Matrix");
    // Of the same copies read by the other GPU there is a second table, in some versions.
    const bool rates = has("Unidirectional") && has("Bandwidth") && !has("(P2P Reads)");
    if (!access && !rates) continue;
    if (i + 1 >= lines.size()) return BadMatrix(lines[i], "the matrix is missing");
    PW_RETURN_IF_ERROR(SetPeerGpus(lines[i + 1], GpusOfHeader(lines[i + 1], ""), matrix));
    PW_RETURN_IF_ERROR(ReadPeerRows(lines, i + 1, "", matrix.gpus, cells));
    if (access) {
      for (size_t c = 0; c < cells.size(); ++c) {
        if (cells[c] != "0" && cells[c] != "1") {
          return BadMatrix(lines[i + 2 + c / matrix.gpus],
                           fmt::format("\"{}\" is neither 0 nor 1", Printable(cells[c], 40)));
        }
        matrix.cells[c].access = cells[c] == "1";
      }
      continue;
    }
    std::vector<double>& table = has("P2P=Enabled") ? with : without;
    table.clear();
    for (size_t c = 0; c < cells.size(); ++c) {
      PW_ASSIGN(const double rate, PeerRate(lines[i + 2 + c / matrix.gpus], cells[c]));
      table.push_back(rate);
    }
  }
  if (matrix.gpus == 0) return BadMatrix(PeerLine{1, "", {}}, "there is no matrix");
  for (size_t c = 0; c < matrix.cells.size(); ++c) {
    PeerCell& cell = matrix.cells[c];
    const bool direct = cell.access.value_or(false);
    const std::vector<double>& table =
        (direct && !with.empty()) || without.empty() ? with : without;
    if (c % (matrix.gpus + 1) == 0 || table.empty()) continue;  // a GPU with itself
    cell.bandwidth = BytesPerSecond(static_cast<int64_t>(std::llround(table[c] * 1e9)));
  }
  if (matrix.names.size() != matrix.gpus) matrix.names.clear();
  return matrix;
}

Result<PeerMatrix> ReadStatusTable(const std::vector<PeerLine>& lines) {
  static const std::set<std::string> kNone = {"CNS", "GNS", "TNS", "NS", "DR", "U"};
  PeerMatrix matrix;
  matrix.source = "nvidia-smi topo -p2p";
  size_t header = 0;
  while (header < lines.size() && GpusOfHeader(lines[header], "GPU") == 0) ++header;
  if (header == lines.size()) return BadMatrix(PeerLine{1, "", {}}, "no line names GPU0");
  PW_RETURN_IF_ERROR(SetPeerGpus(lines[header], GpusOfHeader(lines[header], "GPU"), matrix));
  std::vector<std::string> cells;
  PW_RETURN_IF_ERROR(ReadPeerRows(lines, header, "GPU", matrix.gpus, cells));
  for (size_t c = 0; c < cells.size(); ++c) {
    const bool self = c % (matrix.gpus + 1) == 0, ok = cells[c] == "OK";
    if (self ? cells[c] != "X" : !ok && kNone.count(cells[c]) == 0) {
      return BadMatrix(lines[header + 1 + c / matrix.gpus],
                       fmt::format("\"{}\" is no status; known are OK, CNS, GNS, TNS, NS, DR and U",
                                   Printable(cells[c], 40)));
    }
    if (!self) matrix.cells[c].access = ok;
  }
  return matrix;
}

bool IsBandwidthTest(std::string_view text) {
  return text.find("P2P Connectivity Matrix") != std::string_view::npos ||
         text.find("Unidirectional P2P=") != std::string_view::npos;
}

}  // namespace

bool LooksLikePeerMatrix(std::string_view text) {
  if (IsBandwidthTest(text)) return true;
  for (const std::string_view status : {"CNS", "GNS", "TNS"}) {
    if (text.find("GPU0") != std::string_view::npos &&
        text.find(status) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

Result<PeerMatrix> ParsePeerMatrix(std::string_view text) {
  if (text.size() > kMaxPeerText) {
    return MakeError(
        ErrorCode::kFileTooLarge,
        fmt::format("{} bytes of text; at most {} are read", text.size(), kMaxPeerText), "line 1");
  }
  const std::vector<PeerLine> lines = PeerLines(text);
  return IsBandwidthTest(text) ? ReadBandwidthTest(lines) : ReadStatusTable(lines);
}

}  // namespace placewright
