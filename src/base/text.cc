#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

namespace placewright {
namespace {

// Matches one pattern element at `p` against `c`; sets `next` to the element after it.
bool MatchOne(std::string_view pattern, size_t p, char c, size_t& next) {
  if (pattern[p] == '?') {
    next = p + 1;
    return true;
  }
  if (pattern[p] == '[') {
    const size_t close = pattern.find(']', p + 2);
    if (close != std::string_view::npos) {
      bool negate = pattern[p + 1] == '!' || pattern[p + 1] == '^';
      bool hit = false;
      for (size_t i = p + 1 + (negate ? 1 : 0); i < close; ++i) {
        if (i + 2 < close && pattern[i + 1] == '-') {
          hit |= pattern[i] <= c && c <= pattern[i + 2];
          i += 2;
        } else {
          hit |= pattern[i] == c;
        }
      }
      next = close + 1;
      return hit != negate;
    }
  }
  next = p + 1;
  return pattern[p] == c;
}

char LowerCase(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Characters that both begin with, in either case.
int CommonPrefix(std::string_view a, std::string_view b) {
  size_t length = 0;
  while (length < std::min(a.size(), b.size()) && LowerCase(a[length]) == LowerCase(b[length])) {
    ++length;
  }
  return static_cast<int>(length);
}

}  // namespace

bool GlobMatch(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    size_t next = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && MatchOne(pattern, p, text[t], next)) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

int EditDistance(std::string_view a, std::string_view b) {
  a = a.substr(0, 64);
  b = b.substr(0, 64);
  std::array<std::array<int, 65>, 65> d{};
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substitution = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::vector<std::string> NearNames(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  using Key = std::tuple<int, int, std::string>;  // distance without what follows, distance, name
  std::vector<Key> near;
  const int length = static_cast<int>(name.size());
  const int limit = std::max(2, length / 3);
  for (const std::string& candidate : candidates) {
    if (candidate.empty()) continue;  // nothing that a user could type
    const int distance = EditDistance(name, candidate);
    const int common = CommonPrefix(name, candidate);
    const bool begins = common == length ? length >= 2 : common >= 3 && 4 * common >= 3 * length;
    if (!begins && distance > limit) continue;
    near.emplace_back(begins ? std::min(distance, length - common) : distance, distance, candidate);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < near.size() && i < 3; ++i) names.push_back(std::get<2>(near[i]));
  return names;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::vector<std::string> near = NearNames(name, candidates);
  if (near.empty()) return "";
  std::string text = " (did you mean ";
  for (size_t i = 0; i < near.size(); ++i) text += (i ? ", " : "") + near[i];
  return text + "?)";
}

std::string Printable(std::string_view text, size_t limit) {
  // Never within a character of UTF-8.
  while (limit > 0 && limit < text.size() && (static_cast<uint8_t>(text[limit]) & 0xc0) == 0x80) {
    --limit;
  }
  std::string out;
  const std::string_view kept = text.substr(0, limit);
  for (size_t i = 0; i < kept.size(); ++i) {
    const auto c = static_cast<uint8_t>(kept[i]);
    const auto next = static_cast<uint8_t>(i + 1 < kept.size() ? kept[i + 1] : 0);
    const bool c1 = c == 0xc2 && 0x80 <= next && next <= 0x9f;
    out += c1 || c < 0x20 || c == 0x7f ? '?' : kept[i];
    if (c1) ++i;
  }
  if (text.size() > limit) out += "...";
  return out;
}

}  // namespace placewright
