#include "compile/piece_boxes.h"

#include <algorithm>

namespace placewright {
namespace {

// Of the same axes, and along each of them the intervals are equal or have nothing in common.
bool AreInGrid(const std::vector<TensorBox>& boxes) {
  const TensorBox& first = boxes.front();
  const auto same_axes = [&](const TensorBox& box) {
    return std::equal(box.begin(), box.end(), first.begin(), first.end(),
                      [](const AxisPart& a, const AxisPart& b) { return a.place == b.place; });
  };
  if (!std::all_of(boxes.begin(), boxes.end(), same_axes)) return false;
  std::vector<Interval> along;
  for (size_t axis = 0; axis < first.size(); ++axis) {
    along.clear();
    for (const TensorBox& box : boxes) along.push_back((box.begin() + axis)->interval);
    std::sort(along.begin(), along.end());
    along.erase(std::unique(along.begin(), along.end()), along.end());
    const auto meet = [](const Interval& a, const Interval& b) { return b.from < a.to; };
    if (std::adjacent_find(along.begin(), along.end(), meet) != along.end()) return false;
  }
  return true;
}

}  // namespace

bool PieceBoxes::AreApart() const {
  if (empty()) return true;
  if (!list_->apart) list_->apart = AreInGrid(list_->boxes);
  return *list_->apart;
}

}  // namespace placewright
