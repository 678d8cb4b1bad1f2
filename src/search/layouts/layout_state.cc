#include "search/layouts/layout_state.h"

#include <algorithm>

#include "base/random.h"
#include "compile/layout_specs.h"
#include "search/layouts/wanted_layouts.h"

namespace placewright {
namespace {

LayoutSpec SpecOfLayout(const LayoutProblem& problem, const Layout& layout, bool splits) {
  LayoutSpec spec;
  const bool several = layout.shares.size() > 1;
  if (several) {
    spec.option = splits ? LayoutOption::kAllReduce : LayoutOption::kDuplicate;
  }
  if (several && splits) spec.axis = problem.axes.axis(layout.axis).name;
  for (const Share& share : layout.shares) {
    LayoutSpec::Device device{problem.cluster.device(share.device).name, std::nullopt,
                              std::nullopt};
    if (several && splits) {
      device.from = share.from;
      device.to = share.to;
    }
    spec.devices.push_back(std::move(device));
  }
  return spec;
}

// Which groups have an op that the axis of their layout splits.
IdVector<GroupId, bool> SplitGroupsOf(const LayoutProblem& problem, const LayoutBook& book,
                                      const LayoutState& state) {
  IdVector<GroupId, bool> split(problem.graph.group_count(), false);
  for (const OpId op : problem.graph.ops()) {
    const GroupId group = problem.graph.group(op);
    const AxisId axis = book[state.of_group[group]].axis;
    if (axis.valid() && problem.axes.SplitBy(op, axis).valid()) split[group] = true;
  }
  return split;
}

// What is asked of the problem, or decided for each step, no spec says.
StepSwitches SwitchesOf(const LayoutProblem& problem, const DistributionSpec& spec) {
  StepSwitches switches = spec.switches;
  switches.local_batch_norm = problem.local_batch_norm;
  switches.gradients_apart.reset();
  return switches;
}

}  // namespace

uint64_t HashOf(const LayoutState& state) {
  uint64_t hash = 0;
  const auto mix = [&](uint64_t number) { hash = Random(hash ^ number).Next(); };
  mix(static_cast<uint64_t>(state.switches.fusion.count));
  mix(state.switches.broadcasts ? 1 : 0);
  for (const LayoutId id : state.of_group) mix(id.index());
  return hash;
}

LayoutId LayoutBook::Add(Layout layout) {
  Key key{layout.axis, {}};
  for (const Share& share : layout.shares) {
    for (const int64_t number : {int64_t{share.device.value()}, share.from, share.to}) {
      key.second.push_back(number);
    }
  }
  const auto [found, fresh] = ids_.emplace(std::move(key), LayoutId(layouts_.layouts.size()));
  if (fresh) layouts_.layouts.push_back(std::move(layout));
  return found->second;
}

bool IsPlaced(const LayoutState& state, const LayoutBook& book) {
  return std::all_of(state.of_group.begin(), state.of_group.end(),
                     [&](LayoutId id) { return book[id].shares.size() == 1; });
}

Result<LayoutState> StateOf(const LayoutProblem& problem, const DistributionSpec& spec,
                            LayoutBook& book) {
  PW_ASSIGN(Layouts layouts, ResolveLayouts(problem.graph, problem.axes, problem.cluster,
                                            problem.costs, spec.layouts));
  std::vector<LayoutId> ids;
  for (Layout& layout : layouts.layouts) ids.push_back(book.Add(std::move(layout)));
  LayoutState state{{}, SwitchesOf(problem, spec)};
  for (const LayoutId id : layouts.of_group) {
    state.of_group.push_back(id.valid() ? ids[id.index()] : LayoutId());
  }
  return state;
}

DistributionSpec SpecOf(const LayoutProblem& problem, const LayoutBook& book,
                        const LayoutState& state) {
  const IdVector<GroupId, bool> split = SplitGroupsOf(problem, book, state);
  std::map<LayoutId, int64_t> uses;
  for (const LayoutId id : state.of_group) ++uses[id];
  const auto base = std::max_element(
      uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto splits_something = [&](LayoutId id) {
    for (const GroupId group : IdRange<GroupId>(state.of_group.size())) {
      if (state.of_group[group] == id && split[group]) return true;
    }
    return false;
  };
  WantedLayouts wanted(problem.graph,
                       SpecOfLayout(problem, book[base->first], splits_something(base->first)));
  std::map<std::pair<LayoutId, bool>, int32_t>
      numbers;  // by whether the group has something to split
  for (const GroupId group : IdRange<GroupId>(state.of_group.size())) {
    const LayoutId id = state.of_group[group];
    if (id == base->first) continue;
    const auto [found, fresh] = numbers.emplace(std::pair(id, bool{split[group]}),
                                                static_cast<int32_t>(wanted.others.size()));
    if (fresh) {
      wanted.others.push_back(SpecOfLayout(problem, book[id], split[group]));
      wanted.split_samples.push_back(split[group]);
    }
    wanted.of_group[group] = found->second;
  }
  return {SpecsOf(problem.graph, wanted), state.switches};
}

}  // namespace placewright
