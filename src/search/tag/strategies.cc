#include "search/tag/strategies.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "plan/sharing_out.h"
#include "search/partition/model_parallel.h"

namespace placewright {

Result<std::unique_ptr<Strategies>> Strategies::Make(const Problem& problem, LayoutBook& book,
                                                     const SliceOptions& options) {
  std::unique_ptr<Strategies> strategies(new Strategies(problem, book));
  PW_RETURN_IF_ERROR(strategies->Prepare(options));
  return strategies;
}

Strategies::Strategies(const Problem& problem, LayoutBook& book)
    : problem_(problem), layouts_(*problem.layouts), book_(book) {}

Status Strategies::Prepare(const SliceOptions& options) {
  device_times_ = TimesOf(layouts_);
  PW_RETURN_IF_ERROR(FindUnits());
  PW_ASSIGN(std::vector<DeviceId> devices, DevicesToSplitOver(layouts_, device_times_));
  std::erase_if(devices, [&](DeviceId device) { return !MayHoldAny(device); });
  if (devices.empty()) {
    PW_ASSIGN(devices, DevicesToSplitOver(layouts_, device_times_));
  }
  device_groups_ = UsableGroups(layouts_.cluster.groups(), devices);
  slices_ = MakeSlices(layouts_.cluster, device_groups_, device_times_,
                       layouts_.axes.batch().valid() ? layouts_.axes.samples() : 0, options);
  AddLayouts();
  FindBase();
  turn_ = IdVector<GroupId, int32_t>(layouts_.graph.group_count(), -1);
  int32_t turn = 0;
  for (const GroupId group : ParameterGroups(layouts_.graph)) turn_[group] = turn++;
  may_have_.resize(units_.size());
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    for (int32_t slice = 0; slice < static_cast<int32_t>(slices_.size()); ++slice) {
      if (MayHave(unit, slice)) may_have_[unit].push_back(slice);
    }
  }
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    if (may_have_[unit].empty()) AddPlaces(unit);
    if (!may_have_[unit].empty()) continue;
    return MakeError(ErrorCode::kConstraint,
                     "constraints hold ops of one unit to different devices", "",
                     "Loosen --pin, --forbid or --colocate, take more --units, or use --algo "
                     "layout-search.");
  }
  is_allowed_.assign(units_.size(), std::vector<char>(slices_.size(), 0));
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    for (const int32_t slice : may_have_[unit]) is_allowed_[unit][static_cast<size_t>(slice)] = 1;
  }
  return Ok();
}

bool Strategies::MayHoldAny(DeviceId device) const {
  return std::any_of(found_.allowed.begin(), found_.allowed.end(), [&](const auto& allowed) {
    return allowed.empty() || allowed[device.index()];
  });
}

Status Strategies::FindUnits() {
  PW_ASSIGN(found_, FindLayoutUnits(problem_));
  const Csr<GroupId, OpId> members = layouts_.graph.GroupMembers();
  std::vector<int64_t> times;
  for (const std::vector<GroupId>& unit : found_.units) {
    int64_t time = 0;
    for (const GroupId group : unit) {
      for (const OpId op : members[group]) {
        time += std::max<int64_t>(0, layouts_.costs.MinTime(op).count);
      }
    }
    times.push_back(time);
  }
  std::vector<size_t> order(times.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (times[a] != times[b]) return times[a] > times[b];
    return found_.units[a].front() < found_.units[b].front();
  });
  unit_of_ = IdVector<GroupId, int32_t>(layouts_.graph.group_count(), -1);
  for (const size_t unit : order) {
    for (const GroupId group : found_.units[unit]) {
      unit_of_[group] = static_cast<int32_t>(units_.size());
    }
    units_.push_back(found_.units[unit]);
    unit_times_.push_back(Nanos(times[unit]));
  }
  return Ok();
}

// The set of all is the first, and shared out evenly if it can be; else everything is on the fastest device.
void Strategies::FindBase() {
  if (slices_.front().option == SliceOption::kEven) return;
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < slices_.size(); ++i) {
    const double time = device_times_.Total(slices_[i].devices.front());
    if (slices_[i].option != SliceOption::kPlace || time >= best) continue;
    best = time;
    base_ = static_cast<int32_t>(i);
  }
}

void Strategies::AddLayouts() {
  for (const DeviceId device : layouts_.cluster.devices()) {
    placed_on_.push_back(book_.Add(PlacedOn(device)));
  }
  for (const Slice& slice : slices_) {
    LayoutId layout;
    if (slice.option == SliceOption::kPlace) {
      layout = placed_on_[slice.devices.front().index()];
    } else if (slice.option == SliceOption::kCopies) {
      layout = book_.Add(CopiesOn(slice.devices));
    } else if (slice.option != SliceOption::kModelParallel) {
      layout = book_.Add(SplitOver(layouts_.axes.batch(), slice.devices, slice.shares));
    }
    layout_of_.push_back(layout);
  }
}

