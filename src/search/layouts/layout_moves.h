// The changes of a distributed step that a search tries (internal to the module).
//
//   unit         one unit's groups get another layout: a device, samples or another axis shared out evenly or
//                by speed, or everything on several devices
//   axis         what an axis of the model's layers splits (model_structure.h) is split by it
//   servers      the parameters of a unit, with their state and update, each on one device in turn
//   layout       all groups of one layout get another
//   shares       of a layout some samples go from one device to another
//   how          buckets for AllReduce, or Broadcast, or neither
//
// A unit is one colocation group, or several that TAG's grouping takes for one (sec. 4.1.1): both grains are
// tried, the coarse one first. FlexFlow's moves (sec. 6.1), which give one op another device and degree of
// parallelism, are those of single groups.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_MOVES_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_MOVES_H_

#include <optional>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "search/layouts/layout_state.h"
#include "search/problem/problem.h"

namespace placewright {

class LayoutMoves {
 public:
  // Both must outlive it, as `book`. Errors: those of TagGroups and DevicesToSplitOver.
  static Result<LayoutMoves> Make(const Problem& problem, LayoutBook& book);

  // Whether every group may be where the state has it: by what devices support, --pin, --forbid and --colocate.
  bool MayBe(const LayoutState& state) const;
  // A neighbour of `state`, that may be; none where what was drawn changes nothing or may not be.
  // `single`: of units single groups alone.
  std::optional<LayoutState> Draw(const LayoutState& state, bool single, Random& random);
  // Everything on the first device where it may be, and the samples shared out among every set of devices in question, evenly
  // and by speed: where there are no better starts.
  std::vector<LayoutState> PlainStates();
  // The same layouts with AllReduce in buckets or not, with Broadcast or without.
  static std::vector<LayoutState> OtherWaysOf(const LayoutState& state);

 private:
  LayoutMoves(const Problem& problem, LayoutBook& book);
  Status FindUnits();
  Status FindLayouts();
  void FindDeviceSets(const std::vector<DeviceId>& devices);
  void FindAllowed();
  void AddSplits(AxisId axis);
  void AddModelAxes();

  bool MayBe(GroupId group, LayoutId layout) const;
  void Set(const std::vector<GroupId>& groups, LayoutId layout, LayoutState& state) const;
  bool MoveUnit(LayoutState& state, bool single, Random& random);
  bool SplitByAxis(LayoutState& state, Random& random);
  bool Serve(LayoutState& state, bool single, Random& random);
  bool Replace(LayoutState& state, Random& random);
  bool ShiftShares(LayoutState& state, Random& random);
  bool ChangeHow(LayoutState& state, Random& random) const;
  const std::vector<GroupId>& DrawUnit(bool single, Random& random) const;
  LayoutId DrawLayout(const LayoutState& state, Random& random) const;

  const Problem& problem_;
  const LayoutProblem& layouts_;
  LayoutBook& book_;
  std::vector<std::vector<GroupId>> units_;       // coarse
  std::vector<std::vector<GroupId>> singles_;     // one each, or those that --colocate joins
  IdVector<GroupId, std::vector<bool>> allowed_;  // by device; empty: everywhere
  IdVector<GroupId, bool> whole_;                 // joined with others: on one device
  std::vector<GroupId> parameters_;               // groups that hold some, in their order
  std::vector<std::vector<DeviceId>> sets_;
  std::vector<LayoutId> candidates_;
  bool equal_ = false;  // the devices to split over
  // Of an axis of the model's layers: the layouts that split it, and the groups with an op that they split.
  struct ModelAxis {
    std::vector<LayoutId> layouts;
    std::vector<GroupId> groups;
  };
  std::vector<std::vector<ModelAxis>> model_axes_;  // of layers that are alike
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_MOVES_H_
