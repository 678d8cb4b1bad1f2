// Names in a table whose rows hold for several: one text for a row, with spaces between the names.
#ifndef PLACEWRIGHT_BASE_WORDS_H_
#define PLACEWRIGHT_BASE_WORDS_H_

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/check.h"

namespace placewright {

// What single spaces part; points into `text`.
inline std::vector<std::string_view> WordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// The row of a constant table that has a word; no two rows have the same one.
template <typename Row>
class RowsByWord {
 public:
  RowsByWord(std::span<const Row> rows, std::string_view Row::*words) {
    for (const Row& row : rows) {
      for (const std::string_view word : WordsOf(row.*words)) {
        PW_CHECK(!word.empty() && rows_.emplace(word, &row).second);
      }
    }
  }

  const Row* Find(std::string_view word) const {  // nullptr: none
    const auto row = rows_.find(word);
    return row == rows_.end() ? nullptr : row->second;
  }

 private:
  std::unordered_map<std::string_view, const Row*> rows_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_WORDS_H_
