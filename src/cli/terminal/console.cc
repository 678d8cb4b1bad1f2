#include "cli/terminal/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace placewright {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The locale that decides about characters: the first variable that is set, as in POSIX.
bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = Environment(name);
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

// Length of a colour sequence ("\x1b[" digits "m") at the begin of `text`, or 0.
size_t ColorSequence(std::string_view text) {
  if (text.size() < 3 || text[0] != '\x1b' || text[1] != '[') return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

// The last line of defence behind Printable, which all code that prints a name applies: whatever
// could move the cursor or rename the window becomes '?', and so do colours where none are wanted.
std::string Harmless(std::string_view text, bool color_wanted) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t color = color_wanted ? ColorSequence(text.substr(i)) : 0;
    if (color > 0) {
      out += text.substr(i, color);
      i += color - 1;
    } else {
      out += (c < 0x20 && c != '\n') || c == 0x7f ? '?' : text[i];
    }
  }
  return out;
}

// Columns of an output: COLUMNS where it is set, else those of the terminal; 0: no limit.
int WidthOf(int output) {
  const int64_t asked = std::strtoll(Environment("COLUMNS").c_str(), nullptr, 10);
  constexpr int64_t kMin = 20, kMax = 10000;
  if (asked >= kMin && asked <= kMax) return static_cast<int>(asked);
  struct winsize size {};
  if (ioctl(output, TIOCGWINSZ, &size) != 0 || size.ws_col < kMin) return 0;
  return size.ws_col;
}

}  // namespace

Console::Console() {
  const std::string terminal = Environment("TERM");
  const bool wants_color = Environment("NO_COLOR").empty() && terminal != "dumb";
  style_.utf8 = error_style_.utf8 = LocaleIsUtf8();
  style_.color = wants_color && isatty(STDOUT_FILENO) != 0;
  error_style_.color = wants_color && isatty(STDERR_FILENO) != 0;
  style_.width = WidthOf(STDOUT_FILENO);
  error_is_terminal_ = isatty(STDERR_FILENO) != 0 && terminal != "dumb";
  // Scripts that read notes and errors find each on its line, whatever the width.
  if (error_is_terminal_) error_style_.width = WidthOf(STDERR_FILENO);
}

void Console::Print(std::string_view text) {
  if (write_error_ != 0) return;
  const std::string harmless = Harmless(text, style_.color);
  if (std::fwrite(harmless.data(), 1, harmless.size(), stdout) != harmless.size()) {
    write_error_ = errno;
  }
}

void Console::PrintJson(const Json& object) {
  // Names from files may hold anything; bytes that are no UTF-8 are replaced, not thrown about.
  Print(object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

// What was printed before comes before, where both outputs are one file. There is no other place to report that standard
// error cannot be written.
void Console::WriteError(const std::string& text) {
  FlushOutput();
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void Console::FlushOutput() {
  if (std::fflush(stdout) != 0 && write_error_ == 0) write_error_ = errno;
}

void Console::Note(std::string_view text) {
  if (quiet) return;
  Progress("");
  WriteError(Wrap(fmt::format("placewright: {}\n", Printable(text, 2000)), error_style_));
}

void Console::PrintError(const Error& error) {
  Progress("");
  if (json) {
    PrintJson(ErrorToJson(error));
    return;
  }
  WriteError(
      Wrap(fmt::format("placewright: {} {}\n  {}\n", Paint("error:", Tone::kBad, error_style_),
                       Printable(error.ToString(), 2000), Printable(error.Remedy(), 2000)),
           error_style_));
}

void Console::Progress(std::string_view text) {
  if (!ShowsProgress() || (text.empty() && !progress_shown_)) return;
  // A second line of the terminal would stay when the next text replaces this one.
  const std::string first =
      error_style_.width > 0 ? FirstColumns(text, error_style_.width - 1) : std::string(text);
  WriteError(fmt::format("\r\x1b[K{}", first));
  progress_shown_ = !text.empty();
}

void Console::Progress(Clock::time_point since, std::string_view text) {
  const double seconds = std::chrono::duration<double>(Clock::now() - since).count();
  Progress(fmt::format("{:5.1f} s  {}", seconds, text));
}

Status Console::Finish() {
  Progress("");
  FlushOutput();
  if (write_error_ == 0 || write_error_ == EPIPE) return Ok();
  Error error = MakeError(ErrorCode::kFileUnwritable,
                          fmt::format("cannot write: {}", std::strerror(write_error_)));
  error.file = "standard output";
  return error;
}

Json ErrorToJson(const Error& error, std::string_view place) {
  Json body;
  body["code"] = InfoOf(error.code).name;
  body["message"] = error.message;
  body["file"] = error.file;
  body["place"] = error.place.empty() ? place : error.place;
  body["remedy"] = error.Remedy();
  Json object;
  object["schema"] = "placewright.error/1";
  object["error"] = std::move(body);
  return object;
}

}  // namespace placewright
