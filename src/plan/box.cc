#include "plan/box.h"

#include <algorithm>
#include <functional>

namespace placewright {

std::array<int64_t, 5> NumbersOf(const AxisPart& part) {
  const auto& [place, interval] = part;
  return {int64_t{place.dimension}, place.outer, place.size, interval.from, interval.to};
}

TensorBox BoxOf(std::vector<AxisPart> parts) {
  std::erase_if(parts, [](const AxisPart& one) {
    return one.interval == Interval{0, one.place.size};
  });
  std::sort(parts.begin(), parts.end());
  return {parts.begin(), parts.end()};
}

Interval AlongPlace(const TensorBox& box, const AxisPlace& place) {
  for (const AxisPart& one : box) {
    if (one.place == place) return one.interval;
  }
  return {0, place.size};
}

std::optional<TensorBox> CommonOf(const TensorBox& a, const TensorBox& b) {
  std::vector<AxisPart> parts(a.begin(), a.end());
  for (const AxisPart& one : b) {
    const auto same = std::find_if(parts.begin(), parts.end(),
                                   [&](const AxisPart& other) { return other.place == one.place; });
    if (same == parts.end()) {
      parts.push_back(one);
      continue;
    }
    Interval& interval = same->interval;
    interval = {std::max(interval.from, one.interval.from), std::min(interval.to, one.interval.to)};
    if (interval.length() <= 0) return std::nullopt;
  }
  return BoxOf(std::move(parts));
}

bool Contains(const TensorBox& box, const TensorBox& part) {
  return std::all_of(box.begin(), box.end(), [&](const AxisPart& one) {
    const Interval inner = AlongPlace(part, one.place);
    return one.interval.from <= inner.from && inner.to <= one.interval.to;
  });
}

TensorBox WithInterval(const TensorBox& box, const AxisPlace& place, Interval interval) {
  std::vector<AxisPart> parts = {{place, interval}};
  for (const AxisPart& one : box) {
    if (one.place != place) parts.push_back(one);
  }
  return BoxOf(std::move(parts));
}

AxisPlace PlaceWithin(const TensorBox& box, AxisPlace place) {
  const AxisPlace whole = place;
  place.size = AlongPlace(box, whole).length();
  for (const auto& [other, interval] : box) {
    if (other.dimension != whole.dimension || other == whole) continue;
    int64_t& count = other.outer < whole.outer ? place.outer : place.inner;
    count = count / other.size * interval.length();
  }
  return place;
}

TensorBox PartWithin(const TensorBox& box, const TensorBox& part) {
  std::vector<AxisPart> within;
  for (const auto& [place, interval] : part) {
    const Interval held = AlongPlace(box, place);
    if (held == interval) continue;
    within.push_back(
        {PlaceWithin(box, place), {interval.from - held.from, interval.to - held.from}});
  }
  return {within.begin(), within.end()};
}

std::vector<AxisPart> InCuttingOrder(const TensorBox& box) {
  std::vector<AxisPart> parts(box.begin(), box.end());
  std::sort(parts.begin(), parts.end(), std::greater<>());
  return parts;
}

std::vector<int64_t> ShapeOf(std::vector<int64_t> shape, const TensorBox& box) {
  for (const auto& [place, interval] : box) {
    int64_t& length = shape[static_cast<size_t>(place.dimension)];
    length = length / place.size * interval.length();
  }
  return shape;
}

}  // namespace placewright
