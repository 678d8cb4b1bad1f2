// Partial sums: what shares they have, and when nothing is left out.
//
// A share of a facet's sum is what one interval of the axes that are summed over adds to it: all instances with that
// interval make it, in their part of the tensor. Shares are added up once each; together they are all of the sum once
// their intervals cover these axes. An op that is linear in several inputs together makes shares of a sum of its own,
// which is complete once the shares of each input are.
#ifndef CHECK_PLAN_DISTRIBUTED_SUMS_H_
#define CHECK_PLAN_DISTRIBUTED_SUMS_H_

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "check_plan/distributed/facets.h"
#include "check_plan/distributed/held.h"

namespace placewright::check {

class Sums {
 public:
  struct Share {
    Cut cut;     // of the axes that are summed over; whole where there are none
    OpId alone;  // where the cut is somewhere: the instance, which no other is known to equal
    std::vector<Addend> inputs;  // that the op takes as shares
    friend bool operator==(const Share&, const Share&) = default;
  };
  // Over these axes, with their elements.
  struct Over {
    std::vector<RuleAxisId> axes;
    int64_t elements = 1;
    friend bool operator==(const Over&, const Over&) = default;
  };
  Addend Contribute(FacetId facet, const Over& over, Share share);

  enum class Fault : uint8_t {
    kNone,
    kTwice,   // a share, or all of it, enters twice
    kForeign  // shares of different sums
  };
  struct Total {
    Addend addend;
    Fault fault = Fault::kNone;
  };
  // What is added up of the same sum for the first time costs O(n log n) in the shares on meshes.
  Total Add(std::span<const Addend> addends);

 private:
  struct Sum {
    FacetId facet;
    Over over;
    std::vector<Share> shares;
  };
  struct State {
    Fault fault = Fault::kNone;
    bool complete = false;
  };
  State StateOf(int32_t sum, const std::vector<int32_t>& shares);
  State StateOfCuts(const Sum& sum, const std::vector<int32_t>& shares) const;
  State StateOfInputs(const Sum& sum, const std::vector<int32_t>& shares);

  std::vector<Sum> sums_;
  std::map<FacetId, std::vector<int32_t>> sums_of_;
  std::map<std::pair<int32_t, std::vector<int32_t>>, State> states_;
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_SUMS_H_
