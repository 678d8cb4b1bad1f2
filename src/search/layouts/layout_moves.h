// The changes of a distributed step that a search tries (internal to the module).
//
//   kUnitTo..., kGroupTo..., kAlikeTo...
//                           a unit, one colocation group, or all groups that are alike get another layout: a
//                           device, everything on several devices (copies), samples or another axis shared out
//                           evenly or by speed (parts), or the layout of a group beside, or any in use (other).
//                           Devices that are alike are many layouts; ways of their own keep them from crowding
//                           out the others, or others them, where a search learns which are worth drawing
//   kAxis                   what an axis of the model's layers splits (model_structure.h) is split by it, of one
//                           layer or of all that are alike
//   kGroupAxis              the same of one colocation group
//   kAlikeAxis              the same of this group of each layer that is alike
//   kServers                the parameters of a unit or of the step, with their state and update, each on one
//                           device in turn, or split by an axis of their own, or back
//   kUnitServers            the parameters of a unit each on one device in turn, or back
//   kServersAlike           the same of parameters that are alike, or of every second, third or fourth of them
//   kLayout                 all groups of one layout get another
//   kShares                 of a layout some samples go from one device to another
//   kHow                    buckets for AllReduce, or Broadcast, or neither
//
// A unit is several colocation groups that TAG's grouping takes for one (sec. 4.1.1). Groups are alike whose ops
// are of the same types and make results of the same sizes, in the same order: those of equal layers, say.
// FlexFlow's moves (sec. 6.2), which give one op another device and degree of parallelism, are those of single
// groups (kGroup...), by samples, parameters and placement.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_MOVES_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_MOVES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "search/layouts/layout_state.h"
#include "search/layouts/move_chances.h"
#include "search/layouts/move_targets.h"
#include "search/problem/problem.h"

namespace placewright {

class LayoutMoves {
 public:
  // Both must outlive it, as `book`. Errors: those of TagGroups and DevicesToSplitOver.
  static Result<LayoutMoves> Make(const Problem& problem, LayoutBook& book);

  // Whether every group may be where the state has it: by what devices support, --pin, --forbid and --colocate.
  bool MayBe(const LayoutState& state) const;
  // The kinds and how often they are drawn at first; those that change whole units, and one group alone.
  static const MoveChances::Weights kAll, kOfUnits, kOfSingleGroups;
  // A neighbour of `state`, that may be; none where what was drawn changes nothing or may not be.
  std::optional<LayoutState> Draw(const LayoutState& state, MoveKind kind, Random& random);
  // One move from a state, or two.
  struct Neighbour {
    LayoutState state;
    std::vector<MoveKind> kinds;
  };
  // One move, in one of five cases two unless `chances` are for one at a time. None where the first changes nothing
  // or may not be.
  std::optional<Neighbour> Draw(const LayoutState& state, const MoveChances& chances,
                                Random& random);
  // All groups, or about half, a third or a quarter of them, with layouts drawn anew: for when neighbours are known.
  LayoutState Perturbed(const LayoutState& state, Random& random) const;
  // Everything on the first device where it may be, and the samples shared out among every set of devices in
  // question, evenly and by speed: where there are no better starts.
  std::vector<LayoutState> PlainStates();
  // With other shares on the same devices in the place of one of the state's layouts: by speed where they were even, say.
  std::vector<LayoutState> OtherSharesOf(const LayoutState& state, LayoutId old) const;
  // With layers that are alike split by their axis over as many devices as there are in question, evenly: all of
  // them, or one of a few. `choice`: below axis_choices().
  LayoutState WithAxisChoice(const LayoutState& state, size_t choice) const;
  size_t axis_choices() const { return targets_.axis_choices.size(); }
  // Of several, in their order: one in `every` (at least 1), from number `from` on (0: the first).
  struct Some {
    size_t every = 1, from = 0;
  };
  // With parameters that are alike and lie on several devices each on one of these in turn, with their state and
  // update. `choice`: below update_choices(), of which the first have the most bytes.
  LayoutState WithServers(const LayoutState& state, size_t choice);
  // With the updates of `some` of them split instead: each device sums a part of the gradient, and makes that part of
  // the new parameter (Xu et al., arXiv:2004.13336). Evenly over the devices of the layout that most groups have, by the
  // first axis of each parameter that splits its update and has a part for each device; where there is none, or that
  // layout is of one device, all stays. `choice`: as above.
  LayoutState WithSplitUpdates(const LayoutState& state, size_t choice, Some some);
  size_t update_choices() const { return targets_.alike_parameters.size(); }
  // The same layouts with AllReduce in buckets or not, with Broadcast or without.
  static std::vector<LayoutState> OtherWaysOf(const LayoutState& state);

 private:
  LayoutMoves(const Problem& problem, LayoutBook& book, MoveTargets targets);

  void Set(const std::vector<GroupId>& groups, LayoutId layout, LayoutState& state) const;
  bool Change(MoveKind kind, LayoutState& state, Random& random);
  using Way = MoveTargets::Way;
  bool Move(const std::vector<GroupId>& groups, Way way, LayoutState& state, Random& random) const;
  bool MoveOne(const std::vector<std::vector<GroupId>>& of, Way way, LayoutState& state,
               Random& random);
  bool SplitByAxis(LayoutState& state, Random& random);
  bool SplitGroupByAxis(bool everywhere, LayoutState& state, Random& random) const;
  bool ServeUnit(LayoutState& state, Random& random);
  bool ServeWholeUnit(LayoutState& state, Random& random);
  bool ServeAlike(LayoutState& state, Random& random);
  LayoutId DrawSplit(const LayoutState& state, Random& random) const;
  static std::vector<GroupId> SomeOf(const std::vector<GroupId>& groups, Some some);
  LayoutId ServedBy(LayoutId split, size_t turn);
  void SplitUpdate(GroupId group, LayoutId over, LayoutState& state);
  enum class Update : uint8_t { kServed, kSplit, kBack };
  static constexpr std::array kUpdates = {Update::kServed, Update::kSplit, Update::kBack};
  void PutUpdate(GroupId group, Update way, LayoutId split, size_t turn, LayoutState& state);
  bool Replace(LayoutState& state, Random& random);
  bool ShiftShares(LayoutState& state, Random& random);
  bool ChangeHow(LayoutState& state, Random& random) const;
  LayoutId DrawCandidate(Way way, Random& random) const;
  static LayoutId DrawUsed(const LayoutState& state, Random& random);
  LayoutId DrawBeside(const std::vector<GroupId>& groups, const LayoutState& state,
                      Random& random) const;

  const LayoutProblem& layouts_;
  LayoutBook& book_;
  MoveTargets targets_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_MOVES_H_
