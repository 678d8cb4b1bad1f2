#include "search/layouts/test_layout_optimum.h"

#include <algorithm>
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
               std::vector<Share> shares, std::vector<Layout>& layouts) {
  const int64_t from = shares.empty() ? 0 : shares.back().to;
  const int64_t after = static_cast<int64_t>(order.size() - shares.size()) - 1;
  const DeviceId device = order[shares.size()];
  if (after == 0) {
    shares.push_back({device, from, size});
    layouts.push_back({axis, std::move(shares)});
    return;
  }
  for (int64_t to = from + 1; to + after <= size; ++to) {
    std::vector<Share> longer = shares;
    longer.push_back({device, from, to});
    AddShares(axis, size, order, std::move(longer), layouts);
  }
}

}  // namespace

std::vector<Layout> LayoutsOf(const LayoutProblem& problem, GroupId group) {
  std::vector<Layout> layouts;
  const size_t devices = problem.cluster.device_count();
  for (uint32_t bits = 1; bits < 1U << devices; ++bits) {
    std::vector<DeviceId> set;
    for (size_t d = 0; d < devices; ++d) {
      if ((bits >> d & 1U) != 0) set.push_back(DeviceId(d));
    }
    Layout everywhere;
    for (const DeviceId device : set) everywhere.shares.push_back({device, 0, 0});
    layouts.push_back(everywhere);
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
    for (const bool broadcasts : {true, false}) {
      StepSwitches switches;
      switches.broadcasts = broadcasts;
      const Result<Evaluation> evaluation = EvaluateCompiled(problem, {tried, switches});
      if (!evaluation.ok()) continue;
      const Score score = evaluation.value().score();
      if (!optimum.best || score < *optimum.best) optimum.best = score;
    }
    size_t g = 0;
    while (g < groups && ++digits[g] == first[g + 1] - first[g]) digits[g++] = 0;
    if (g == groups) return optimum;
  }
}

}  // namespace placewright
