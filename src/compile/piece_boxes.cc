#include "compile/piece_boxes.h"

#include <algorithm>

#include "plan/interval_grid.h"

namespace placewright {
namespace {

bool AreOfOneSet(const TensorBox& a, const TensorBox& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const AxisPart& one, const AxisPart& other) { return one.place == other.place; });
}

// Of the same axes, and along each of them the intervals are equal or have nothing in common.
bool AreInGrid(const std::vector<TensorBox>& boxes) {
  const TensorBox& first = boxes.front();
  const auto same_axes = [&](const TensorBox& box) { return AreOfOneSet(box, first); };
  if (!std::all_of(boxes.begin(), boxes.end(), same_axes)) return false;
  std::vector<Interval> along;
  for (size_t axis = 0; axis < first.size(); ++axis) {
    along.clear();
    for (const TensorBox& box : boxes) along.push_back((box.begin() + axis)->interval);
    if (!AreEqualOrApart(along)) return false;
  }
  return true;
}

}  // namespace

bool PieceBoxes::HaveAxesOf(const TensorBox& box) const {
  if (empty()) return false;
  std::vector<size_t>& firsts = list_->firsts;
  const std::vector<TensorBox>& boxes = list_->boxes;
  const auto among = [&](const TensorBox& of) {
    return std::any_of(firsts.begin(), firsts.end(),
                       [&](size_t first) { return AreOfOneSet(boxes[first], of); });
  };
  const bool found = !firsts.empty();
  for (size_t i = 0; !found && i < boxes.size(); ++i) {
    if (!among(boxes[i])) firsts.push_back(i);
  }
  return among(box);
}

bool PieceBoxes::AreApart() const {
  if (empty()) return true;
  if (!list_->apart) list_->apart = AreInGrid(list_->boxes);
  return *list_->apart;
}

}  // namespace placewright