bool Strategies::MayHave(size_t unit, int32_t number) const {
  const Slice& slice = slices_[static_cast<size_t>(number)];
  const std::vector<GroupId>& groups = units_[unit];
  if (slice.option == SliceOption::kModelParallel) {
    // Cut groups that --colocate joins would have to stay together.
    return groups.size() >= slice.devices.size() &&
           std::all_of(groups.begin(), groups.end(), [&](GroupId group) {
             return !found_.whole[group] && found_.allowed[group].empty();
           });
  }
  return std::all_of(groups.begin(), groups.end(), [&](GroupId group) {
    return found_.MayBe(group, book_[LayoutOf(group, number)]);
  });
}

void Strategies::AddPlaces(size_t unit) {
  for (const DeviceId device : layouts_.cluster.devices()) {
    const bool may = std::all_of(units_[unit].begin(), units_[unit].end(), [&](GroupId group) {
      return found_.MayBe(group, book_[placed_on_[device.index()]]);
    });
    if (!may) continue;
    Slice place{{}, {device}, SliceOption::kPlace, {}};
    const auto known = std::find_if(slices_.begin(), slices_.end(), [&](const Slice& slice) {
      return slice.option == place.option && slice.devices == place.devices;
    });
    may_have_[unit].push_back(static_cast<int32_t>(known - slices_.begin()));
    if (known != slices_.end()) continue;
    for (size_t group = 0; group < device_groups_.size(); ++group) {
      const std::vector<DeviceId>& of = device_groups_[group];
      const bool has = std::find(of.begin(), of.end(), device) != of.end();
      if (has) place.groups.push_back(static_cast<int32_t>(group));
    }
    slices_.push_back(std::move(place));
    layout_of_.push_back(placed_on_[device.index()]);
  }
}

LayoutId Strategies::LayoutOf(GroupId group, int32_t number) const {
  const Slice& slice = slices_[static_cast<size_t>(number)];
  if (!HasServers(slice.option) || turn_[group] < 0) return layout_of_[static_cast<size_t>(number)];
  const size_t turn = static_cast<size_t>(turn_[group]) % slice.devices.size();
  return placed_on_[slice.devices[turn].index()];
}

Result<const std::vector<LayoutId>*> Strategies::ModelParallel(size_t unit, int32_t number) {
  const auto [cut, made] = cuts_.try_emplace({unit, number});
  if (!made) return &cut->second;
  const Slice& slice = slices_[static_cast<size_t>(number)];
  std::vector<double> speeds;
  for (const DeviceId device : slice.devices) {
    speeds.push_back(1 / std::max(1.0, device_times_.Total(device)));
  }
  Layouts layouts;
  layouts.of_group = IdVector<GroupId, LayoutId>(layouts_.graph.group_count(), LayoutId());
  PW_RETURN_IF_ERROR(PlaceModelParallel(layouts_.graph, layouts_.costs, units_[unit], slice.devices,
                                        speeds, layouts));
  for (const GroupId group : units_[unit]) {
    cut->second.push_back(placed_on_[layouts.Of(group).shares.front().device.index()]);
  }
  return &cut->second;
}

std::vector<int32_t> Strategies::SlicesOf(std::span<const int32_t> decided) const {
  std::vector<int32_t> slices(decided.begin(), decided.end());
  for (size_t unit = slices.size(); unit < units_.size(); ++unit) {
    int32_t slice = slices.empty() ? data_parallel() : slices.front();
    for (const int32_t other : {data_parallel(), may_have_[unit].front()}) {
      if (is_allowed_[unit][static_cast<size_t>(slice)] == 0) slice = other;
    }
    slices.push_back(slice);
  }
  return slices;
}

Result<LayoutState> Strategies::StateOf(std::span<const int32_t> slices) {
  LayoutState state;
  state.switches = AsStart(layouts_, {});
  state.of_group = IdVector<GroupId, LayoutId>(layouts_.graph.group_count(), LayoutId());
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    const int32_t slice = slices[unit];
    if (slices_[static_cast<size_t>(slice)].option == SliceOption::kModelParallel) {
      PW_ASSIGN(const std::vector<LayoutId>* const cut, ModelParallel(unit, slice));
      for (size_t i = 0; i < cut->size(); ++i) state.of_group[units_[unit][i]] = (*cut)[i];
      continue;
    }
    for (const GroupId group : units_[unit]) state.of_group[group] = LayoutOf(group, slice);
  }
  for (LayoutId& layout : state.of_group) {
    if (!layout.valid()) layout = state.of_group[units_.front().front()];
  }
  return state;
}

}  // namespace placewright
