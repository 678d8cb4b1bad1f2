#include "search/layouts/layout_moves.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plan/sharing_out.h"

namespace placewright {
namespace {

constexpr Bytes kBuckets(int64_t{64} << 20);
// Of equal devices uneven shares are seldom better, and take as long to evaluate as many other moves.
constexpr uint64_t kRarer = 4;

}  // namespace

constinit const MoveChances::Weights LayoutMoves::kAll = MoveChances::WeightsOf({
    {MoveKind::kUnitToDevice, 10}, {MoveKind::kUnitToCopies, 4},  {MoveKind::kUnitToParts, 4},
    {MoveKind::kUnitToOther, 10},  {MoveKind::kGroupToDevice, 4}, {MoveKind::kGroupToCopies, 2},
    {MoveKind::kGroupToParts, 2},  {MoveKind::kGroupToOther, 4},  {MoveKind::kAlikeToDevice, 4},
    {MoveKind::kAlikeToCopies, 2}, {MoveKind::kAlikeToParts, 2},  {MoveKind::kAlikeToOther, 2},
    {MoveKind::kAxis, 4},          {MoveKind::kGroupAxis, 4},     {MoveKind::kAlikeAxis, 4},
    {MoveKind::kServers, 15},      {MoveKind::kServersAlike, 20}, {MoveKind::kLayout, 10},
    {MoveKind::kShares, 15},       {MoveKind::kHow, 5},
});
constinit const MoveChances::Weights LayoutMoves::kOfUnits = MoveChances::WeightsOf({
    {MoveKind::kUnitToDevice, 10},
    {MoveKind::kUnitToCopies, 4},
    {MoveKind::kUnitToParts, 10},
    {MoveKind::kUnitToOther, 10},
    {MoveKind::kUnitServers, 10},
});
// Most layouts are of one device, as in FlexFlow's uniform draws.
constinit const MoveChances::Weights LayoutMoves::kOfSingleGroups = MoveChances::WeightsOf({
    {MoveKind::kGroupToDevice, 20},
    {MoveKind::kGroupToCopies, 5},
    {MoveKind::kGroupToParts, 5},
    {MoveKind::kGroupToOther, 20},
    {MoveKind::kGroupAxis, 10},
});

LayoutMoves::LayoutMoves(const Problem& problem, LayoutBook& book, MoveTargets targets)
    : layouts_(*problem.layouts), book_(book), targets_(std::move(targets)) {}

Result<LayoutMoves> LayoutMoves::Make(const Problem& problem, LayoutBook& book) {
  PW_ASSIGN(MoveTargets targets, FindMoveTargets(problem, book));
  return LayoutMoves(problem, book, std::move(targets));
}

LayoutState LayoutMoves::WithAxisChoice(const LayoutState& state, size_t choice) const {
  LayoutState split = state;
  const auto& [of, one] = targets_.axis_choices[choice];
  const std::vector<MoveTargets::ModelAxis>& alike = targets_.model_axes[of];
  for (size_t i = 0; i < alike.size(); ++i) {
    if (one && *one != i) continue;
    const auto widest = std::max_element(
        alike[i].layouts.begin(), alike[i].layouts.end(),
        [&](LayoutId a, LayoutId b) { return book_[a].shares.size() < book_[b].shares.size(); });
    Set(alike[i].groups, *widest, split);
  }
  return split;
}

bool LayoutMoves::MayBe(const LayoutState& state) const { return targets_.MayBe(state, book_); }

// Those that may not be there stay.
void LayoutMoves::Set(const std::vector<GroupId>& groups, LayoutId layout,
                      LayoutState& state) const {
  for (const GroupId group : groups) {
    if (targets_.MayBe(group, book_[layout])) state.of_group[group] = layout;
  }
}

// One of a device, of copies or of parts; invalid where there is none.
LayoutId LayoutMoves::DrawCandidate(Way way, Random& random) const {
  const std::vector<LayoutId>& of = way == Way::kDevice   ? targets_.to_device
                                    : way == Way::kCopies ? targets_.to_copies
                                                          : targets_.to_parts;
  return of.empty() ? LayoutId() : of[random.Below(of.size())];
}

// One that others have: neighbours that lie alike exchange nothing.
LayoutId LayoutMoves::DrawUsed(const LayoutState& state, Random& random) {
  const std::set<LayoutId> used(state.of_group.begin(), state.of_group.end());
  return *std::next(used.begin(), static_cast<std::ptrdiff_t>(random.Below(used.size())));
}

// That of a group that one of these reads or is read by, or any in use.
LayoutId LayoutMoves::DrawBeside(const std::vector<GroupId>& groups, const LayoutState& state,
                                 Random& random) const {
  constexpr int kTries = 8;
  for (int i = 0; i < kTries && random.Below(kTries) > 0; ++i) {
    const std::vector<GroupId>& beside = targets_.beside[groups[random.Below(groups.size())]];
    if (beside.empty()) continue;
    const GroupId group = beside[random.Below(beside.size())];
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) {
      return state.of_group[group];
    }
  }
  return DrawUsed(state, random);
}

