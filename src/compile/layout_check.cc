#include "compile/layout_check.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace placewright {
namespace {

Error InLayout(size_t index, std::string message, std::string remedy) {
  return MakeError(ErrorCode::kField, std::move(message), fmt::format("layouts[{}]", index),
                   std::move(remedy));
}

Status CheckBoxes(size_t index, const Layout& layout, const NamedAxes& axes) {
  const AxisId axis = layout.axis();
  for (const Share& share : layout.shares) {
    if (share.box.size() <= 1 && share.axis() == axis) continue;
    return InLayout(index, "its shares are of several axes, which nothing computes yet",
                    "Split all of them by one axis.");
  }
  if (!axis.valid()) return Ok();
  if (axis.index() >= axes.axis_count()) {
    return InLayout(index, "it names an axis that there is not", "Name one of the step's.");
  }
  const int64_t size = axes.axis(axis).size;
  int64_t next = 0;
  for (const Share& share : layout.shares) {
    const auto& [from, to] = share.box.front().interval;
    if (from != next || to <= from) {
      return InLayout(index,
                      fmt::format("the shares of axis \"{}\" do not follow one another: [{}, {}) "
                                  "stands where one from {} is due",
                                  Printable(axes.axis(axis).name, 80), from, to, next),
                      size < static_cast<int64_t>(layout.shares.size())
                          ? fmt::format("Give at most {} devices a share each.", size)
                          : "Give every device a share of at least 1, in ascending order.");
    }
    next = to;
  }
  if (next == size) return Ok();
  return InLayout(index,
                  fmt::format("the shares of axis \"{}\" cover {} of {}",
                              Printable(axes.axis(axis).name, 80), next, size),
                  fmt::format("Let them add up to {}.", size));
}

}  // namespace

Status CheckLayouts(const Graph& graph, const NamedAxes& axes, const Layouts& layouts,
                    const Cluster& cluster) {
  for (size_t i = 0; i < layouts.layouts.size(); ++i) {
    const Layout& layout = layouts.layouts[i];
    if (layout.shares.empty()) {
      return InLayout(i, "it has no devices", "Give it at least one.");
    }
    std::set<DeviceId> devices;
    for (const Share& share : layout.shares) {
      if (!share.device.valid() || share.device.index() >= cluster.device_count()) {
        return InLayout(i, "it names a device that there is not", "Name one of the cluster's.");
      }
      if (!devices.insert(share.device).second) {
        return InLayout(
            i,
            fmt::format("{} stands in it twice", Printable(cluster.device(share.device).name, 80)),
            "Give every device one share.");
      }
    }
    PW_RETURN_IF_ERROR(CheckBoxes(i, layout, axes));
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
