// Layouts by number: equal ones have one.
#ifndef PLACEWRIGHT_PLAN_LAYOUT_BOOK_H_
#define PLACEWRIGHT_PLAN_LAYOUT_BOOK_H_

#include <map>
#include <vector>

#include "plan/layout.h"

namespace placewright {

class LayoutBook {
 public:
  LayoutId Add(Layout layout);
  const Layout& operator[](LayoutId id) const { return layouts_[id.index()]; }
  // What every group has, in numbers of this book. Groups behind the last, up to `groups`, have what the first one has.
  IdVector<GroupId, LayoutId> Add(const Layouts& layouts, size_t groups);
  // The other way round, with those layouts alone that some group has.
  Layouts Of(const IdVector<GroupId, LayoutId>& of_group) const;
  // All layouts of the book, and those of groups by their numbers in it.
  Layouts With(const IdVector<GroupId, LayoutId>& of_group) const { return {layouts_, of_group}; }
  // In their order: a book only grows.
  const std::vector<Layout>& all() const { return layouts_; }

 private:
  std::vector<Layout> layouts_;
  std::map<Layout, LayoutId> ids_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_LAYOUT_BOOK_H_
