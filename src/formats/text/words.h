// The words of a line of a log.
#ifndef PLACEWRIGHT_FORMATS_TEXT_WORDS_H_
#define PLACEWRIGHT_FORMATS_TEXT_WORDS_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

// What stands between spaces, tabs and carriage returns.
inline std::vector<std::string> WordsOfLine(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string> words;
  for (size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_TEXT_WORDS_H_
