// Layouts drawn at random: for tests.
#ifndef PLACEWRIGHT_COMPILE_DRAWN_LAYOUTS_H_
#define PLACEWRIGHT_COMPILE_DRAWN_LAYOUTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cluster/cluster_builder.h"
#include "graph/graph.h"
#include "plan/layout.h"
#include "sharding/named_axes.h"

namespace placewright {

// Devices d0, d1, ... that are alike, and have room for all tests.
inline Cluster DevicesAlike(size_t count) {
  ClusterBuilder builder("devices");
  const int32_t kind = builder.AddKind({.name = "K", .memory = Bytes(int64_t{1} << 40)}).Take();
  for (size_t i = 0; i < count; ++i) {
    (void)builder
        .AddDevice(
            {.name = "d" + std::to_string(i), .kind = kind, .capacity = Bytes(int64_t{1} << 40)})
        .Take();
  }
  return std::move(builder).Build().Take();
}

// A share of `size` for each device, of random lengths.
inline std::vector<Share> RandomShares(Random& random, const std::vector<DeviceId>& devices,
                                       int64_t size) {
  std::vector<Share> shares;
  int64_t from = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    const int64_t left = size - from - static_cast<int64_t>(devices.size() - 1 - i);
    const int64_t length =
        i + 1 == devices.size() ? left : 1 + static_cast<int64_t>(random.Below(left));
    shares.push_back({devices[i], from, from + length});
    from += length;
  }
  return shares;
}

// Of every group: some of the devices, and of three groups in four whose axis is long enough a part on each of these,
// half of the time of the batch, else of any axis; of others all on each.
inline Layouts RandomLayouts(Random& random, const Graph& graph, const NamedAxes& axes,
                             size_t devices) {
  Layouts layouts;
  for (size_t group = 0; group < graph.group_count(); ++group) {
    std::vector<DeviceId> some;
    for (size_t d = 0; d < devices; ++d) {
      if (random.Below(3) > 0) some.push_back(DeviceId(d));
    }
    if (some.empty()) some.push_back(DeviceId(random.Below(devices)));
    Layout layout;
    AxisId axis = random.Below(2) == 0 ? axes.batch() : AxisId(random.Below(axes.axis_count()));
    const bool split =
        random.Below(4) > 0 && axes.axis(axis).size >= static_cast<int64_t>(some.size());
    if (split) layout.axis = axis;
    if (split) layout.shares = RandomShares(random, some, axes.axis(axis).size);
    for (size_t i = 0; !split && i < some.size(); ++i) layout.shares.push_back({some[i], 0, 0});
    layouts.of_group.push_back(LayoutId(layouts.layouts.size()));
    layouts.layouts.push_back(std::move(layout));
  }
  return layouts;
}

// Every group split by the batch, or else everywhere.
inline Layouts DataParallelLayouts(const Graph& graph, const NamedAxes& axes,
                                   const std::vector<Share>& shares) {
  Layouts layouts;
  layouts.layouts.push_back({axes.batch(), shares});
  layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
  return layouts;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_DRAWN_LAYOUTS_H_
