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

// The candidates near `name`, nearest first, at most three; empty when none is near. Near: within a
// third of its length (at least 2) in EditDistance; or, whatever follows and in either case, all of
// a name of at least 2 characters, or at least 3 characters and 3/4 of it, begin the candidate
// (V1000: V100-16GB).
std::vector<std::string> NearNames(std::string_view name,
                                   const std::vector<std::string>& candidates);

// " (did you mean a, b?)" or "".
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

// Text as a terminal may show it: control characters (C1, too) become '?', cut at `limit` bytes.
std::string Printable(std::string_view text, size_t limit = 200);

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_TEXT_H_
