#include "search/layouts/test_layout_optimum.h"

#include <algorithm>
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

}  // namespace

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
