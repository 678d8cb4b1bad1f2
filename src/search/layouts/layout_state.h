// How a whole step is distributed, in the form that a search changes.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_STATE_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_STATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "plan/layout.h"
#include "search/layouts/layout_problem.h"

namespace placewright {

struct LayoutState {
  IdVector<GroupId, LayoutId> of_group;  // in a LayoutBook
  StepSwitches switches;
  friend bool operator==(const LayoutState&, const LayoutState&) = default;
};

// Of states whose layouts are of one book. Equal on every platform.
uint64_t HashOf(const LayoutState& state);

// Layouts by number: equal ones have one.
class LayoutBook {
 public:
  LayoutId Add(Layout layout);
  const Layout& operator[](LayoutId id) const { return layouts_.layouts[id.index()]; }
  // Valid until the next call, or the next layout.
  const Layouts& Of(const LayoutState& state) {
    layouts_.of_group = state.of_group;
    return layouts_;
  }
  // The same into layouts of the caller's own, which have been filled by this book alone.
  void Give(const LayoutState& state, Layouts& layouts) const {
    layouts.layouts.insert(
        layouts.layouts.end(),
        layouts_.layouts.begin() + static_cast<ptrdiff_t>(layouts.layouts.size()),
        layouts_.layouts.end());
    layouts.of_group = state.of_group;
  }

 private:
  using Key = std::pair<AxisId, std::vector<int64_t>>;  // the axis; devices and shares
  Layouts layouts_;
  std::map<Key, LayoutId> ids_;
};

// Whether everything is on one device each.
bool IsPlaced(const LayoutState& state, const LayoutBook& book);

// Errors: those of ResolveLayouts.
Result<LayoutState> StateOf(const LayoutProblem& problem, const DistributionSpec& spec,
                            LayoutBook& book);
// The state in the words of a layout file, with as few lines as modules allow. Resolved, every group has what
// it has in the state, but that one without an op that the axis splits may be on the devices of its layout
// without an axis.
DistributionSpec SpecOf(const LayoutProblem& problem, const LayoutBook& book,
                        const LayoutState& state);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_STATE_H_
