// What an op costs at least however it is split, copied or placed.
//
// An op that is cut along several axes is cut along one, whose elements are those of their product: in what follows n / F
// is the share of these that a part has.
//
// Of an op that is computed in parts of an axis of length F, let t(n) be the time of a part of length n on
// some device. The parts of all devices add up to F, so that weights w_d >= 0 of devices give
//
//   sum over parts of  w_d t(n)  =  sum of  w_d (n / F) (F / n) t(n)  >=  min over d of  w_d * floor(d)
//
// with any floor <= min over n of (F / n) t(n). An op that is whole on several devices costs w_d t(F) on each.
// What this file takes for the floor is the modelled time of the whole op, less 2 ns for what is rounded:
//
// * arithmetic, bytes and the depth of sums of a part are at least n / F of those of the whole: every tensor of
//   a part has n / F of the elements, or all of them (cost/rows);
// * the launch overhead is that of the whole, once for each part;
// * the rate is that of the op's class. Where a part may be of a faster class (a grouped convolution, of which
//   a part may have one group), of the fastest;
// * equal GPUs side by side are taken for slower than one (cost/slowest.h): not counted.
//
// Counted by their bytes alone: ops that are other ops in parts (means; batch norms, of which a part reads its
// elements twice and writes them once, whatever else is emitted), and ops that only move data. Counted by its arithmetic
// alone, which adds up over parts as lengths do: attention under a causal mask, of whose places the first ones see few
// keys. An op that reads
// one storage through several tensors counts the largest of them.
//
// Where ops were measured on a device's kind, a part has what was measured for its signature or what is modelled:
// the smaller of the two floors (measured_parts.h). An op that no axis splits and that reads contiguous tensors,
// none of them views of others, has its own signature everywhere.
#ifndef PLACEWRIGHT_SEARCH_FLOORS_PART_FLOORS_H_
#define PLACEWRIGHT_SEARCH_FLOORS_PART_FLOORS_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "cost/work.h"
#include "search/floors/measured_parts.h"
#include "search/problem/layout_problem.h"

namespace placewright {

class PartFloors {
 public:
  // `problem` must outlive it. O(ops * sorts of devices, and overrides, and rows of their operators that were
  // measured), beside a look at the times of all devices; memory follows the sorts.
  explicit PartFloors(const LayoutProblem& problem);

  // Devices of one sort have the same floors of every op: of each its first device, and whose sort a device is of.
  const std::vector<DeviceId>& firsts() const { return firsts_; }
  size_t sort(DeviceId device) const { return sort_[device]; }

  // Nanoseconds of the whole op, shared out or not, as above; -1: the device cannot compute it.
  int64_t Whole(OpId op, DeviceId device) const { return whole_[Index(op, device)]; }
  // Nanoseconds of any instance of the op, however small its part. 0 of ops of which a part may be computed by
  // several ops, each of which makes some results (batch norms, gradients made apart).
  int64_t Part(OpId op, DeviceId device) const { return part_[Index(op, device)]; }
  // Nanoseconds that every part takes beside its share of the rest: t(n) >= Fixed + n / F (Whole - Fixed). Not
  // where overrides state times.
  int64_t Fixed(OpId op, DeviceId device) const;
  // Whether any op was measured on its kind, so that floors may be of measured times.
  bool Measured(DeviceId device) const {
    return measured_.Any(static_cast<size_t>(problem_.cluster.device(device).kind));
  }
  // The largest number of parts, of all axes together; 1: it cannot be split.
  int64_t parts(OpId op) const { return parts_[op]; }

 private:
  size_t Index(OpId op, DeviceId device) const {
    return op.index() * firsts_.size() + sort_[device];
  }
  void FindSorts();
  int64_t CountParts(OpId op) const;
  Work WorkAtLeast(OpId op) const;
  bool IsExact(OpId op) const;
  bool IsOverridden(OpId op, DeviceId device) const;
  bool MaySignatureDiffer(OpId op) const;
  std::vector<int64_t> Modelled(OpId op) const;  // by kind of device
  void SetFloors(OpId op, DeviceId device, const std::vector<int64_t>& modelled);
  void SetMeasured(OpId op, size_t kind, int64_t& whole, int64_t& part) const;

  const LayoutProblem& problem_;
  const MeasuredParts measured_;
  std::vector<DeviceId> firsts_;
  IdVector<DeviceId, size_t> sort_;
  std::vector<int64_t> whole_, part_;  // op-major, of each sort
  IdVector<OpId, int64_t> parts_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_FLOORS_PART_FLOORS_H_
