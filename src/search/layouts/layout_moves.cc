#include "search/layouts/layout_moves.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "compile/layout_specs.h"
#include "graph/partition/tag_groups.h"
#include "search/layouts/layout_devices.h"
#include "search/layouts/model_structure.h"

namespace placewright {
namespace {

constexpr size_t kAllAxes = 16;    // steps with as few axes are split by each
constexpr size_t kAllSubsets = 4;  // up to so many devices every set of them is in question
constexpr Bytes kBuckets(int64_t{64} << 20);
// Of equal devices uneven shares are seldom better, and take as long to evaluate as many other moves.
constexpr uint64_t kRarer = 4;

}  // namespace

// By kind, in the order of MoveKind.
const MoveChances::Weights LayoutMoves::kAll = {10, 4, 4, 10, 4, 2,  2,  4,  4,  2,
                                                2,  2, 4, 4,  4, 15, 20, 10, 15, 5};
// Most layouts are of one device, as in FlexFlow's uniform draws.
const MoveChances::Weights LayoutMoves::kOfSingleGroups = {0, 0, 0, 0,  20, 5, 5, 20, 0, 0,
                                                           0, 0, 0, 10, 0,  0, 0, 0,  0, 0};

LayoutMoves::LayoutMoves(const Problem& problem, LayoutBook& book)
    : problem_(problem), layouts_(*problem.layouts), book_(book) {}

Result<LayoutMoves> LayoutMoves::Make(const Problem& problem, LayoutBook& book) {
  LayoutMoves moves(problem, book);
  moves.FindAllowed();
  PW_RETURN_IF_ERROR(moves.FindUnits());
  moves.FindBeside();
  moves.FindAlike();
  PW_RETURN_IF_ERROR(moves.FindLayouts());
  return moves;
}

// The step whose draws count may have one op more than the problem's; it has a group of its own.
void LayoutMoves::FindAllowed() {
  const size_t groups = layouts_.graph.group_count();
  allowed_ = IdVector<GroupId, std::vector<bool>>(groups);
  whole_ = IdVector<GroupId, bool>(groups, false);
  IdVector<GroupId, bool> seen(groups, false);
  for (const ColocationGroupId id : problem_.group_ids()) {
    const ColocationGroup& joined = problem_.groups[id];
    std::vector<GroupId> members;
    for (const OpId op : joined.ops) {
      const GroupId group = layouts_.graph.group(op);
      if (seen[group]) continue;
      seen[group] = true;
      members.push_back(group);
    }
    for (const GroupId group : members) {
      whole_[group] = members.size() > 1;
      if (joined.allowed.size() == layouts_.cluster.device_count()) continue;
      allowed_[group].assign(layouts_.cluster.device_count(), false);
      for (const DeviceId device : joined.allowed) allowed_[group][device.index()] = true;
    }
    const bool confined =
        members.size() > 1 || std::any_of(members.begin(), members.end(),
                                          [&](GroupId group) { return !allowed_[group].empty(); });
    if (confined) confined_.push_back(singles_.size());
    singles_.push_back(std::move(members));
  }
}

Status LayoutMoves::FindUnits() {
  IdVector<OpId, Nanos> times;
  for (const OpId op : layouts_.graph.ops()) {
    times.push_back(std::max(Nanos(0), layouts_.costs.MinTime(op)));
  }
  PW_ASSIGN(const TagGrouping grouping, TagGroups(layouts_.graph, times, layouts_.units));
  units_.resize(static_cast<size_t>(grouping.parts));
  // Groups that are joined lie together: in the unit of the first.
  for (const std::vector<GroupId>& members : singles_) {
    if (members.empty()) continue;
    std::vector<GroupId>& unit = units_[static_cast<size_t>(grouping.part_of[members.front()])];
    unit.insert(unit.end(), members.begin(), members.end());
  }
  std::erase_if(units_, [](const auto& unit) { return unit.empty(); });
  return Ok();
}

// Their bytes, by group.
IdVector<GroupId, Bytes> LayoutMoves::FindParameters() {
  const Graph& graph = layouts_.graph;
  IdVector<GroupId, Bytes> bytes(graph.group_count());
  IdVector<GroupId, bool> found(graph.group_count(), false);
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
    const OpId home = graph.home_op(tensor.storage);
    if (!home.valid()) continue;
    const GroupId group = graph.group(home);
    bytes[group] += tensor.bytes;
    if (!found[group]) parameters_.push_back(group);
    found[group] = true;
  }
  return bytes;
}

