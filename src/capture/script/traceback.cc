#include "capture/script/traceback.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/text.h"

namespace placewright {
namespace {

constexpr size_t kLongestPath = 200, kLongestCode = 100, kLongestMessage = 400;

struct Frame {
  std::string_view file, line, code;
};

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// Of PyTorch's own functions, whether they came as a file or as code in a module.
bool IsLibrary(std::string_view file) {
  return file.find("-packages/torch/") != file.npos || file.starts_with("code/__torch__/torch/");
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// `  File "net.py", line 11, in forward`, as scripted code has it.
bool ReadScripted(std::string_view line, Frame& frame) {
  constexpr std::string_view kBegin = "  File \"", kMiddle = "\", line ";
  const size_t middle = line.find(kMiddle);
  if (!line.starts_with(kBegin) || middle == line.npos) return false;
  const std::string_view rest = line.substr(middle + kMiddle.size());
  frame = {line.substr(kBegin.size(), middle - kBegin.size()), rest.substr(0, rest.find(',')), ""};
  return IsNumber(frame.line);
}

// `net.py(11): forward`, as traced code has it.
bool ReadTraced(std::string_view line, Frame& frame) {
  const size_t close = line.rfind("): ");
  const size_t open = line.rfind('(', close);
  if (close == line.npos || open == line.npos || open == 0 || line[0] == ' ') return false;
  frame = {line.substr(0, open), line.substr(open + 1, close - open - 1), ""};
  return IsNumber(frame.line);
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The innermost first.
std::vector<Frame> FramesOf(std::string_view text) {
  std::vector<Frame> scripted, traced;
  std::string_view previous;
  for (const std::string_view line : LinesOf(text)) {
    Frame frame;
    if (ReadScripted(line, frame)) {
      scripted.insert(scripted.begin(), frame);
    } else if (!scripted.empty() && line.ends_with("<--- HERE")) {
      scripted.front().code = Trimmed(previous);
    } else if (ReadTraced(line, frame)) {
      traced.push_back(frame);
    }
    previous = line;
  }
  return scripted.empty() ? traced : scripted;
}

std::string Describe(const Frame& frame) {
  std::string text = fmt::format("{} line {}", Printable(frame.file, kLongestPath), frame.line);
  std::string_view code = frame.code;
  if (code.ends_with(':')) code.remove_suffix(1);
  if (!code.empty()) text += ": " + Printable(code, kLongestCode);
  return text;
}

}  // namespace

std::string PlaceInCode(const std::string& traceback) {
  const size_t original = traceback.find("Traceback of TorchScript, original code");
  const std::string_view text = traceback;
  std::vector<Frame> frames;
  if (original != traceback.npos) frames = FramesOf(text.substr(original));
  if (frames.empty()) frames = FramesOf(text.substr(0, original));
  for (const Frame& frame : frames) {
    if (!IsLibrary(frame.file)) return Describe(frame);
  }
  return frames.empty() ? "" : Describe(frames.front());
}

std::string RaisedMessage(const std::string& traceback) {
  static const std::string kOwn = "RuntimeError: ";  // before every message, of whatever type
  size_t begin = traceback.rfind("Error: ");
  if (begin == traceback.npos) {
    begin = std::min(traceback.find_first_not_of('\n'), traceback.size());
  } else {
    begin = traceback.rfind('\n', begin) + 1;
    if (traceback.compare(begin, kOwn.size(), kOwn) == 0) begin += kOwn.size();
  }
  return Printable(traceback.substr(begin, traceback.find('\n', begin) - begin), kLongestMessage);
}

}  // namespace placewright
