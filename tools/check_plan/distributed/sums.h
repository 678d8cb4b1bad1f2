// Partial sums: which instances contribute to which, and when nothing is left out.
//
// A sum belongs to an op of the original (and, where its instances compute parts of partial sums, to one of
// these parts). It is complete with one share of each instance that contributes, once all instances of the
// op have been looked at.
#ifndef CHECK_PLAN_DISTRIBUTED_SUMS_H_
#define CHECK_PLAN_DISTRIBUTED_SUMS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "check_plan/distributed/held.h"

namespace placewright::check {

class Sums {
 public:
  // `instances_of`: how many each op of the original has.
  explicit Sums(const IdVector<OpId, int32_t>& instances_of) : left_(instances_of) {}

  // The sum of that op in that part of it.
  int32_t SumOf(OpId origin, const Part& part);
  // The instance contributes; it is the addend that its outputs then are.
  Addend Contribute(int32_t sum, OpId instance);
  // One more instance of the op has been looked at.
  void Finish(OpId origin) { --left_[origin]; }

  OpId origin(int32_t sum) const { return sums_[static_cast<size_t>(sum)].origin; }

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
    OpId origin;
    Part part;
    std::vector<OpId> instances;
  };
  bool IsComplete(const Addend& addend) const;

  std::vector<Sum> sums_;
  IdVector<OpId, std::vector<int32_t>> sums_of_;
  IdVector<OpId, int32_t> left_;
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_SUMS_H_
