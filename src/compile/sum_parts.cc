#include "compile/sum_parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

namespace placewright {
namespace {

using Corner = std::map<AxisId, int64_t>;

Interval AlongAxis(const Box& box, AxisId axis, int64_t size) {
  for (const AxisInterval& one : box) {
    if (one.axis == axis) return one.interval;
  }
  return {0, size};
}

// Of the axes that some part names.
Corner SizesOf(const NamedAxes& axes, const std::vector<Box>& parts) {
  Corner sizes;
  for (const Box& part : parts) {
    for (const auto& [axis, interval] : part) sizes[axis] = axes.axis(axis).size;
  }
  return sizes;
}

class Chooser {
 public:
  Chooser(const NamedAxes& axes, const std::vector<Box>& parts)
      : parts_(parts), sizes_(SizesOf(axes, parts)) {
    std::vector<Corner> corners = {{}};
    for (const auto& [axis, size] : sizes_) {
      std::set<int64_t> begins = {0};
      for (const Box& part : parts) {
        const Interval along = AlongAxis(part, axis, size);
        begins.insert(along.from);
        if (along.to < size) begins.insert(along.to);
      }
      std::vector<Corner> more;
      for (const Corner& corner : corners) {
        for (const int64_t begin : begins) {
          more.push_back(corner);
          more.back()[axis] = begin;
        }
      }
      corners = std::move(more);
    }
    corners_ = std::move(corners);
  }

  bool Choose() {
    const auto missing = std::find_if(corners_.begin(), corners_.end(), [&](const Corner& corner) {
      return std::none_of(chosen_.begin(), chosen_.end(),
                          [&](size_t part) { return Has(part, corner); });
    });
    if (missing == corners_.end()) return true;
    for (size_t part = 0; part < parts_.size(); ++part) {
      const bool fits =
          Has(part, *missing) && std::none_of(chosen_.begin(), chosen_.end(),
                                              [&](size_t other) { return Meet(part, other); });
      if (!fits) continue;
      chosen_.push_back(part);
      if (Choose()) return true;
      chosen_.pop_back();
    }
    return false;
  }

  bool Meet(size_t a, size_t b) const {
    return std::all_of(sizes_.begin(), sizes_.end(), [&](const auto& of) {
      const Interval one = AlongAxis(parts_[a], of.first, of.second);
      const Interval other = AlongAxis(parts_[b], of.first, of.second);
      return one.from < other.to && other.from < one.to;
    });
  }

  const std::vector<size_t>& chosen() const { return chosen_; }

 private:
  bool Has(size_t part, const Corner& corner) const {
    return std::all_of(corner.begin(), corner.end(), [&](const auto& at) {
      const Interval along = AlongAxis(parts_[part], at.first, sizes_.at(at.first));
      return along.from <= at.second && at.second < along.to;
    });
  }

  const std::vector<Box>& parts_;
  const Corner sizes_;
  std::vector<Corner> corners_;  // where parts begin or end: with these all is in some part
  std::vector<size_t> chosen_;
};

}  // namespace

namespace {

// Intervals of one axis, one behind the other: by far the commonest.
bool AreInOrder(const NamedAxes& axes, const std::vector<Box>& parts) {
  if (parts.empty() || parts.front().size() != 1) return false;
  const AxisId axis = parts.front().front().axis;
  int64_t next = 0;
  for (const Box& part : parts) {
    if (part.size() != 1 || part.front().axis != axis) return false;
    if (part.front().interval.from != next) return false;
    next = part.front().interval.to;
  }
  return next == axes.axis(axis).size;
}

// A grid: of every combination of intervals, which follow one another along each axis, one part. A search for parts
// would look at each corner of it for each that is chosen.
bool AreGrid(const NamedAxes& axes, std::vector<Box> parts) {
  if (parts.empty()) return false;
  std::sort(parts.begin(), parts.end());
  if (std::adjacent_find(parts.begin(), parts.end()) != parts.end()) return false;
  const Box first = parts.front();
  const auto same_axes = [&](const Box& part) {
    return std::equal(part.begin(), part.end(), first.begin(), first.end(),
                      [](const auto& a, const auto& b) { return a.axis == b.axis; });
  };
  if (!std::all_of(parts.begin(), parts.end(), same_axes)) return false;
  size_t cells = 1;
  for (size_t i = 0; i < first.size(); ++i) {
    std::set<Interval> along;
    for (const Box& part : parts) along.insert((part.begin() + i)->interval);
    int64_t next = 0;
    for (const Interval& one : along) {
      if (one.from != next || one.to <= next) return false;
      next = one.to;
    }
    if (next != axes.axis((first.begin() + i)->axis).size) return false;
    cells *= along.size();
  }
  return cells == parts.size();
}

}  // namespace

std::vector<size_t> ChosenOnce(const NamedAxes& axes, const std::vector<Box>& parts) {
  if (parts.size() == 1 && parts.front().empty()) return {0};
  if (AreInOrder(axes, parts) || AreGrid(axes, parts)) {
    std::vector<size_t> all(parts.size());
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }
  Chooser chooser(axes, parts);
  if (!chooser.Choose()) return {};
  std::vector<size_t> chosen = chooser.chosen();
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

bool AreAllOnce(const NamedAxes& axes, const std::vector<Box>& parts) {
  return AreInOrder(axes, parts) || ChosenOnce(axes, parts).size() == parts.size();
}

bool AreAllOfSums(const NamedAxes& axes, const std::vector<TensorBox>& boxes,
                  const std::vector<Box>& summed) {
  const bool one_box = std::all_of(boxes.begin(), boxes.end(),
                                   [&](const TensorBox& box) { return box == boxes.front(); });
  if (one_box && AreInOrder(axes, summed)) return true;  // by far the commonest
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto before = [&](size_t a, size_t b) { return boxes[a] < boxes[b]; };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
  }
  for (size_t i = 0; i < order.size();) {
    std::vector<Box> parts, known;  // of one box, each once: in their order, and ascending
    const size_t first = order[i];
    for (; i < order.size() && boxes[order[i]] == boxes[first]; ++i) {
      const Box& part = summed[order[i]];
      const auto at = std::lower_bound(known.begin(), known.end(), part);
      if (at != known.end() && *at == part) continue;
      known.insert(at, part);
      parts.push_back(part);
    }
    if (!AreAllOnce(axes, parts)) return false;
  }
  return true;
}

}  // namespace placewright
