// Words for many groups that few layouts have (internal to the module): each is looked at once.
#ifndef PLACEWRIGHT_FORMATS_PLAN_ALIKE_SPECS_H_
#define PLACEWRIGHT_FORMATS_PLAN_ALIKE_SPECS_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/layout_spec.h"

namespace placewright {

// Each spec becomes what `change` makes of it; what that is does not depend on which groups it names.
template <class Change>
void ChangeSpecs(LayoutSpecs& specs, const Change& change) {
  std::vector<std::pair<LayoutSpec, LayoutSpec>> known;  // before and behind
  for (LayoutSpec& spec : specs) {
    const auto alike = [&](const auto& row) {
      const LayoutSpec& before = row.first;
      return before.axis == spec.axis && before.option == spec.option && before.mesh == spec.mesh &&
             before.devices == spec.devices;
    };
    auto at = std::find_if(known.begin(), known.end(), alike);
    if (at == known.end()) {
      LayoutSpec made = spec;
      change(made);
      at = known.insert(known.end(), {spec, std::move(made)});
    }
    const LayoutSpec& made = at->second;
    spec = {std::move(spec.groups), spec.group, made.axis, made.devices, made.option, made.mesh};
  }
}

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PLAN_ALIKE_SPECS_H_
