#include "compile/op_split.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compile/sum_parts.h"

namespace placewright {

std::optional<OpSplit::By> OpSplit::ByAxis(AxisId axis) const {
  const RuleAxisId of = axes_.SplitBy(id_, axis);
  if (!of.valid()) return std::nullopt;
  return By{axis, of};
}

void OpSplit::Set(const SmallVector<By>& by) {
  by_ = by;
  if (by_.size() > 1) KeepOneWithOperator();
  if (!IsSynchronised() || TogetherSynchronised()) return;
  // No groups have each part of the statistics once: split by these axes they would count samples twice or leave some
  // out, so that every instance does all of them.
  std::vector<By> others;
  for (const By& one : by_) {
    if (!IsSynchronised(one)) others.push_back(one);
  }
  by_ = {others.begin(), others.end()};
}

// An operator for a part replaces the op: it knows of one axis.
void OpSplit::KeepOneWithOperator() {
  std::vector<By> kept;
  RuleAxisId with_operator;
  for (const By& one : by_) {
    if (PlaceArgumentOf(rule(), one.of).axis.valid()) {
      if (with_operator.valid() && with_operator != one.of) continue;
      with_operator = one.of;
    }
    kept.push_back(one);
  }
  by_ = {kept.begin(), kept.end()};
}

bool OpSplit::Is(AxisId axis) const {
  return std::any_of(by_.begin(), by_.end(), [&](const By& one) { return one.axis == axis; });
}

bool OpSplit::IsSynchronised() const {
  return std::any_of(by_.begin(), by_.end(), [&](const By& one) { return IsSynchronised(one); });
}

namespace {

TensorBox BoxOfOne(const AxisPlace& place, const Interval& interval) {
  return interval == Interval{0, place.size} ? TensorBox() : TensorBox{{place, interval}};
}

}  // namespace

TensorBox OpSplit::BoxIn(const TensorAxes& tensor, size_t share) const {
  if (by_.size() == 1) {  // the commonest, without memory of its own
    const By& one = by_.front();
    if (!Holds(tensor, one.of)) return {};
    return BoxOfOne(PlaceIn(tensor, one), IntervalOf(one, share));
  }
  std::vector<AxisPart> parts;
  for (const By& one : by_) {
    if (Holds(tensor, one.of)) parts.push_back({PlaceIn(tensor, one), IntervalOf(one, share)});
  }
  return BoxOf(std::move(parts));
}

void OpSplit::AddBoxesIn(const TensorAxes& tensor, std::vector<TensorBox>& boxes) const {
  const size_t shares = layout_.shares.size();
  boxes.reserve(boxes.size() + shares);
  if (by_.size() == 1 && Holds(tensor, by_.front().of)) {
    const AxisPlace place = PlaceIn(tensor, by_.front());
    for (size_t i = 0; i < shares; ++i) {
      boxes.push_back(BoxOfOne(place, IntervalOf(by_.front(), i)));
    }
    return;
  }
  for (size_t i = 0; i < shares; ++i) boxes.push_back(BoxIn(tensor, i));
}

PieceBoxes OpSplit::BoxesIn(const TensorAxes& tensor, BoxesOfSplits& known) const {
  std::vector<std::pair<AxisId, AxisPlace>> along;
  for (const By& one : by_) {
    if (Holds(tensor, one.of)) along.emplace_back(one.axis, PlaceIn(tensor, one));
  }
  const auto [at, fresh] = known.try_emplace({&layout_, {along.begin(), along.end()}});
  if (fresh) {
    std::vector<TensorBox> boxes;
    AddBoxesIn(tensor, boxes);
    at->second = std::move(boxes);
  }
  return at->second;
}

bool OpSplit::AreInputBoxes(size_t input, const PieceBoxes& boxes, BoxesOfSplits& known) const {
  if (boxes.size() != layout_.shares.size()) return boxes.empty() && !SplitsInput(input);
  if (by_.size() == 1 && !SplitsInput(input)) return false;
  return any() ? BoxesIn(rule().inputs[input], known) == boxes
               : std::all_of(boxes.begin(), boxes.end(),
                             [](const TensorBox& box) { return box.empty(); });
}

bool OpSplit::SplitsInput(size_t input) const {
  return std::any_of(by_.begin(), by_.end(),
                     [&](const By& one) { return Holds(rule().inputs[input], one.of); });
}

Box OpSplit::PartOf(const std::vector<AxisId>& axes, size_t share) const {
  const Box& box = layout_.shares[share].box;
  if (box.size() == 1 && axes.size() == 1 && box.front().axis == axes.front()) {
    const Interval all = {0, axes_.axis(axes.front()).size};
    return box.front().interval == all ? Box() : box;
  }
  std::vector<AxisInterval> part;
  for (const AxisInterval& one : layout_.shares[share].box) {
    const bool among = std::find(axes.begin(), axes.end(), one.axis) != axes.end();
    const bool all = one.interval == Interval{0, axes_.axis(one.axis).size};
    if (among && !all) part.push_back(one);
  }
  return {part.begin(), part.end()};
}

bool OpSplit::IsOnceBy(const By& one, size_t input) const {
  const std::pair<RuleAxisId, int32_t> once(one.of, static_cast<int32_t>(input));
  return std::find(rule().once.begin(), rule().once.end(), once) != rule().once.end();
}

bool OpSplit::IsOnce(size_t input) const {
  return std::any_of(by_.begin(), by_.end(), [&](const By& one) { return IsOnceBy(one, input); });
}

bool OpSplit::EntersIn(size_t input, size_t share) const {
  return std::none_of(by_.begin(), by_.end(), [&](const By& one) {
    return IsOnceBy(one, input) && IntervalOf(one, share).from > 0;
  });
}

bool OpSplit::IsPart(size_t share) const {
  return std::any_of(by_.begin(), by_.end(), [&](const By& one) { return IsPartBy(one, share); });
}

PartCall OpSplit::CallOf(size_t share) const {
  if (!IsPart(share)) return CallOnWhole(op_, axes_.rule(id_));
  IdVector<RuleAxisId, int64_t> sizes;
  for (const RuleAxis& axis : rule().axes) sizes.push_back(axis.size);
  std::vector<By> parts;
  std::vector<RuleAxisId> split;
  for (const By& one : by_) {
    if (!IsPartBy(one, share)) continue;
    int64_t& size = sizes[one.of];
    size = size / axes_.axis(one.axis).size * IntervalOf(one, share).length();
    parts.push_back(one);
    split.push_back(one.of);
  }
  PartCall call = CallOnPart(op_, rule(), {split.begin(), split.end()}, sizes);
  std::set<RuleAxisId> stated;  // a place is of all factors of its axis
  for (const By& one : parts) {
    if (!stated.insert(one.of).second) continue;
    const PlaceArgument at = PlaceArgumentOf(rule(), one.of);
    if (!at.there()) continue;
    at.Set(StatedIn(at, share), call);
    if (!at.axis.valid()) break;  // it states the part of all axes
  }
  return call;
}

// Which part of its tensor a place argument states: of the axis that has an operator of its own, or of all.
TensorBox OpSplit::StatedIn(const PlaceArgument& at, size_t share) const {
  const TensorAxes& tensor = at.TensorOf(rule());
  if (!at.axis.valid()) return BoxIn(tensor, share);
  std::vector<AxisPart> parts;
  for (const By& one : by_) {
    if (one.of == at.axis) parts.push_back({PlaceIn(tensor, one), IntervalOf(one, share)});
  }
  return BoxOf(std::move(parts));
}

InstanceKey::Part OpSplit::KeyPartOf(const By& one, size_t share) const {
  const Interval interval = IntervalOf(one, share);
  InstanceKey::Part part{one.axis, one.of, interval.length(), {}, false};
  if (rule().place_argument < 0 && rule().axis_parts.empty()) return part;
  const PlaceArgument at = PlaceArgumentOf(rule(), one.of);
  if (at.there()) part.stated = {PlaceIn(at.TensorOf(rule()), one), interval};
  part.priced = at.uneven;
  return part;
}

InstanceKey OpSplit::KeyOf(size_t share) const {
  if (!any()) return {id_, {}};
  if (by_.size() == 1 && IsPartBy(by_.front(), share)) {
    return {id_, {KeyPartOf(by_.front(), share)}};
  }
  std::vector<InstanceKey::Part> parts;
  for (const By& one : by_) {
    if (IsPartBy(one, share)) parts.push_back(KeyPartOf(one, share));
  }
  return {id_, {parts.begin(), parts.end()}};
}

std::optional<std::vector<std::vector<size_t>>> OpSplit::TogetherSynchronised() const {
  std::vector<AxisId> over, others;
  for (const By& one : by_) (IsSynchronised(one) ? over : others).push_back(one.axis);
  struct Row {
    Box beside;                               // what they have of the other axes
    std::vector<Box> parts;                   // that differ
    std::vector<std::vector<size_t>> shares;  // by part
  };
  std::vector<Row> rows;
  for (size_t share = 0; share < layout_.shares.size(); ++share) {
    const Box beside = PartOf(others, share), part = PartOf(over, share);
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const Row& one) { return one.beside == beside; });
    if (row == rows.end()) row = rows.insert(rows.end(), {beside, {}, {}});
    const auto at = std::find(row->parts.begin(), row->parts.end(), part) - row->parts.begin();
    if (static_cast<size_t>(at) == row->parts.size()) {
      row->parts.push_back(part);
      row->shares.emplace_back();
    }
    row->shares[static_cast<size_t>(at)].push_back(share);
  }
  std::vector<std::vector<size_t>> together;
  for (const Row& row : rows) {
    if (!AreAllOnce(axes_, row.parts)) return std::nullopt;
    const size_t copies = row.shares.front().size();
    for (size_t copy = 0; copy < copies; ++copy) {
      std::vector<size_t>& shares = together.emplace_back();
      for (const std::vector<size_t>& of_part : row.shares) {
        if (of_part.size() != copies) return std::nullopt;
        shares.push_back(of_part[copy]);
      }
    }
  }
  return together;
}

}  // namespace placewright
