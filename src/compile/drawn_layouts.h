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

// `size` in that many random parts.
inline std::vector<int64_t> RandomLengths(Random& random, size_t parts, int64_t size) {
  std::vector<int64_t> lengths;
  while (parts-- > 0) {
    const int64_t left = size - static_cast<int64_t>(parts);
    lengths.push_back(parts == 0 ? left : 1 + static_cast<int64_t>(random.Below(left)));
    size -= lengths.back();
  }
  return lengths;
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
    const AxisId axis =
        random.Below(2) == 0 ? axes.batch() : AxisId(random.Below(axes.axis_count()));
    const int64_t size = axes.axis(axis).size;
    const bool split = random.Below(4) > 0 && size >= static_cast<int64_t>(some.size());
    layouts.of_group.push_back(LayoutId(layouts.layouts.size()));
    layouts.layouts.push_back(
        split ? SplitOver(axis, some, RandomLengths(random, some.size(), size)) : CopiesOn(some));
  }
  return layouts;
}

// Every group split by the batch, or else everywhere: the first devices have these lengths.
inline Layouts DataParallelLayouts(const Graph& graph, const NamedAxes& axes,
                                   const std::vector<int64_t>& lengths) {
  std::vector<DeviceId> devices;
  for (size_t d = 0; d < lengths.size(); ++d) devices.push_back(DeviceId(d));
  return {{SplitOver(axes.batch(), devices, lengths)},
          IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0))};
}

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_DRAWN_LAYOUTS_H_
