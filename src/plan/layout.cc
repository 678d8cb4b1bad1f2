#include "plan/layout.h"

#include <utility>

namespace placewright {

AxisId Layout::axis() const {
  if (shares.empty() || shares.front().box.size() != 1) return AxisId();
  int64_t next = 0;
  for (const Share& share : shares) {
    const Interval& interval = share.box.front().interval;
    if (interval.from != next) return AxisId();
    next = interval.to;
  }
  return shares.front().axis();
}

Layout PlacedOn(DeviceId device) { return CopiesOn({device}); }

Layout CopiesOn(const std::vector<DeviceId>& devices) {
  Layout layout;
  for (const DeviceId device : devices) layout.shares.push_back({device, {}});
  return layout;
}

Layout SplitOver(AxisId axis, const std::vector<DeviceId>& devices,
                 const std::vector<int64_t>& lengths) {
  Layout layout;
  int64_t from = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    layout.shares.push_back({devices[i], {{axis, {from, from + lengths[i]}}}});
    from += lengths[i];
  }
  return layout;
}

std::vector<DeviceId> DevicesOf(const Layout& layout) {
  std::vector<DeviceId> devices;
  for (const Share& share : layout.shares) devices.push_back(share.device);
  return devices;
}

std::vector<int64_t> LengthsOf(const Layout& layout) {
  std::vector<int64_t> lengths;
  for (const Share& share : layout.shares) {
    lengths.push_back(share.Along(layout.axis()).length());
  }
  return lengths;
}

}  // namespace placewright