void LayoutMoves::FindBeside() {
  const Graph& graph = layouts_.graph;
  beside_ = IdVector<GroupId, std::vector<GroupId>>(graph.group_count());
  for (const OpId op : graph.ops()) {
    for (const OpId producer : graph.producers(op)) {
      const GroupId from = graph.group(producer), to = graph.group(op);
      if (from == to) continue;
      beside_[from].push_back(to);
      beside_[to].push_back(from);
    }
  }
  for (std::vector<GroupId>& groups : beside_) {
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  }
}

void LayoutMoves::FindAlike() {
  const Graph& graph = layouts_.graph;
  IdVector<GroupId, std::string> keys(graph.group_count());
  for (const OpId id : graph.ops()) {
    std::string& key = keys[graph.group(id)];
    key += graph.op(id).type;
    for (const TensorId result : graph.op(id).outputs) {
      key += ' ' + std::to_string(graph.tensor(result).bytes.count);
    }
    key += '\n';
  }
  const IdVector<GroupId, Bytes> bytes = FindParameters();
  const auto bytes_of = [&](const std::vector<GroupId>& of) {
    Bytes sum(0);
    for (const GroupId group : of) sum += bytes[group];
    return sum;
  };
  const std::set<GroupId> hold_parameters(parameters_.begin(), parameters_.end());
  std::map<std::string, std::vector<GroupId>> groups, parameters;
  for (const GroupId group : IdRange<GroupId>(keys.size())) {
    groups[keys[group]].push_back(group);
    if (hold_parameters.contains(group)) parameters[keys[group]].push_back(group);
  }
  for (auto& [key, of] : groups) {
    if (of.size() > 1) alike_.push_back(std::move(of));
  }
  for (auto& [key, of] : parameters) alike_parameters_.push_back(std::move(of));
  std::stable_sort(alike_parameters_.begin(), alike_parameters_.end(),
                   [&](const auto& a, const auto& b) { return bytes_of(a) > bytes_of(b); });
}

void LayoutMoves::FindDeviceSets(const std::vector<DeviceId>& devices) {
  std::set<std::vector<DeviceId>> sets = {devices};
  for (const DeviceGroup& group : layouts_.cluster.groups()) {
    std::vector<DeviceId> usable;
    for (const DeviceId device : group.devices) {
      const bool is = std::find(devices.begin(), devices.end(), device) != devices.end();
      if (is) usable.push_back(device);
    }
    std::sort(usable.begin(), usable.end());
    sets.insert(std::move(usable));
  }
  for (uint32_t bits = 1; devices.size() <= kAllSubsets && bits < 1U << devices.size(); ++bits) {
    std::vector<DeviceId> subset;
    for (size_t i = 0; i < devices.size(); ++i) {
      if ((bits >> i & 1U) != 0) subset.push_back(devices[i]);
    }
    sets.insert(std::move(subset));
  }
  for (const std::vector<DeviceId>& set : sets) {
    if (set.size() > 1) sets_.push_back(set);
  }
}

// Shared out evenly, and by speed.
void LayoutMoves::AddSplits(AxisId axis) {
  const DeviceTimes times = TimesOf(layouts_);
  const NamedAxis& split = layouts_.axes.axis(axis);
  std::vector<std::vector<DeviceId>> sets = sets_;
  // Which part is whose makes a difference where few have one.
  for (std::vector<DeviceId> order : sets_) {
    const bool small = layouts_.axes.axis_count() <= kAllAxes && order.size() <= 3;
    while (small && std::next_permutation(order.begin(), order.end())) sets.push_back(order);
  }
  for (const std::vector<DeviceId>& set : sets) {
    if (split.size < static_cast<int64_t>(set.size())) continue;
    for (const bool by_speed : {false, true}) {
      std::vector<double> weights;
      for (const DeviceId device : set) {
        weights.push_back(by_speed ? 1 / std::max(1.0, times.Total(device)) : 1);
      }
      const std::vector<int64_t> lengths = SharesInProportion(split.size, weights);
      Layout layout{split.name, {}};
      int64_t from = 0;
      for (size_t i = 0; i < set.size(); ++i) {
        layout.shares.push_back({set[i], from, from + lengths[i]});
        from += lengths[i];
      }
      const LayoutId id = book_.Add(std::move(layout));
      const bool known = std::find(candidates_.begin(), candidates_.end(), id) != candidates_.end();
      if (!known) candidates_.push_back(id);
    }
  }
}

