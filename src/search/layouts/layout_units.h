// What searches over layouts decide as one, and where it may be (internal to the module).
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_UNITS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_UNITS_H_

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "search/layouts/layout_state.h"
#include "search/problem/problem.h"

namespace placewright {

struct LayoutUnits {
  std::vector<std::vector<GroupId>> units;       // TAG's parts of the step
  std::vector<std::vector<GroupId>> singles;     // one each, or those that --colocate joins
  std::vector<size_t> confined;                  // of these, those that may not be everywhere
  IdVector<GroupId, std::vector<bool>> allowed;  // by device; empty: everywhere
  IdVector<GroupId, bool> whole;                 // joined with others: on one device

  // Whether a group may lie so: by what devices support, --pin, --forbid and --colocate.
  bool MayBe(GroupId group, const Layout& layout) const;
  // The same of all groups, of which those that are joined must lie alike.
  bool MayBe(const LayoutState& state, const LayoutBook& book) const;
};

// Errors: those of TagGroups.
Result<LayoutUnits> FindLayoutUnits(const Problem& problem);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_UNITS_H_
