#include "runtime/process/abort_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace placewright {
namespace {

constexpr char kSeparator = '\x1f';  // in no message: they are printable

std::vector<std::string> PartsOf(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == kSeparator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

std::string AbortText::Text() const {
  return fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6}{0}{7}", kSeparator, rank, host,
                     InfoOf(error.code).name, error.message, error.file, error.place, error.remedy);
}

AbortText AbortText::Parse(const std::string& text) {
  const std::vector<std::string> parts = PartsOf(text);
  AbortText made;
  if (parts.size() != 7) {
    made.error.message = text;
    return made;
  }
  made.rank = std::atoi(parts[0].c_str());
  made.host = parts[1];
  for (const ErrorInfo& info : AllErrors()) {
    if (info.name == parts[2]) made.error.code = info.code;
  }
  made.error.message = parts[3];
  made.error.file = parts[4];
  made.error.place = parts[5];
  made.error.remedy = parts[6];
  return made;
}

Error AbortText::AsError(int32_t reader) const {
  Error made = error;
  if (rank < 0 || rank == reader) return made;
  made.message = fmt::format("rank {} on {} has ended the run: {}", rank, host, error.message);
  return made;
}

std::string Published::Text() const {
  std::string text = host;
  for (const auto& [name, value] : facts) {
    text += kSeparator + name;
    text += kSeparator + value;
  }
  return text;
}

Published Published::Parse(const std::string& text) {
  const std::vector<std::string> parts = PartsOf(text);
  Published made{parts[0], {}};
  for (size_t i = 1; i + 1 < parts.size(); i += 2) made.facts.emplace_back(parts[i], parts[i + 1]);
  return made;
}

std::string Published::Difference(const Published& theirs, int32_t rank) const {
  for (const auto& [name, value] : facts) {
    const auto found = std::find_if(theirs.facts.begin(), theirs.facts.end(),
                                    [&](const auto& fact) { return fact.first == name; });
    const std::string other = found == theirs.facts.end() ? "none" : found->second;
    if (other == value) continue;
    return fmt::format("the ranks differ in {}: rank {} on {} has {}, rank 0 on {} has {}", name,
                       rank, theirs.host, other, host, value);
  }
  return "";
}

}  // namespace placewright
