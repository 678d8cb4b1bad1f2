#include "sharding/layout_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "plan/interval_grid.h"

namespace placewright {
namespace {

Error Refuse(std::string message, std::string remedy) {
  return MakeError(ErrorCode::kField, std::move(message), "", std::move(remedy));
}

std::string Named(const NamedAxes& axes, AxisId axis) {
  return fmt::format("\"{}\"", Printable(axes.axis(axis).name, 80));
}

Status CheckInOrder(const Layout& layout, const NamedAxes& axes) {
  const AxisId axis = layout.shares.front().axis();
  const int64_t size = axes.axis(axis).size;
  int64_t next = 0;
  for (const Share& share : layout.shares) {
    const auto& [from, to] = share.box.front().interval;
    if (from != next || to <= from) {
      return Refuse(fmt::format("the shares of axis {} do not follow one another: [{}, {}) "
                                "stands where one from {} is due",
                                Named(axes, axis), from, to, next),
                    size < static_cast<int64_t>(layout.shares.size())
                        ? fmt::format("Give at most {} devices a share each.", size)
                        : "Give every device a share of at least 1, in ascending order.");
    }
    next = to;
  }
  if (next == size) return Ok();
  return Refuse(fmt::format("the shares of axis {} cover {} of {}", Named(axes, axis), next, size),
                fmt::format("Let them add up to {}.", size));
}

bool HaveNothingInCommon(const Box& a, const Box& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const Interval one = a.begin()[i].interval, other = b.begin()[i].interval;
    if (one.to <= other.from || other.to <= one.from) return true;
  }
  return false;
}

// Along each axis intervals are equal or have nothing in common: so are the boxes.
bool AreInGrid(const Layout& layout) {
  std::vector<Interval> along;
  for (size_t axis = 0; axis < layout.shares.front().box.size(); ++axis) {
    along.clear();
    for (const Share& share : layout.shares) along.push_back(share.box.begin()[axis].interval);
    if (!AreEqualOrApart(along)) return false;
  }
  return true;
}

// Boxes of several axes: of the product of these each element in one box, or in equal ones.
Status CheckProduct(const Layout& layout, const NamedAxes& axes) {
  std::vector<std::string> names;
  int64_t all = 1, covered = 0;
  for (const auto& [axis, interval] : layout.shares.front().box) {
    names.push_back(Named(axes, axis));
    all *= axes.axis(axis).size;
  }
  const bool in_grid = AreInGrid(layout);
  std::set<Box> known;
  for (size_t i = 0; i < layout.shares.size(); ++i) {
    const Box& box = layout.shares[i].box;
    const bool again = !known.insert(box).second;
    int64_t elements = 1;
    for (const auto& [axis, interval] : box) {
      elements *= interval.length();
      const int64_t size = axes.axis(axis).size;
      if (interval.from >= 0 && interval.from < interval.to && interval.to <= size) continue;
      return Refuse(fmt::format("[{}, {}) is no share of axis {}, which has {}", interval.from,
                                interval.to, Named(axes, axis), size),
                    "Give every device a share of at least 1 of each axis.");
    }
    for (size_t j = 0; !in_grid && j < i; ++j) {
      const Box& other = layout.shares[j].box;
      if (box == other || HaveNothingInCommon(box, other)) continue;
      return Refuse(fmt::format("two of its shares have some of {} in common, but not all",
                                fmt::join(names, " x ")),
                    "Give two devices equal shares, or shares with nothing in common.");
    }
    if (!again) covered += elements;
  }
  if (covered == all) return Ok();
  return Refuse(fmt::format("its shares cover {} of the {} elements of {}", covered, all,
                            fmt::join(names, " x ")),
                "Let them cover all.");
}

Status CheckBoxes(const Layout& layout, const NamedAxes& axes) {
  const Box& first = layout.shares.front().box;
  for (const AxisInterval& one : first) {
    if (one.axis.valid() && one.axis.index() < axes.axis_count()) continue;
    return Refuse("it names an axis that there is not", "Name one of the step's.");
  }
  const auto same_axes = [&](const Share& share) {
    return std::equal(first.begin(), first.end(), share.box.begin(), share.box.end(),
                      [](const auto& a, const auto& b) { return a.axis == b.axis; });
  };
  const auto ascends = [](const AxisInterval& a, const AxisInterval& b) { return a.axis < b.axis; };
  const bool ordered =
      std::adjacent_find(first.begin(), first.end(), [&](const auto& a, const auto& b) {
        return !ascends(a, b);
      }) == first.end();
  if (!ordered || !std::all_of(layout.shares.begin(), layout.shares.end(), same_axes)) {
    return Refuse("its shares are not of the same axes", "Split all of them by the same ones.");
  }
  if (first.empty()) return Ok();
  std::set<Box> boxes;
  for (const Share& share : layout.shares) boxes.insert(share.box);
  const bool replicas = boxes.size() < layout.shares.size();
  return first.size() > 1 || replicas ? CheckProduct(layout, axes) : CheckInOrder(layout, axes);
}

}  // namespace

Status CheckLayout(const Layout& layout, const NamedAxes& axes, const Cluster& cluster) {
  if (layout.shares.empty()) return Refuse("it has no devices", "Give it at least one.");
  std::set<DeviceId> devices;
  for (const Share& share : layout.shares) {
    if (!share.device.valid() || share.device.index() >= cluster.device_count()) {
      return Refuse("it names a device that there is not", "Name one of the cluster's.");
    }
    if (!devices.insert(share.device).second) {
      return Refuse(
          fmt::format("{} stands in it twice", Printable(cluster.device(share.device).name, 80)),
          "Give every device one share.");
    }
  }
  return CheckBoxes(layout, axes);
}

Status CheckLayouts(const Graph& graph, const NamedAxes& axes, const Layouts& layouts,
                    const Cluster& cluster) {
  for (size_t i = 0; i < layouts.layouts.size(); ++i) {
    Status right = CheckLayout(layouts.layouts[i], axes, cluster);
    if (right.ok()) continue;
    Error error = std::move(right.error());
    error.place = fmt::format("layouts[{}]", i);
    return error;
  }
  for (const GroupId group : IdRange<GroupId>(graph.group_count())) {
    const bool given = group.index() < layouts.of_group.size() && layouts.of_group[group].valid() &&
                       layouts.of_group[group].index() < layouts.layouts.size();
    if (given) continue;
    return MakeError(ErrorCode::kField,
                     fmt::format("colocation group {} has no layout", group.value()), "",
                     "Give every group a layout.");
  }
  return Ok();
}

}  // namespace placewright
