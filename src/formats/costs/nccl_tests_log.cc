#include "formats/costs/nccl_tests_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "base/text.h"
#include "formats/text/words.h"

namespace placewright {
namespace {

constexpr size_t kMaxLogBytes = size_t{16} << 20, kMaxLine = 1000;
constexpr int64_t kMaxCollectiveBytes = int64_t{1} << 50;
constexpr double kMaxMicroseconds = 1e12;

struct LogLine {
  int32_t number = 0;
  std::string text;
  std::vector<std::string> words;
};

Error BadLog(const LogLine& line, std::string message, std::string remedy = "") {
  if (remedy.empty()) remedy = "Give the whole output of a test of nccl-tests, unchanged.";
  return MakeError(ErrorCode::kField, std::move(message), fmt::format("line {}", line.number),
                   std::move(remedy));
}

// Without what launchers put before a line.
std::vector<LogLine> LinesOfLog(std::string_view text) {
  static const std::regex kLauncher(R"(^\s*(\[\d+,\d+\]<std(out|err)>:|\d+: ))");
  std::vector<LogLine> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    LogLine line{static_cast<int32_t>(lines.size()) + 1, std::string(text.substr(0, end)), {}};
    if (line.text.size() <= kMaxLine) line.text = std::regex_replace(line.text, kLauncher, "");
    line.words = WordsOfLine(line.text);
    lines.push_back(std::move(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

template <class Number>
std::optional<Number> NumberOf(const std::string& word) {
  Number number{};
  const auto [rest, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failure != std::errc() || rest != word.data() + word.size()) return std::nullopt;
  return number;
}

class LogReader {
 public:
  explicit LogReader(std::optional<CollectiveKind> kind) : kind_(kind) {}

  Result<NcclTestsLog> Read(std::string_view text) {
    const std::vector<LogLine> lines = LinesOfLog(text);
    for (const LogLine& line : lines) PW_RETURN_IF_ERROR(Take(line));
    const LogLine end{static_cast<int32_t>(lines.size()), "", {}};
    if (times_.empty()) return BadLog(end, "there are no times of a collective by size");
    if (!kind_) {
      return BadLog(end, "the log does not name its test",
                    "Name the collective before the file: --nccl-tests all-reduce=FILE.");
    }
    if (log_.ranks.size() < 2) {
      return BadLog(end, fmt::format("a collective is of two ranks or more, and the log has {}",
                                     log_.ranks.size()));
    }
    log_.kind = *kind_;
    for (auto& [size, times] : times_) {
      std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2),
                       times.end());
      const int64_t all = *kind_ == CollectiveKind::kAllToAll
                              ? SaturatingMultiply(size, static_cast<int64_t>(log_.ranks.size()))
                              : size;
      log_.sizes.push_back(
          {Bytes(all), times[times.size() / 2], iterations_ * static_cast<int64_t>(times.size())});
    }
    return std::move(log_);
  }

 private:
  Status Take(const LogLine& line) {
    if (line.words.empty() || line.text.size() > kMaxLine) return Ok();
    if (line.words.front().front() != '#') return TakeTime(line);
    static const std::regex kTest(R"(^#\s*Collective test starting: (\w+)_perf)");
    static const std::regex kRank(
        R"(Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s+(.*\S))");
    std::smatch found;
    if (std::regex_search(line.text, found, kTest)) return TakeTest(line, found[1]);
    if (std::regex_search(line.text, found, kRank)) {
      if (!numbers_.insert(found[1]).second) {
        return BadLog(line, fmt::format("there are two ranks {}", std::string(found[1])),
                      "nccl-tests was built without MPI, so that every process measured alone: "
                      "build it with `make MPI=1`.");
      }
      log_.ranks.push_back({found[2], found[3]});
      return Ok();
    }
    const auto iterations = std::find(line.words.begin(), line.words.end(), "iters:");
    // "warmup iters: 5 iters: 20": the last one.
    for (auto at = iterations; at != line.words.end() && at + 1 != line.words.end(); ++at) {
      if (*at == "iters:" && at != line.words.begin() && *(at - 1) != "warmup" &&
          *(at - 1) != "agg") {
        iterations_ = NumberOf<int64_t>(*(at + 1)).value_or(iterations_);
      }
    }
    const auto size = std::find(line.words.begin(), line.words.end(), "size");
    const auto time = std::find(line.words.begin(), line.words.end(), "time");
    if (size != line.words.end() && time != line.words.end() && size < time) {
      // Of the words behind "#".
      time_column_ = static_cast<size_t>(time - size);
    }
    return Ok();
  }

  Status TakeTest(const LogLine& line, std::string test) {
    std::replace(test.begin(), test.end(), '_', '-');
    if (test == "alltoall") test = ToString(CollectiveKind::kAllToAll);
    std::optional<CollectiveKind> named;
    for (const CollectiveKind kind : kCollectiveKinds) {
      if (ToString(kind) == test) named = kind;
    }
    if (!named) {
      return BadLog(line, fmt::format("\"{}\" is no collective of a step", Printable(test, 40)),
                    "Give logs of all_reduce_perf, all_gather_perf, reduce_scatter_perf, "
                    "broadcast_perf or alltoall_perf.");
    }
    if (kind_ && *kind_ != *named) {
      return BadLog(
          line, fmt::format("the log is of {} and not of {}", ToString(*named), ToString(*kind_)));
    }
    if (!times_.empty()) {
      return BadLog(line, "a second test begins", "Give the log of each test in a file.");
    }
    kind_ = named;
    return Ok();
  }

  // "  1048576  262144  float  sum  -1  27.76  37.78  66.11  0 ..." Other lines are of programs beside it.
  Status TakeTime(const LogLine& line) {
    const auto size = NumberOf<int64_t>(line.words.front());
    if (!time_column_ || !size || line.words.size() < 4 || !NumberOf<int64_t>(line.words[1])) {
      return Ok();
    }
    if (line.words.size() <= *time_column_) return BadLog(line, "the line has no time");
    const auto time = NumberOf<double>(line.words[*time_column_]);
    if (!time || !std::isfinite(*time) || *time < 0 || *time > kMaxMicroseconds || *size < 0 ||
        *size > kMaxCollectiveBytes) {
      return BadLog(line, fmt::format("\"{}\" is no time in microseconds",
                                      Printable(line.words[*time_column_], 40)));
    }
    if (*size > 0 && *time > 0) times_[*size].push_back(Nanos(std::llround(*time * 1000)));
    return Ok();
  }

  NcclTestsLog log_;
  std::optional<CollectiveKind> kind_;
  std::set<std::string> numbers_;  // of ranks
  std::map<int64_t, std::vector<Nanos>> times_;
  std::optional<size_t> time_column_;
  int64_t iterations_ = 1;
};

}  // namespace

Result<NcclTestsLog> ParseNcclTestsLog(std::string_view text, std::optional<CollectiveKind> kind) {
  if (text.size() > kMaxLogBytes) {
    return MakeError(ErrorCode::kFileTooLarge,
                     fmt::format("a log of more than {}", FormatBytes(Bytes(kMaxLogBytes))), "",
                     "Give the output of a test of nccl-tests alone.");
  }
  return LogReader(kind).Read(text);
}

}  // namespace placewright