bool LayoutMoves::Move(const std::vector<GroupId>& groups, Way way, LayoutState& state,
                       Random& random) const {
  const LayoutId layout =
      way == Way::kOther ? DrawBeside(groups, state, random) : DrawCandidate(way, random);
  if (layout.valid()) Set(groups, layout, state);
  return layout.valid();
}

bool LayoutMoves::MoveOne(const std::vector<std::vector<GroupId>>& of, Way way, LayoutState& state,
                          Random& random) {
  if (of.empty()) return false;
  const std::vector<GroupId>& groups = of[random.Below(of.size())];
  return !groups.empty() && Move(groups, way, state, random);
}

LayoutState LayoutMoves::Perturbed(const LayoutState& state, Random& random) const {
  LayoutState perturbed = state;
  const uint64_t one_of = 1 + random.Below(4);
  for (const std::vector<GroupId>& groups : targets_.singles) {
    if (groups.empty() || random.Below(one_of) > 0) continue;
    Move(groups, MoveTargets::kWays[random.Below(MoveTargets::kWays.size())], perturbed, random);
  }
  return perturbed;
}

// One layer, or all that are alike.
bool LayoutMoves::SplitByAxis(LayoutState& state, Random& random) {
  if (targets_.model_axes.empty()) return false;
  const std::vector<MoveTargets::ModelAxis>& alike =
      targets_.model_axes[random.Below(targets_.model_axes.size())];
  const uint64_t choice = random.Next();
  const bool all = random.Below(2) == 0;
  const size_t one = random.Below(alike.size());
  for (size_t i = 0; i < alike.size(); ++i) {
    if (all || i == one) {
      Set(alike[i].groups, alike[i].layouts[choice % alike[i].layouts.size()], state);
    }
  }
  return true;
}

// A group of one layer, or that group everywhere.
bool LayoutMoves::SplitGroupByAxis(bool everywhere, LayoutState& state, Random& random) const {
  if (targets_.model_axes.empty()) return false;
  const std::vector<MoveTargets::ModelAxis>& alike =
      targets_.model_axes[random.Below(targets_.model_axes.size())];
  const MoveTargets::ModelAxis& drawn = alike[random.Below(alike.size())];
  const size_t group = random.Below(drawn.groups.size());
  const size_t layout = random.Below(drawn.layouts.size());
  for (const MoveTargets::ModelAxis& axis : alike) {
    const bool same = everywhere && axis.groups.size() == drawn.groups.size() &&
                      axis.layouts.size() == drawn.layouts.size();
    if (same || &axis == &drawn) Set({axis.groups[group]}, axis.layouts[layout], state);
  }
  return true;
}

// Of those in use; invalid where none is.
LayoutId LayoutMoves::DrawSplit(const LayoutState& state, Random& random) const {
  std::vector<LayoutId> splits;
  for (const LayoutId id : std::set<LayoutId>(state.of_group.begin(), state.of_group.end())) {
    if (book_[id].shares.size() > 1) splits.push_back(id);
  }
  return splits.empty() ? LayoutId() : splits[random.Below(splits.size())];
}

// Whole on one of its devices.
LayoutId LayoutMoves::ServedBy(LayoutId split, size_t turn) {
  const std::vector<Share>& shares = book_[split].shares;
  return book_.Add(PlacedOn(shares[turn % shares.size()].device));
}

