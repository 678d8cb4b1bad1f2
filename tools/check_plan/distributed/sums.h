// Partial sums: which instances contribute to which, and when nothing is left out.
//
// A sum belongs to a facet (and, where its instances compute parts of partial sums, to one of these parts). It
// is complete with one share of each instance that contributes, once all instances of the facet have been
// looked at.
#ifndef CHECK_PLAN_DISTRIBUTED_SUMS_H_
#define CHECK_PLAN_DISTRIBUTED_SUMS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "check_plan/distributed/facets.h"
#include "check_plan/distributed/held.h"

namespace placewright::check {

class Sums {
 public:
  // `instances_of`: how many each facet has.
  explicit Sums(const IdVector<FacetId, int32_t>& instances_of) : left_(instances_of) {}

  // The sum of that facet in that part of it.
  int32_t SumOf(FacetId facet, const Cut& cut);
  // The instance contributes; it is the addend that its outputs then are.
  Addend Contribute(int32_t sum, OpId instance);
  // One more instance of the facet has been looked at.
  void Finish(FacetId facet) { --left_[facet]; }

  enum class Fault : uint8_t {
    kNone,
    kTwice,   // a share, or all of it, enters twice
    kForeign  // shares of different sums
  };
  struct Total {
    Addend addend;
    Fault fault = Fault::kNone;
  };
  // O(n log n) in the shares.
  Total Add(std::span<const Addend> addends) const;
  // How many shares are missing in a sum.
  size_t MissingIn(const Addend& addend) const;

 private:
  struct Sum {
    FacetId facet;
    Cut cut;
    std::vector<OpId> instances;
  };
  bool IsComplete(const Addend& addend) const;

  std::vector<Sum> sums_;
  IdVector<FacetId, std::vector<int32_t>> sums_of_;
  IdVector<FacetId, int32_t> left_;
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_SUMS_H_
