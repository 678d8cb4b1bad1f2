// Strategies as decisions of units in turn, and the states that they come to (Zhang et al., TAG, sec. 4.2.1 and 4.2.2).
//
// Units are TAG's groups of ops (graph/partition/tag_groups.h), by their time, the longest first. Those that are still to
// be decided have the slice of the first where they may, else that of data parallelism over all devices, which is what
// no decision at all comes to.
//
// A unit that may have none of the slices (constraints hold it to a device of a larger group, say) has each device by
// itself that all of it may be on.
//
// Deviation: the paper does not say in which device group of a set an op without a batch axis runs: on each of them.
#ifndef PLACEWRIGHT_SEARCH_TAG_STRATEGIES_H_
#define PLACEWRIGHT_SEARCH_TAG_STRATEGIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "search/layouts/layout_state.h"
#include "search/layouts/layout_units.h"
#include "search/problem/problem.h"
#include "search/tag/slices.h"

namespace placewright {

class Strategies {
 public:
  // Both must outlive it. Errors: those of DevicesToSplitOver and FindLayoutUnits; kConstraint (a unit that may
  // be nowhere as a whole).
  static Result<std::unique_ptr<Strategies>> Make(const Problem& problem, LayoutBook& book,
                                                  const SliceOptions& options);

  // In the order in which they are decided.
  const std::vector<std::vector<GroupId>>& units() const { return units_; }
  const IdVector<GroupId, int32_t>& unit_of() const {
    return unit_of_;
  }  // -1: of what compiling adds
  const std::vector<Nanos>& unit_times() const {
    return unit_times_;
  }  // of their ops, where each is quickest
  // The devices that slices are of, by group, and what the step takes on each of them.
  const std::vector<std::vector<DeviceId>>& device_groups() const { return device_groups_; }
  const DeviceTimes& device_times() const { return device_times_; }
  const std::vector<Slice>& slices() const { return slices_; }
  // Of slices(): those that a unit may have. A part for each device is asked of model parallelism.
  const std::vector<int32_t>& MayHave(size_t unit) const { return may_have_[unit]; }
  // Of slices(): data parallelism over all devices; where the batch cannot be split, the fastest of them alone.
  int32_t data_parallel() const { return base_; }

  // The slice of each unit, of which the first are decided.
  std::vector<int32_t> SlicesOf(std::span<const int32_t> decided) const;
  // Whether constraints let every group lie so.
  bool MayBe(const LayoutState& state) const { return found_.MayBe(state, book_); }
  // Of a slice for each unit. Groups of no unit (of what compiling adds) lie with the first.
  Result<LayoutState> StateOf(std::span<const int32_t> slices);

 private:
  Strategies(const Problem& problem, LayoutBook& book);
  Status Prepare(const SliceOptions& options);
  Status FindUnits();
  void AddLayouts();
  bool MayHave(size_t unit, int32_t slice) const;
  void AddPlaces(size_t unit);
  void FindBase();
  bool MayHoldAny(DeviceId device) const;
  LayoutId LayoutOf(GroupId group, int32_t slice) const;
  Result<const std::vector<LayoutId>*> ModelParallel(size_t unit, int32_t slice);

  const Problem& problem_;
  const LayoutProblem& layouts_;
  LayoutBook& book_;
  LayoutUnits found_;
  DeviceTimes device_times_;
  std::vector<std::vector<DeviceId>> device_groups_;
  std::vector<std::vector<GroupId>> units_;
  IdVector<GroupId, int32_t> unit_of_;
  std::vector<Nanos> unit_times_;
  std::vector<Slice> slices_;
  int32_t base_ = 0;
  std::vector<LayoutId> layout_of_;             // [slice]; none of model parallelism
  std::vector<LayoutId> placed_on_;             // [device]
  IdVector<GroupId, int32_t> turn_;             // of groups with parameters, else -1
  std::vector<std::vector<int32_t>> may_have_;  // [unit]
  std::vector<std::vector<char>> is_allowed_;   // [unit][slice]
  std::map<std::pair<size_t, int32_t>, std::vector<LayoutId>> cuts_;  // made once they are needed
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_STRATEGIES_H_
