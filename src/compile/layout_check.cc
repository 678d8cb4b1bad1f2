#include "compile/layout_check.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace placewright {
namespace {

Error Refuse(std::string message, std::string remedy) {
  return MakeError(ErrorCode::kField, std::move(message), "", std::move(remedy));
}

Status CheckBoxes(const Layout& layout, const NamedAxes& axes) {
  const AxisId axis = layout.axis();
  for (const Share& share : layout.shares) {
    if (share.box.size() <= 1 && share.axis() == axis) continue;
    return Refuse("its shares are not of one axis, and nothing computes others yet",
                  "Split all of them by one axis.");
  }
  if (!axis.valid()) return Ok();
  if (axis.index() >= axes.axis_count()) {
    return Refuse("it names an axis that there is not", "Name one of the step's.");
  }
  const int64_t size = axes.axis(axis).size;
  int64_t next = 0;
  for (const Share& share : layout.shares) {
    const auto& [from, to] = share.box.front().interval;
    if (from != next || to <= from) {
      return Refuse(fmt::format("the shares of axis \"{}\" do not follow one another: [{}, {}) "
                                "stands where one from {} is due",
                                Printable(axes.axis(axis).name, 80), from, to, next),
                    size < static_cast<int64_t>(layout.shares.size())
                        ? fmt::format("Give at most {} devices a share each.", size)
                        : "Give every device a share of at least 1, in ascending order.");
    }
    next = to;
  }
  if (next == size) return Ok();
  return Refuse(fmt::format("the shares of axis \"{}\" cover {} of {}",
                            Printable(axes.axis(axis).name, 80), next, size),
                fmt::format("Let them add up to {}.", size));
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
