// Layouts drawn at random: for tests.
#ifndef PLACEWRIGHT_COMPILE_DRAWN_LAYOUTS_H_
#define PLACEWRIGHT_COMPILE_DRAWN_LAYOUTS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
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

// The same with a CPU behind them, "host", that each is joined with.
inline Cluster DevicesWithHost(size_t count) {
  ClusterBuilder builder("devices");
  const DeviceKind of_devices{.name = "K", .memory = Bytes(int64_t{1} << 40)};
  const DeviceKind of_host{
      .name = "Host", .device_class = DeviceClass::kCpu, .memory = Bytes(int64_t{1} << 40)};
  const int32_t kind = builder.AddKind(of_devices).Take(), cpu = builder.AddKind(of_host).Take();
  const auto add = [&](const std::string& name, int32_t of) {
    (void)builder.AddDevice({.name = name, .kind = of, .capacity = Bytes(int64_t{1} << 40)}).Take();
  };
  for (size_t i = 0; i < count; ++i) add("d" + std::to_string(i), kind);
  add("host", cpu);
  for (size_t i = 0; i < count; ++i) {
    const auto joined = builder.Connect("d" + std::to_string(i), "host",
                                        BytesPerSecond(1'000'000'000), Nanos(0), Duplex::kFull, "");
    PW_CHECK(joined.ok());
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

// Boxes of up to three axes, among them mostly the batch: the devices are shared out over parts of an axis, those of a
// part over parts of another one, unevenly; devices that end up with the same box are replicas.
inline Layout RandomBoxes(Random& random, const NamedAxes& axes, std::vector<DeviceId> devices) {
  std::vector<AxisId> of;
  if (random.Below(4) > 0 && axes.batch().valid()) of.push_back(axes.batch());
  while (of.size() < 3 && (of.empty() || random.Below(3) > 0)) {
    const AxisId axis(random.Below(axes.axis_count()));
    if (std::find(of.begin(), of.end(), axis) == of.end()) of.push_back(axis);
  }
  std::sort(of.begin(), of.end());
  std::vector<AxisInterval> all;
  for (const AxisId axis : of) all.push_back({axis, {0, axes.axis(axis).size}});
  Layout layout;
  const auto share_out = [&](const auto& self, std::vector<DeviceId> some,
                             const std::vector<AxisInterval>& box, int depth) -> void {
    const size_t at = random.Below(box.size());
    const auto length = static_cast<size_t>(box[at].interval.length());
    const size_t most = std::min(some.size(), length);
    if (most < 2 || depth == 3 || (depth > 0 && random.Below(4) == 0)) {
      for (const DeviceId device : some)
        layout.shares.push_back({device, {box.begin(), box.end()}});
      return;
    }
    const size_t parts = 2 + random.Below(most - 1);
    int64_t from = box[at].interval.from;
    const auto lengths = RandomLengths(random, parts, box[at].interval.length());
    const auto counts = RandomLengths(random, parts, static_cast<int64_t>(some.size()));
    size_t begin = 0;
    for (size_t part = 0; part < parts; ++part) {
      std::vector<AxisInterval> inner = box;
      inner[at].interval = {from, from + lengths[part]};
      const size_t end = begin + static_cast<size_t>(counts[part]);
      self(self,
           {some.begin() + static_cast<ptrdiff_t>(begin),
            some.begin() + static_cast<ptrdiff_t>(end)},
           inner, depth + 1);
      from += lengths[part];
      begin = end;
    }
  };
  share_out(share_out, std::move(devices), all, 0);
  return layout;
}

// As RandomLayouts, of boxes in three groups of four.
inline Layouts RandomBoxLayouts(Random& random, const Graph& graph, const NamedAxes& axes,
                                size_t devices) {
  Layouts layouts = RandomLayouts(random, graph, axes, devices);
  // Few different ones, so that neighbours often have the same.
  std::vector<Layout> drawn;
  for (size_t i = 0; i < 3; ++i) {
    std::vector<DeviceId> all;
    for (size_t d = 0; d < devices; ++d) all.push_back(DeviceId(d));
    for (size_t d = devices; d > 1; --d) std::swap(all[d - 1], all[random.Below(d)]);
    drawn.push_back(RandomBoxes(random, axes, std::move(all)));
  }
  for (Layout& layout : layouts.layouts) {
    if (random.Below(4) > 0) layout = drawn[random.Below(drawn.size())];
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
