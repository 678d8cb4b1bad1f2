#include "plan/layout_book.h"

#include "base/check.h"

namespace placewright {

LayoutId LayoutBook::Add(Layout layout) {
  const auto [found, fresh] = ids_.try_emplace(layout, LayoutId(layouts_.size()));
  if (fresh) layouts_.push_back(std::move(layout));
  return found->second;
}

IdVector<GroupId, LayoutId> LayoutBook::Add(const Layouts& layouts, size_t groups) {
  std::vector<LayoutId> ids(layouts.layouts.size());  // none yet
  IdVector<GroupId, LayoutId> of_group;
  of_group.reserve(groups);
  for (const LayoutId id : layouts.of_group) {
    LayoutId& here = ids[id.index()];
    if (!here.valid()) here = Add(layouts.layouts[id.index()]);
    of_group.push_back(here);
  }
  PW_CHECK(!of_group.empty() || groups == 0);
  while (of_group.size() < groups) of_group.push_back(of_group[GroupId(0)]);
  return of_group;
}

Layouts LayoutBook::Of(const IdVector<GroupId, LayoutId>& of_group) const {
  Layouts layouts;
  layouts.of_group.reserve(of_group.size());
  std::vector<LayoutId> ids(layouts_.size());
  for (const LayoutId id : of_group) {
    LayoutId& there = ids[id.index()];
    if (!there.valid()) {
      there = LayoutId(layouts.layouts.size());
      layouts.layouts.push_back(layouts_[id.index()]);
    }
    layouts.of_group.push_back(there);
  }
  return layouts;
}

}  // namespace placewright
