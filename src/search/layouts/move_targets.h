// What moves over layouts choose among: groups of ops that are changed together, and the layouts that they may
// get (internal to the module).
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_MOVE_TARGETS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_MOVE_TARGETS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "search/layouts/layout_units.h"

namespace placewright {

struct MoveTargets : LayoutUnits {
  // Where a move leads: to a device, to copies, to parts, or to the layout of others.
  enum class Way : uint8_t { kDevice, kCopies, kParts, kOther };
  static constexpr std::array kWays = {Way::kDevice, Way::kCopies, Way::kParts, Way::kOther};
  // Of an axis of the model's layers: the layouts that split it, and the groups with an op that they split.
  struct ModelAxis {
    std::vector<LayoutId> layouts;
    std::vector<GroupId> groups;
  };

  std::vector<GroupId> parameters;                 // groups that hold some, in their order
  IdVector<GroupId, std::vector<GroupId>> beside;  // ascending: what reads or is read by one
  std::vector<std::vector<GroupId>> alike;
  std::vector<std::vector<GroupId>> alike_parameters;  // the most bytes first
  std::vector<LayoutId> candidates;
  std::vector<LayoutId> to_device, to_copies, to_parts;  // the candidates, by way
  bool equal = false;                                    // the devices to split over
  std::vector<std::vector<ModelAxis>> model_axes;        // of layers that are alike
  // Of which layers, and which of these; none of them: all.
  std::vector<std::pair<size_t, std::optional<size_t>>> axis_choices;
  IdVector<GroupId, std::vector<AxisId>>
      parameter_axes;  // that split a group's largest parameter and its update, in the order of its dimensions
};

// The layouts are added to `book`. Errors: those of TagGroups and DevicesToSplitOver.
Result<MoveTargets> FindMoveTargets(const Problem& problem, LayoutBook& book);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_MOVE_TARGETS_H_
