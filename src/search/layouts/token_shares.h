// How many tokens each of several devices has, where under a causal mask the last ones take most: a query sees the keys
// up to its own.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_TOKEN_SHARES_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_TOKEN_SHARES_H_

#include <cstdint>
#include <vector>

namespace placewright {

// Where the parts of [0, tokens) end, such that each takes as long. With x of all tokens, counted from the first, behind
// them attention has taken x^2 of its whole time `causal`, and all else x of `rest`: part i of `parts` ends where
// causal x^2 + rest x = (i / parts) (causal + rest). Ends are multiples of up to 64 tokens, as kernels have them, where
// there are enough for that; every part has one token or more. Precondition: 1 <= parts <= tokens, times >= 0, one > 0.
std::vector<int64_t> EndsOfEqualWork(int64_t tokens, int64_t parts, double causal, double rest);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_TOKEN_SHARES_H_