// By the first of its parameter's axes that has a part for each, evenly over the devices of a layout; what has no such
// axis stays.
void LayoutMoves::SplitUpdate(GroupId group, LayoutId over, LayoutState& state) {
  const auto devices = static_cast<int64_t>(book_[over].shares.size());
  const std::vector<AxisId>& axes = targets_.parameter_axes[group];
  const auto axis = std::find_if(axes.begin(), axes.end(),
                                 [&](AxisId id) { return layouts_.axes.axis(id).size >= devices; });
  if (axis == axes.end() || devices < 2) return;
  const std::vector<double> even(book_[over].shares.size(), 1);
  const std::vector<int64_t> lengths = SharesInProportion(layouts_.axes.axis(*axis).size, even);
  Set({group}, book_.Add(SplitOver(*axis, DevicesOf(book_[over]), lengths)), state);
}

// Where a parameter goes with its update: one device of a layout that splits something, parts on all of its devices, or
// as that layout has it.
void LayoutMoves::PutUpdate(GroupId group, Update way, LayoutId split, size_t turn,
                            LayoutState& state) {
  switch (way) {
    case Update::kServed: return Set({group}, ServedBy(split, turn), state);
    case Update::kSplit: return SplitUpdate(group, split, state);
    case Update::kBack: return Set({group}, split, state);
  }
}

std::vector<GroupId> LayoutMoves::SomeOf(const std::vector<GroupId>& groups, Some some) {
  std::vector<GroupId> chosen;
  for (size_t i = some.from; i < groups.size(); i += some.every) chosen.push_back(groups[i]);
  return chosen;
}

bool LayoutMoves::ServeUnit(LayoutState& state, Random& random) {
  const LayoutId split = DrawSplit(state, random);
  if (!split.valid() || targets_.parameters.empty()) return false;
  std::set<GroupId> some;  // all, where the whole step is drawn
  if (random.Below(3) > 0) {
    const auto& units = random.Below(4) == 0 ? targets_.singles : targets_.units;
    const std::vector<GroupId>& unit = units[random.Below(units.size())];
    some.insert(unit.begin(), unit.end());
  }
  const auto way = kUpdates[random.Below(kUpdates.size())];
  size_t turn = 0;
  for (const GroupId group : targets_.parameters) {
    if (some.empty() || some.contains(group)) PutUpdate(group, way, split, turn, state);
    ++turn;
  }
  return true;
}

bool LayoutMoves::ServeWholeUnit(LayoutState& state, Random& random) {
  const LayoutId split = DrawSplit(state, random);
  if (!split.valid() || targets_.parameters.empty()) return false;
  const std::vector<GroupId>& unit = targets_.units[random.Below(targets_.units.size())];
  const Update way = random.Below(2) == 0 ? Update::kServed : Update::kBack;
  size_t turn = 0;
  for (const GroupId group : targets_.parameters) {
    const bool own = std::find(unit.begin(), unit.end(), group) != unit.end();
    if (own) PutUpdate(group, way, split, turn, state);
    ++turn;
  }
  return true;
}

bool LayoutMoves::ServeAlike(LayoutState& state, Random& random) {
  const LayoutId split = DrawSplit(state, random);
  if (!split.valid() || targets_.alike_parameters.empty()) return false;
  const std::vector<GroupId>& alike =
      targets_.alike_parameters[random.Below(targets_.alike_parameters.size())];
  const auto way = kUpdates[random.Below(kUpdates.size())];
  Some some;
  if (random.Below(2) == 0) some.every = 2 + random.Below(3);
  some.from = random.Below(some.every);
  size_t turn = random.Below(book_[split].shares.size());
  for (const GroupId group : SomeOf(alike, some)) PutUpdate(group, way, split, turn++, state);
  return true;
}

LayoutState LayoutMoves::WithServers(const LayoutState& state, size_t choice) {
  LayoutState served = state;
  size_t turn = 0;
  for (const GroupId group : targets_.alike_parameters[choice]) {
    const LayoutId split = state.of_group[group];
    if (book_[split].shares.size() > 1) Set({group}, ServedBy(split, turn++), served);
  }
  return served;
}

