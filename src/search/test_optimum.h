// For tests: small problems whose optimum brute force knows. A learned planner is to find it from
// nearly every seed, where as many placements drawn uniformly hardly ever hold it.
#ifndef PLACEWRIGHT_SEARCH_TEST_OPTIMUM_H_
#define PLACEWRIGHT_SEARCH_TEST_OPTIMUM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "search/planner.h"

namespace placewright {

struct SmallCase {
  uint64_t seed = 0;
  bool tight = false;  // no device holds everything
  std::string name() const { return std::to_string(seed) + (tight ? "tight" : ""); }
};
// Those that tests try.
std::vector<SmallCase> SmallCases();

// Expects that 9 of 10 seeds find the optimum within 6,000 placements, and that uniform sampling
// does from at most 2.
void ExpectFindsOptimum(const Planner& planner, const SmallCase& small);

// How many of ten seeds find the optimum of such a problem of `ops` ops within `samples` placements.
int SeedsThatFindOptimum(const Planner& planner, const SmallCase& small, int ops, int64_t samples);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TEST_OPTIMUM_H_
