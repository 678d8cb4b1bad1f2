#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
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

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = LowerCase(c);
  return lower;
}

// Characters that both begin with.
int CommonPrefix(std::string_view a, std::string_view b) {
  size_t length = 0;
  while (length < std::min(a.size(), b.size()) && a[length] == b[length]) ++length;
  return static_cast<int>(length);
}

// How many edits of a name of that length still look like a slip of the hand.
int EditLimit(int length) { return length < 2 ? 0 : length < 5 ? 1 : std::max(2, length / 3); }

// What of a glob is a name: "*.embeddings*" is about "embeddings".
std::string_view WithoutOuterWildcards(std::string_view name) {
  const size_t first = name.find_first_not_of("*./");
  if (first == std::string_view::npos) return name;
  return name.substr(first, name.find_last_not_of("*./") + 1 - first);
}

// (edits without what follows, edits), the minimum over the whole candidate and its ends behind a
// separator ("host0/gpu0", "gpu0"); none where all are far. Both in lower case.
std::optional<std::pair<int, int>> Nearness(std::string_view name, std::string_view candidate) {
  const int length = static_cast<int>(name.size());
  const int limit = EditLimit(length);
  std::optional<std::pair<int, int>> nearest;
  for (size_t begin = 0; begin < candidate.size(); ++begin) {
    if (begin > 0 && candidate[begin - 1] != '/' && candidate[begin - 1] != '.') continue;
    const std::string_view end = candidate.substr(begin);
    const int common = CommonPrefix(name, end);
    // Three letters are the beginning of many words.
    const bool begins = common == length ? length >= 2 : common >= 4 && 4 * common >= 3 * length;
    const int longer = static_cast<int>(end.size()) - length;
    if (!begins && std::abs(longer) > limit) continue;
    const int distance = EditDistance(name, end);
    if (!begins && distance > limit) continue;
    const std::pair<int, int> key{begins ? std::min(distance, length - common) : distance,
                                  distance + (begin > 0 ? 1 : 0)};
    if (!nearest || key < *nearest) nearest = key;
  }
  return nearest;
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
  const std::string wanted = LowerCase(WithoutOuterWildcards(name));
  std::vector<std::pair<std::pair<int, int>, std::string>> near;
  for (const std::string& candidate : candidates) {
    const auto key = Nearness(wanted, LowerCase(candidate));
    if (key) near.emplace_back(*key, candidate);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> names;
  for (auto& [key, candidate] : near) {
    if (names.size() == 3 || key.first > near.front().first.first) break;
    names.push_back(std::move(candidate));
  }
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
