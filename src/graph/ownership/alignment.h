// Two orders of the same things, the second nearly the reverse of the first: which belong together?
// A part of DifferentiatedOps.
#ifndef PLACEWRIGHT_GRAPH_OWNERSHIP_ALIGNMENT_H_
#define PLACEWRIGHT_GRAPH_OWNERSHIP_ALIGNMENT_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "graph/csr.h"

namespace placewright {

struct PositionMatch {
  int32_t position;
  int32_t weight;  // positive
};

constexpr int32_t kUnmatched = -1;

// candidates[r]: the positions in [0, positions) that row r may have, each once. Gives each row one
// of them or kUnmatched, so that positions never increase with the row and the sum of their weights
// is the greatest.
// Complexity: O(n log positions) for n candidates; 12 bytes each.
std::vector<int32_t> HeaviestDescent(const std::vector<std::vector<PositionMatch>>& candidates,
                                     size_t positions);

// The same for `rows` rows that may have any of the positions first, first - 1, ..., last.
// `weight(row, position)`: 0 where they do not match.
// Complexity: rows * (first - last + 1) weights and bytes; nothing is matched beyond 2^16 of them.
std::vector<int32_t> DenseDescent(size_t rows, int32_t first, int32_t last,
                                  const std::function<int32_t(size_t, int32_t)>& weight);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_OWNERSHIP_ALIGNMENT_H_
