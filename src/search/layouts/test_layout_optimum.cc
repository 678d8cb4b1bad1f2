#include "search/layouts/test_layout_optimum.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated.h"

namespace placewright {
namespace {

std::set<AxisId> AxesOf(const LayoutProblem& problem, GroupId group) {
  std::set<AxisId> axes;
  for (const OpId op : problem.graph.ops()) {
    if (problem.graph.group(op) != group) continue;
    for (const AxisId axis : problem.axes.axes()) {
      if (problem.axes.axis(axis).size > 1 && problem.axes.Touches(op, axis)) axes.insert(axis);
    }
  }
  return axes;
}

// All ways to give every device of `order` from its `at` on a share of what is left from `from` on.
void AddShares(AxisId axis, int64_t size, const std::vector<DeviceId>& order,
               std::vector<int64_t> lengths, std::vector<Layout>& layouts) {
  const int64_t left = size - std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  const int64_t after = static_cast<int64_t>(order.size() - lengths.size()) - 1;
  lengths.push_back(left);
  if (after == 0) layouts.push_back(SplitOver(axis, order, lengths));
  for (int64_t length = 1; after > 0 && length + after <= left; ++length) {
    lengths.back() = length;
    AddShares(axis, size, order, lengths, layouts);
  }
}

using Boxes = std::vector<std::pair<DeviceId, std::map<AxisId, Interval>>>;

// All ways to share `box` out among `devices`, by cuts of axes one within the other.
std::vector<Boxes> WaysToShare(const std::vector<DeviceId>& devices,
                               const std::map<AxisId, Interval>& box) {
  std::vector<Boxes> ways;
  Boxes copies;
  for (const DeviceId device : devices) copies.emplace_back(device, box);
  ways.push_back(std::move(copies));
  for (uint32_t bits = 1; bits + 1 < 1U << devices.size(); ++bits) {
    std::vector<DeviceId> low, high;
    for (size_t d = 0; d < devices.size(); ++d) {
      ((bits >> d & 1U) != 0 ? low : high).push_back(devices[d]);
    }
    for (const auto& [axis, interval] : box) {
      for (const int64_t at :
           std::set<int64_t>{interval.from + 1, (interval.from + interval.to) / 2}) {
        if (at <= interval.from || at >= interval.to) continue;
        std::map<AxisId, Interval> below = box, above = box;
        below[axis].to = above[axis].from = at;
        for (const Boxes& of_low : WaysToShare(low, below)) {
          for (const Boxes& of_high : WaysToShare(high, above)) {
            ways.push_back(of_low);
            ways.back().insert(ways.back().end(), of_high.begin(), of_high.end());
          }
        }
      }
    }
  }
  return ways;
}

// Boxes of those axes alone that some device has a part of.
Layout LayoutOf(const NamedAxes& axes, const Boxes& boxes) {
  std::set<AxisId> cut;
  for (const auto& [device, box] : boxes) {
    for (const auto& [axis, interval] : box) {
      if (interval.length() < axes.axis(axis).size) cut.insert(axis);
    }
  }
  Layout layout;
  for (const auto& [device, box] : boxes) {
    std::vector<AxisInterval> own;
    for (const AxisId axis : cut) own.push_back({axis, box.at(axis)});
    layout.shares.push_back({device, {own.begin(), own.end()}});
  }
  std::sort(layout.shares.begin(), layout.shares.end());
  return layout;
}

void TryBoth(const LayoutProblem& problem, const Layouts& tried, LayoutOptimum& optimum) {
  for (const bool broadcasts : {true, false}) {
    StepSwitches switches;
    switches.broadcasts = broadcasts;
    const Result<Evaluation> evaluation = EvaluateCompiled(problem, {tried, switches});
    if (!evaluation.ok()) continue;
    const Score score = evaluation.value().score();
    if (!optimum.best || score < *optimum.best) optimum.best = score;
  }
}

}  // namespace

std::vector<Layout> BoxLayoutsOf(const LayoutProblem& problem, GroupId group) {
  std::map<AxisId, Interval> whole;
  for (const AxisId axis : AxesOf(problem, group)) {
    whole[axis] = {0, problem.axes.axis(axis).size};
  }
  const size_t devices = problem.cluster.device_count();
  std::set<Layout> found;
  for (uint32_t bits = 1; bits < 1U << devices; ++bits) {
    std::vector<DeviceId> set;
    for (size_t d = 0; d < devices; ++d) {
      if ((bits >> d & 1U) != 0) set.push_back(DeviceId(d));
    }
    if (set.size() < 3) continue;
    for (const Boxes& boxes : WaysToShare(set, whole)) {
      Layout layout = LayoutOf(problem.axes, boxes);
      if (layout.IsSplit() && !layout.axis().valid()) found.insert(std::move(layout));
    }
  }
  return {found.begin(), found.end()};
}

std::vector<Layout> LayoutsOf(const LayoutProblem& problem, GroupId group) {
  std::vector<Layout> layouts;
  const size_t devices = problem.cluster.device_count();
  for (uint32_t bits = 1; bits < 1U << devices; ++bits) {
    std::vector<DeviceId> set;
    for (size_t d = 0; d < devices; ++d) {
      if ((bits >> d & 1U) != 0) set.push_back(DeviceId(d));
    }
    layouts.push_back(CopiesOn(set));
    if (set.size() == 1) continue;
    for (const AxisId axis : AxesOf(problem, group)) {
      const NamedAxis& named = problem.axes.axis(axis);
      if (named.size < static_cast<int64_t>(set.size())) continue;
      std::vector<DeviceId> order = set;
      do {
        AddShares(axis, named.size, order, {}, layouts);
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
  return layouts;
}

std::optional<LayoutOptimum> BestOfLayouts(const LayoutProblem& problem, int64_t limit) {
  const size_t groups = problem.graph.group_count();
  Layouts tried;
  std::vector<size_t> first, digits(groups, 0);
  LayoutOptimum optimum;
  optimum.combinations = 1;
  for (size_t g = 0; g < groups; ++g) {
    const std::vector<Layout> choices = LayoutsOf(problem, GroupId(g));
    first.push_back(tried.layouts.size());
    tried.layouts.insert(tried.layouts.end(), choices.begin(), choices.end());
    optimum.combinations *= static_cast<int64_t>(choices.size());
    if (optimum.combinations > limit) return std::nullopt;
  }
  first.push_back(tried.layouts.size());
  for (;;) {
    tried.of_group = {};
    for (size_t g = 0; g < groups; ++g) tried.of_group.push_back(LayoutId(first[g] + digits[g]));
    TryBoth(problem, tried, optimum);
    size_t g = 0;
    while (g < groups && ++digits[g] == first[g + 1] - first[g]) digits[g++] = 0;
    if (g == groups) return optimum;
  }
}

LayoutOptimum BestOfBoxes(const LayoutProblem& problem, int64_t limit, Random& random) {
  const size_t groups = problem.graph.group_count();
  std::vector<std::vector<Layout>> choices;
  LayoutOptimum optimum;
  optimum.combinations = 1;
  for (size_t g = 0; g < groups; ++g) {
    choices.push_back(LayoutsOf(problem, GroupId(g)));
    const std::vector<Layout> boxes = BoxLayoutsOf(problem, GroupId(g));
    choices.back().insert(choices.back().end(), boxes.begin(), boxes.end());
    const auto count = static_cast<int64_t>(choices.back().size());
    optimum.combinations = std::min(limit + 1, optimum.combinations * count);
  }
  const bool all = optimum.combinations <= limit;
  for (int64_t number = 0; number < std::min(limit, optimum.combinations); ++number) {
    Layouts tried;
    int64_t left = number;
    for (const std::vector<Layout>& of_group : choices) {
      const auto count = static_cast<int64_t>(of_group.size());
      const int64_t choice =
          all ? left % count : static_cast<int64_t>(random.Below(of_group.size()));
      left /= count;
      tried.of_group.push_back(LayoutId(tried.layouts.size()));
      tried.layouts.push_back(of_group[static_cast<size_t>(choice)]);
    }
    TryBoth(problem, tried, optimum);
  }
  return optimum;
}

}  // namespace placewright
