// Small text helpers with one meaning for the whole program.
#ifndef PLACEWRIGHT_BASE_TEXT_H_
#define PLACEWRIGHT_BASE_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

namespace placewright {

// Shell-style match of the whole text: '*' any run (dots and slashes too), '?' one character,
// '[...]' a set. Linear in text for each '*': no exponential patterns.
bool GlobMatch(std::string_view pattern, std::string_view text);

// Levenshtein distance, adjacent transpositions counted as one; inputs are cut at 64 characters.
int EditDistance(std::string_view a, std::string_view b);

// The candidates nearest to `name`, at most three; empty when none is near. In lower case, without
// wildcards around `name`, the whole candidate or an end of it behind '/' or '.' (gpu0: host0/gpu0)
// is within EditDistance 1 for up to four characters, 2 for up to eight, else a third of its
// length, or begins with all of a name of 2 characters or more, or 3/4 of it (V1000: V100-16GB).
std::vector<std::string> NearNames(std::string_view name,
                                   const std::vector<std::string>& candidates);

// " (did you mean a, b?)" or "".
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

// Text as a terminal may show it: control characters (C1, too) become '?', cut at `limit` bytes.
std::string Printable(std::string_view text, size_t limit = 200);

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_TEXT_H_