Status LayoutMoves::FindLayouts() {
  PW_ASSIGN(const std::vector<DeviceId> devices, DevicesToSplitOver(layouts_, TimesOf(layouts_)));
  FindDeviceSets(devices);
  equal_ = std::all_of(devices.begin(), devices.end(), [&](DeviceId device) {
    return layouts_.cluster.device(device).kind == layouts_.cluster.device(devices.front()).kind;
  });
  std::set<DeviceId> places(devices.begin(), devices.end());
  for (const std::vector<GroupId>& members : singles_) {  // --pin may ask for any
    for (const GroupId group : members) {
      for (size_t d = 0; d < allowed_[group].size(); ++d) {
        if (allowed_[group][d]) places.insert(DeviceId(d));
      }
    }
  }
  for (const DeviceId device : places) {
    candidates_.push_back(book_.Add({"", {{device, 0, 0}}}));
  }
  if (layouts_.axes.batch().valid()) AddSplits(layouts_.axes.batch());
  // Of small steps every axis is in question.
  for (const AxisId axis : layouts_.axes.axes()) {
    const bool small = layouts_.axes.axis_count() <= kAllAxes;
    if (small && axis != layouts_.axes.batch()) AddSplits(axis);
  }
  for (const std::vector<DeviceId>& set : sets_) {
    Layout everywhere;
    for (const DeviceId device : set) everywhere.shares.push_back({device, 0, 0});
    candidates_.push_back(book_.Add(std::move(everywhere)));
  }
  AddModelAxes();
  AddAxisChoices();
  for (const LayoutId id : candidates_) {
    const Layout& layout = book_[id];
    const Way way = layout.shares.size() == 1 ? Way::kDevice
                    : layout.axis.empty()     ? Way::kCopies
                                              : Way::kParts;
    ways_[static_cast<size_t>(way)].push_back(id);
  }
  return Ok();
}

void LayoutMoves::AddModelAxes() {
  const ModelStructure found = StructureOf(layouts_.graph, layouts_.axes);
  for (const auto* axes :
       {&found.experts, &found.heads, &found.widths, &found.words, &found.outputs}) {
    std::vector<ModelAxis> alike;
    for (const AxisId axis : *axes) {
      ModelAxis of;
      const size_t before = candidates_.size();
      AddSplits(axis);
      // Of single groups they are drawn with their axis, not by chance.
      of.layouts.assign(candidates_.begin() + static_cast<std::ptrdiff_t>(before),
                        candidates_.end());
      candidates_.resize(before);
      std::set<GroupId> groups;
      for (const OpId op : layouts_.graph.ops()) {
        if (layouts_.axes.SplitBy(op, axis).valid()) groups.insert(layouts_.graph.group(op));
      }
      of.groups.assign(groups.begin(), groups.end());
      if (!of.layouts.empty() && !of.groups.empty()) alike.push_back(std::move(of));
    }
    if (!alike.empty()) model_axes_.push_back(std::move(alike));
  }
}

void LayoutMoves::AddAxisChoices() {
  constexpr size_t kFew = 4;
  for (size_t of = 0; of < model_axes_.size(); ++of) {
    axis_choices_.emplace_back(of, std::nullopt);
    const size_t layers = model_axes_[of].size();
    for (size_t one = 0; layers > 1 && layers <= kFew && one < layers; ++one) {
      axis_choices_.emplace_back(of, one);
    }
  }
}

LayoutState LayoutMoves::WithAxisChoice(const LayoutState& state, size_t choice) const {
  LayoutState split = state;
  const auto& [of, one] = axis_choices_[choice];
  const std::vector<ModelAxis>& alike = model_axes_[of];
  for (size_t i = 0; i < alike.size(); ++i) {
    if (one && *one != i) continue;
    const auto widest = std::max_element(
        alike[i].layouts.begin(), alike[i].layouts.end(),
        [&](LayoutId a, LayoutId b) { return book_[a].shares.size() < book_[b].shares.size(); });
    Set(alike[i].groups, *widest, split);
  }
  return split;
}

bool LayoutMoves::MayBe(GroupId group, LayoutId layout) const {
  const std::vector<Share>& shares = book_[layout].shares;
  if (whole_[group] && shares.size() > 1) return false;
  if (allowed_[group].empty()) return true;
  return std::all_of(shares.begin(), shares.end(),
                     [&](const Share& share) { return allowed_[group][share.device.index()]; });
}

bool LayoutMoves::MayBe(const LayoutState& state) const {
  for (const size_t single : confined_) {
    const std::vector<GroupId>& members = singles_[single];
    for (const GroupId group : members) {
      if (!MayBe(group, state.of_group[group])) return false;
      if (state.of_group[group] != state.of_group[members.front()] && members.size() > 1) {
        return false;
      }
    }
  }
  return true;
}