LayoutState LayoutMoves::WithSplitUpdates(const LayoutState& state, size_t choice, Some some) {
  std::map<LayoutId, size_t> groups_of;
  for (const LayoutId id : state.of_group) ++groups_of[id];
  const auto most =
      std::max_element(groups_of.begin(), groups_of.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  LayoutState split = state;
  for (const GroupId group : SomeOf(targets_.alike_parameters[choice], some)) {
    SplitUpdate(group, most->first, split);
  }
  return split;
}

bool LayoutMoves::Replace(LayoutState& state, Random& random) {
  const std::set<LayoutId> used(state.of_group.begin(), state.of_group.end());
  const LayoutId old =
      *std::next(used.begin(), static_cast<std::ptrdiff_t>(random.Below(used.size())));
  const Way way = MoveTargets::kWays[random.Below(MoveTargets::kWays.size())];
  const LayoutId layout = way == Way::kOther ? DrawUsed(state, random) : DrawCandidate(way, random);
  if (!layout.valid()) return false;
  for (const GroupId group : IdRange<GroupId>(state.of_group.size())) {
    if (state.of_group[group] != old) continue;
    if (targets_.MayBe(group, book_[layout])) state.of_group[group] = layout;
  }
  return true;
}

// From a device that keeps a part to one beside it in the layout, or to any other.
bool LayoutMoves::ShiftShares(LayoutState& state, Random& random) {
  std::vector<LayoutId> splits;
  for (const LayoutId id : std::set<LayoutId>(state.of_group.begin(), state.of_group.end())) {
    if (book_[id].axis().valid() && book_[id].shares.size() > 1) splits.push_back(id);
  }
  if (splits.empty() || (targets_.equal && random.Below(kRarer) > 0)) return false;
  const LayoutId old = splits[random.Below(splits.size())];
  const size_t count = book_[old].shares.size();
  const size_t from = random.Below(count);
  const size_t to = (from + 1 + random.Below(count - 1)) % count;
  std::vector<int64_t> lengths = LengthsOf(book_[old]);
  const int64_t limit = std::max<int64_t>(1, lengths[from] / 4);
  const int64_t amount = 1 + static_cast<int64_t>(random.Below(static_cast<uint64_t>(limit)));
  lengths[from] -= amount;
  lengths[to] += amount;
  if (lengths[from] <= 0) return false;
  const LayoutId changed = book_.Add(SplitOver(book_[old].axis(), DevicesOf(book_[old]), lengths));
  std::replace(state.of_group.begin(), state.of_group.end(), old, changed);
  return true;
}

std::vector<LayoutState> LayoutMoves::OtherSharesOf(const LayoutState& state, LayoutId old) const {
  std::vector<LayoutState> states;
  const Layout& layout = book_[old];
  if (!layout.axis().valid()) return states;
  const auto add = [&](const std::vector<LayoutId>& candidates) {
    for (const LayoutId id : candidates) {
      if (id == old || book_[id].axis() != layout.axis()) continue;
      if (DevicesOf(book_[id]) != DevicesOf(layout)) continue;
      LayoutState& other = states.emplace_back(state);
      std::replace(other.of_group.begin(), other.of_group.end(), old, id);
    }
  };
  add(targets_.to_parts);
  for (const std::vector<MoveTargets::ModelAxis>& alike : targets_.model_axes) {
    for (const MoveTargets::ModelAxis& axis : alike) add(axis.layouts);
  }
  return states;
}

std::vector<LayoutState> LayoutMoves::OtherWaysOf(const LayoutState& state) {
  std::vector<LayoutState> ways;
  for (const Bytes fusion : {Bytes(0), kBuckets}) {
    for (const bool broadcasts : {false, true}) {
      LayoutState way = state;
      way.switches.fusion = fusion;
      way.switches.broadcasts = broadcasts;
      if (!(way == state)) ways.push_back(std::move(way));
    }
  }
  return ways;
}

bool LayoutMoves::ChangeHow(LayoutState& state, Random& random) const {
  if (random.Below(2) == 0) {
    state.switches.fusion = state.switches.fusion > Bytes(0) ? Bytes(0) : kBuckets;
  } else {
    state.switches.broadcasts = !state.switches.broadcasts;
  }
  return true;
}

bool LayoutMoves::Change(MoveKind kind, LayoutState& state, Random& random) {
  switch (kind) {
    case MoveKind::kUnitToDevice: return MoveOne(targets_.units, Way::kDevice, state, random);
    case MoveKind::kUnitToCopies: return MoveOne(targets_.units, Way::kCopies, state, random);
    case MoveKind::kUnitToParts: return MoveOne(targets_.units, Way::kParts, state, random);
    case MoveKind::kUnitToOther: return MoveOne(targets_.units, Way::kOther, state, random);
    case MoveKind::kGroupToDevice: return MoveOne(targets_.singles, Way::kDevice, state, random);
    case MoveKind::kGroupToCopies: return MoveOne(targets_.singles, Way::kCopies, state, random);
    case MoveKind::kGroupToParts: return MoveOne(targets_.singles, Way::kParts, state, random);
    case MoveKind::kGroupToOther: return MoveOne(targets_.singles, Way::kOther, state, random);
    case MoveKind::kAlikeToDevice: return MoveOne(targets_.alike, Way::kDevice, state, random);
    case MoveKind::kAlikeToCopies: return MoveOne(targets_.alike, Way::kCopies, state, random);
    case MoveKind::kAlikeToParts: return MoveOne(targets_.alike, Way::kParts, state, random);
    case MoveKind::kAlikeToOther: return MoveOne(targets_.alike, Way::kOther, state, random);
    case MoveKind::kAxis: return SplitByAxis(state, random);
    case MoveKind::kGroupAxis: return SplitGroupByAxis(/*everywhere=*/false, state, random);
    case MoveKind::kAlikeAxis: return SplitGroupByAxis(/*everywhere=*/true, state, random);
    case MoveKind::kServers: return ServeUnit(state, random);
    case MoveKind::kUnitServers: return ServeWholeUnit(state, random);
    case MoveKind::kServersAlike: return ServeAlike(state, random);
    case MoveKind::kLayout: return Replace(state, random);
    case MoveKind::kShares: return ShiftShares(state, random);
    case MoveKind::kHow: return ChangeHow(state, random);
  }
  return false;
}

std::optional<LayoutState> LayoutMoves::Draw(const LayoutState& state, MoveKind kind,
                                             Random& random) {
  LayoutState drawn = state;
  if (!Change(kind, drawn, random) || drawn == state || !MayBe(drawn)) return std::nullopt;
  return drawn;
}

std::optional<LayoutMoves::Neighbour> LayoutMoves::Draw(const LayoutState& state,
                                                        const MoveChances& chances,
                                                        Random& random) {
  const MoveKind kind = chances.Draw(random);
  std::optional<LayoutState> next = Draw(state, kind, random);
  if (!next) return std::nullopt;
  if (chances.one_at_a_time() || random.Below(5) > 0) {
    return Neighbour{*std::move(next), {kind}};
  }
  const MoveKind other = chances.Draw(random);
  std::optional<LayoutState> second = Draw(*next, other, random);
  if (second) return Neighbour{*std::move(second), {kind, other}};
  return Neighbour{*std::move(next), {kind}};
}

std::vector<LayoutState> LayoutMoves::PlainStates() {
  // What is asked of the problem holds for all its states.
  const StepSwitches plain{.local_batch_norm = layouts_.local_batch_norm};
  LayoutState placed{{}, plain};
  for (const GroupId group : IdRange<GroupId>(layouts_.graph.group_count())) {
    placed.of_group.push_back(
        *std::find_if(targets_.candidates.begin(), targets_.candidates.end(), [&](LayoutId id) {
          return book_[id].shares.size() == 1 && targets_.MayBe(group, book_[id]);
        }));
  }
  std::vector<LayoutState> states = {std::move(placed)};
  const AxisId batch = layouts_.axes.batch();
  for (const LayoutId id : targets_.candidates) {
    const bool by_samples = batch.valid() && book_[id].axis() == batch;
    if (!by_samples) continue;
    LayoutState state{{}, plain};
    state.of_group = IdVector<GroupId, LayoutId>(layouts_.graph.group_count(), id);
    if (MayBe(state)) states.push_back(std::move(state));
  }
  return states;
}

}  // namespace placewright
