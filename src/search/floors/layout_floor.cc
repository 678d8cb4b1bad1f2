#include "search/floors/layout_floor.h"

#include <algorithm>

#include "cost/slowest.h"

namespace placewright {
namespace {

// A time may be rounded down once it has been multiplied.
constexpr double kRoundedOff = 1;
// Of sums of millions of doubles.
constexpr double kInexact = 1e-9;

}  // namespace

LayoutFloor::LayoutFloor(const LayoutProblem& problem)
    : problem_(problem),
      floors_(problem),
      kinds_(problem.cluster.kinds().size()),
      one_of_(kinds_),
      draws_(problem.graph.group_count(), false) {
  slowest_of_.assign(2, 1);
  while (slowest_of_.size() <= problem.cluster.device_count()) {
    slowest_of_.push_back(SlowestOf(static_cast<int32_t>(slowest_of_.size())));
  }
  for (const DeviceId device : problem.cluster.devices()) {
    one_of_[static_cast<size_t>(problem.cluster.device(device).kind)] = device;
  }
  for (const OpId op : problem.graph.ops()) {
    const OpRule* const rule = problem.axes.rule(op);
    if (rule != nullptr && rule->draws_random) draws_[problem.graph.group(op)] = true;
  }
}

namespace {

std::vector<AxisId> AxesOf(const Layout& layout) {
  std::vector<AxisId> axes;
  if (layout.shares.empty()) return axes;
  for (const AxisInterval& one : layout.shares.front().box) axes.push_back(one.axis);
  return axes;
}

}  // namespace

void LayoutFloor::AddOp(OpId op, const std::vector<AxisId>& axes, Work* by_kind) const {
  bool split = false, even = true;
  for (const AxisId axis : axes) {
    const RuleAxisId by = problem_.axes.SplitBy(op, axis);
    if (!by.valid()) continue;
    split = true;
    even = even && !HasUnevenParts(*problem_.axes.rule(op), by);
  }
  for (size_t kind = 0; kind < kinds_; ++kind) {
    if (!one_of_[kind].valid()) continue;
    const double whole =
        std::max(0.0, static_cast<double>(floors_.Whole(op, one_of_[kind])) - kRoundedOff);
    const double launch = static_cast<double>(floors_.Fixed(op, one_of_[kind]));
    const double fixed = split ? std::min(whole, launch) : whole;
    by_kind[kind].fixed += fixed;
    if (even) by_kind[kind].shared += whole - fixed;
  }
}

// Of all groups, were they split by these.
const std::vector<LayoutFloor::Work>& LayoutFloor::WorkBy(const std::vector<AxisId>& axes) {
  std::vector<Work>& work = by_axes_[axes];
  if (!work.empty()) return work;
  work.resize(problem_.graph.group_count() * kinds_);
  for (const OpId op : problem_.graph.ops()) {
    AddOp(op, axes, &work[problem_.graph.group(op).index() * kinds_]);
  }
  return work;
}

void LayoutFloor::SumUp(const Layouts& layouts) {
  sums_.assign(layouts.layouts.size() * kinds_, {});
  for (size_t i = works_.size(); i < layouts.layouts.size(); ++i) {
    works_.push_back(&WorkBy(AxesOf(layouts.layouts[i])));
  }
  for (const GroupId group : IdRange<GroupId>(problem_.graph.group_count())) {
    if (draws_[group]) continue;
    const size_t layout = layouts.of_group[group].index();
    const std::vector<Work>& work = *works_[layout];
    for (size_t kind = 0; kind < kinds_; ++kind) {
      sums_[layout * kinds_ + kind].fixed += work[group.index() * kinds_ + kind].fixed;
      sums_[layout * kinds_ + kind].shared += work[group.index() * kinds_ + kind].shared;
    }
  }
}

void LayoutFloor::AddTo(const Layout& layout, const Work* by_kind) {
  const Cluster& cluster = problem_.cluster;
  for (const Share& share : layout.shares) {
    const int32_t kind = cluster.device(share.device).kind;
    const Work& work = by_kind[static_cast<size_t>(kind)];
    double part = share.box.empty() ? 0 : 1;  // what is shared out is of splits alone
    for (const auto& [axis, interval] : share.box) {
      part *= static_cast<double>(interval.length()) /
              static_cast<double>(problem_.axes.axis(axis).size);
    }
    double time = work.fixed + work.shared * part;
    // Times that were measured are taken as they are.
    const bool modelled = !floors_.Measured(share.device);
    if (modelled && cluster.kind(share.device).device_class == DeviceClass::kGpu) {
      const auto alike = std::count_if(
          layout.shares.begin(), layout.shares.end(),
          [&](const Share& other) { return cluster.device(other.device).kind == kind; });
      time *= slowest_of_[static_cast<size_t>(alike)];
    }
    busy_[share.device.index()] += time;
  }
}

Nanos LayoutFloor::Of(const Layouts& layouts) {
  SumUp(layouts);
  busy_.assign(problem_.cluster.device_count(), 0);
  for (size_t i = 0; i < layouts.layouts.size(); ++i) {
    const Work* const by_kind = &sums_[i * kinds_];
    const bool used = std::any_of(by_kind, by_kind + kinds_, [](const Work& work) {
      return work.fixed > 0 || work.shared > 0;
    });
    if (used) AddTo(layouts.layouts[i], by_kind);
  }
  for (const GroupId group : IdRange<GroupId>(problem_.graph.group_count())) {
    if (!draws_[group]) continue;
    const DeviceId first = layouts.Of(group).shares.front().device;
    const size_t kind = static_cast<size_t>(problem_.cluster.device(first).kind);
    busy_[first.index()] += WorkBy({})[group.index() * kinds_ + kind].fixed;
  }
  const double longest = *std::max_element(busy_.begin(), busy_.end()) * (1 - kInexact);
  return Nanos(longest < static_cast<double>(kMaxQuantity) ? static_cast<int64_t>(longest)
                                                           : kMaxQuantity);
}

}  // namespace placewright