// Those that may not be there stay.
void LayoutMoves::Set(const std::vector<GroupId>& groups, LayoutId layout,
                      LayoutState& state) const {
  for (const GroupId group : groups) {
    if (MayBe(group, layout)) state.of_group[group] = layout;
  }
}

// One of a device, of copies or of parts; invalid where there is none.
LayoutId LayoutMoves::DrawCandidate(Way way, Random& random) const {
  const std::vector<LayoutId>& of = ways_[static_cast<size_t>(way)];
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
    const std::vector<GroupId>& beside = beside_[groups[random.Below(groups.size())]];
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
  for (const std::vector<GroupId>& groups : singles_) {
    if (groups.empty() || random.Below(one_of) > 0) continue;
    Move(groups, static_cast<Way>(random.Below(kWays)), perturbed, random);
  }
  return perturbed;
}

// One layer, or all that are alike.
bool LayoutMoves::SplitByAxis(LayoutState& state, Random& random) {
  if (model_axes_.empty()) return false;
  const std::vector<ModelAxis>& alike = model_axes_[random.Below(model_axes_.size())];
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
  if (model_axes_.empty()) return false;
  const std::vector<ModelAxis>& alike = model_axes_[random.Below(model_axes_.size())];
  const ModelAxis& drawn = alike[random.Below(alike.size())];
  const size_t group = random.Below(drawn.groups.size());
  const size_t layout = random.Below(drawn.layouts.size());
  for (const ModelAxis& axis : alike) {
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
  return book_.Add({"", {{shares[turn % shares.size()].device, 0, 0}}});
}

// On the devices of a layout that splits something, or back to such a layout.
bool LayoutMoves::ServeUnit(LayoutState& state, Random& random) {
  const LayoutId split = DrawSplit(state, random);
  if (!split.valid() || parameters_.empty()) return false;
  std::set<GroupId> some;  // all, where the whole step is drawn
  if (random.Below(3) > 0) {
    const auto& units = random.Below(4) == 0 ? singles_ : units_;
    const std::vector<GroupId>& unit = units[random.Below(units.size())];
    some.insert(unit.begin(), unit.end());
  }
  const bool back = random.Below(2) == 0;
  size_t turn = 0;
  for (const GroupId group : parameters_) {
    const LayoutId served = ServedBy(split, turn++);
    if (some.empty() || some.contains(group)) Set({group}, back ? split : served, state);
  }
  return true;
}

bool LayoutMoves::ServeAlike(LayoutState& state, Random& random) {
  const LayoutId split = DrawSplit(state, random);
  if (!split.valid() || alike_parameters_.empty()) return false;
  const std::vector<GroupId>& alike = alike_parameters_[random.Below(alike_parameters_.size())];
  const bool back = random.Below(3) == 0;
  size_t turn = random.Below(book_[split].shares.size());
  for (const GroupId group : alike) {
    Set({group}, back ? split : ServedBy(split, turn++), state);
  }
  return true;
}

LayoutState LayoutMoves::WithServerChoice(const LayoutState& state, size_t choice) {
  LayoutState served = state;
  size_t turn = 0;
  for (const GroupId group : alike_parameters_[choice]) {
    const LayoutId split = state.of_group[group];
    if (book_[split].shares.size() > 1) Set({group}, ServedBy(split, turn++), served);
  }
  return served;
}

bool LayoutMoves::Replace(LayoutState& state, Random& random) {
  const std::set<LayoutId> used(state.of_group.begin(), state.of_group.end());
  const LayoutId old =
      *std::next(used.begin(), static_cast<std::ptrdiff_t>(random.Below(used.size())));
  const Way way = static_cast<Way>(random.Below(kWays));
  const LayoutId layout = way == Way::kOther ? DrawUsed(state, random) : DrawCandidate(way, random);
  if (!layout.valid()) return false;
  for (const GroupId group : IdRange<GroupId>(state.of_group.size())) {
    if (state.of_group[group] == old && MayBe(group, layout)) state.of_group[group] = layout;
  }
  return true;
}

// From a device that keeps a part to one beside it in the layout, or to any other.
bool LayoutMoves::ShiftShares(LayoutState& state, Random& random) {
  std::vector<LayoutId> splits;
  for (const LayoutId id : std::set<LayoutId>(state.of_group.begin(), state.of_group.end())) {
    if (!book_[id].axis.empty() && book_[id].shares.size() > 1) splits.push_back(id);
  }
  if (splits.empty() || (equal_ && random.Below(kRarer) > 0)) return false;
  const LayoutId old = splits[random.Below(splits.size())];
  Layout layout = book_[old];
  const size_t count = layout.shares.size();
  const size_t from = random.Below(count);
  const size_t to = (from + 1 + random.Below(count - 1)) % count;
  std::vector<int64_t> lengths;
  for (const Share& share : layout.shares) lengths.push_back(share.to - share.from);
  const int64_t limit = std::max<int64_t>(1, lengths[from] / 4);
  const int64_t amount = 1 + static_cast<int64_t>(random.Below(static_cast<uint64_t>(limit)));
  lengths[from] -= amount;
  lengths[to] += amount;
  if (lengths[from] <= 0) return false;
  int64_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    layout.shares[i].from = next;
    next += lengths[i];
    layout.shares[i].to = next;
  }
  const LayoutId changed = book_.Add(std::move(layout));
  std::replace(state.of_group.begin(), state.of_group.end(), old, changed);
  return true;
}

std::vector<LayoutState> LayoutMoves::OtherSharesOf(const LayoutState& state, LayoutId old) const {
  std::vector<LayoutState> states;
  const Layout& layout = book_[old];
  if (layout.axis.empty()) return states;
  const auto same_devices = [&](const Layout& other) {
    return std::equal(layout.shares.begin(), layout.shares.end(), other.shares.begin(),
                      other.shares.end(),
                      [](const Share& a, const Share& b) { return a.device == b.device; });
  };
  const auto add = [&](const std::vector<LayoutId>& candidates) {
    for (const LayoutId id : candidates) {
      if (id == old || book_[id].axis != layout.axis || !same_devices(book_[id])) continue;
      LayoutState& other = states.emplace_back(state);
      std::replace(other.of_group.begin(), other.of_group.end(), old, id);
    }
  };
  add(ways_[static_cast<size_t>(Way::kParts)]);
  for (const std::vector<ModelAxis>& alike : model_axes_) {
    for (const ModelAxis& axis : alike) add(axis.layouts);
  }
  return states;
}

std::vector<LayoutState> LayoutMoves::OtherWaysOf(const LayoutState& state) {
  std::vector<LayoutState> ways;
  for (const Bytes fusion : {Bytes(0), kBuckets}) {
    for (const bool broadcasts : {false, true}) {
      LayoutState way = state;
      way.fusion = fusion;
      way.broadcasts = broadcasts;
      if (!(way == state)) ways.push_back(std::move(way));
    }
  }
  return ways;
}

bool LayoutMoves::ChangeHow(LayoutState& state, Random& random) const {
  if (random.Below(2) == 0) {
    state.fusion = state.fusion > Bytes(0) ? Bytes(0) : kBuckets;
  } else {
    state.broadcasts = !state.broadcasts;
  }
  return true;
}

bool LayoutMoves::Change(MoveKind kind, LayoutState& state, Random& random) {
  const auto way = static_cast<Way>(static_cast<size_t>(kind) % kWays);  // of the first twelve
  switch (kind) {
    case MoveKind::kUnitToDevice:
    case MoveKind::kUnitToCopies:
    case MoveKind::kUnitToParts:
    case MoveKind::kUnitToOther: return MoveOne(units_, way, state, random);
    case MoveKind::kGroupToDevice:
    case MoveKind::kGroupToCopies:
    case MoveKind::kGroupToParts:
    case MoveKind::kGroupToOther: return MoveOne(singles_, way, state, random);
    case MoveKind::kAlikeToDevice:
    case MoveKind::kAlikeToCopies:
    case MoveKind::kAlikeToParts:
    case MoveKind::kAlikeToOther: return MoveOne(alike_, way, state, random);
    case MoveKind::kAxis: return SplitByAxis(state, random);
    case MoveKind::kGroupAxis: return SplitGroupByAxis(/*everywhere=*/false, state, random);
    case MoveKind::kAlikeAxis: return SplitGroupByAxis(/*everywhere=*/true, state, random);
    case MoveKind::kServers: return ServeUnit(state, random);
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
  LayoutState placed;
  for (const GroupId group : IdRange<GroupId>(layouts_.graph.group_count())) {
    placed.of_group.push_back(*std::find_if(
        candidates_.begin(), candidates_.end(),
        [&](LayoutId id) { return book_[id].shares.size() == 1 && MayBe(group, id); }));
  }
  std::vector<LayoutState> states = {std::move(placed)};
  const AxisId batch = layouts_.axes.batch();
  for (const LayoutId id : candidates_) {
    const bool by_samples = batch.valid() && book_[id].axis == layouts_.axes.axis(batch).name;
    if (!by_samples) continue;
    LayoutState state;
    state.of_group = IdVector<GroupId, LayoutId>(layouts_.graph.group_count(), id);
    if (MayBe(state)) states.push_back(std::move(state));
  }
  return states;
}

}  // namespace placewright
