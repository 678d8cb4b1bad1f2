#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/plan/layout_words.h"
#include "graph/module_globs.h"
#include "plan/layout_book.h"
#include "plan/sharing_out.h"

namespace placewright {
namespace {

// Which groups have an op that an axis splits.
class SplitGroups {
 public:
  SplitGroups(const Graph& graph, const NamedAxes& axes, const Layouts& layouts) {
    for (const Layout& layout : layouts.layouts) {
      if (!layout.IsSplit()) continue;
      for (const auto& [axis, interval] : layout.shares.front().box) {
        if (by_axis_.contains(axis)) continue;
        IdVector<GroupId, bool>& split = by_axis_[axis];
        split.assign(graph.group_count(), false);
        for (const OpId op : graph.ops()) {
          if (axes.SplitBy(op, axis).valid()) split[graph.group(op)] = true;
        }
      }
    }
  }
  // How a group lies by a layout: by the axes that split something of it.
  Layout Lies(GroupId group, const Layout& layout) const {
    return By(layout, [&](AxisId axis) { return static_cast<bool>(by_axis_.at(axis)[group]); });
  }
  // Which of the layout's axes these are: groups with equal ones lie alike.
  std::vector<bool> SplittingOf(GroupId group, const Layout& layout) const {
    std::vector<bool> splitting;
    if (layout.shares.empty()) return splitting;
    for (const AxisInterval& one : layout.shares.front().box) {
      splitting.push_back(by_axis_.at(one.axis)[group]);
    }
    return splitting;
  }
  // By the axes that split something.
  Layout Used(const Layout& layout) const {
    return By(layout, [&](AxisId axis) {
      const IdVector<GroupId, bool>& split = by_axis_.at(axis);
      return std::find(split.begin(), split.end(), true) != split.end();
    });
  }

 private:
  template <class Keeps>
  static Layout By(const Layout& layout, const Keeps& keeps) {
    const Box first = layout.shares.empty() ? Box() : layout.shares.front().box;
    const auto stays = [&](const AxisInterval& one) { return keeps(one.axis); };
    if (std::all_of(first.begin(), first.end(), stays)) return layout;  // as all have the same axes
    Layout made;
    for (const Share& share : layout.shares) {
      std::vector<AxisInterval> box;
      for (const AxisInterval& one : share.box) {
        if (keeps(one.axis)) box.push_back(one);
      }
      made.shares.push_back({share.device, {box.begin(), box.end()}});
    }
    return made;
  }

  std::map<AxisId, IdVector<GroupId, bool>> by_axis_;
};

class Writer {
 public:
  Writer(const Graph& graph, const NamedAxes& axes, const Cluster& cluster, const Layouts& layouts,
         bool shorten)
      : graph_(graph),
        axes_(axes),
        cluster_(cluster),
        shorten_(shorten),
        named_(graph),
        split_(graph, axes, layouts),
        base_(split_.Used(MostFrequent(layouts))) {
    std::map<LayoutId, Lying> lying;
    for (const GroupId group : IdRange<GroupId>(layouts.of_group.size())) {
      wanted_.push_back(Lies(group, layouts.Of(group), lying[layouts.of_group[group]]));
    }
  }

  LayoutSpecs Write() {
    LayoutSpec base = SpecOf(base_);
    IdVector<GroupId, LayoutId> made = MadeBy(base_);
    if (base_.IsSplit()) {
      IdVector<GroupId, LayoutId> served = made;
      Serve(served);
      if (Left(served) < Left(made)) {
        base.option = LayoutOption::kParameterServer;
        made = std::move(served);
      }
    }
    base.groups = "*";
    LayoutSpecs specs = {base};
    IdVector<GroupId, bool> open;
    for (const GroupId group : groups()) open.push_back(made[group] != wanted_[group]);
    for (const std::string& module : ModulesInQuestion(open)) {
      const std::vector<GroupId> named = named_.By(module);
      LayoutId layout;
      for (const GroupId group : named) {
        if (open[group]) layout = wanted_[group];
      }
      const bool all =
          layout.valid() && std::all_of(named.begin(), named.end(), [&](GroupId group) {
            return Lies(group, Layout(book_[layout]), lying_[layout]) == wanted_[group];
          });
      if (!all) continue;
      specs.push_back(SpecOf(layout));
      specs.back().groups = module;
      for (const GroupId group : named) open[group] = false;
    }
    for (const GroupId group : groups()) {
      if (!open[group]) continue;
      specs.push_back(SpecOf(wanted_[group]));
      specs.back().group = group;
    }
    return specs;
  }

 private:
  // By which of a layout's axes split something of a group, how it lies.
  using Lying = std::map<std::vector<bool>, LayoutId>;
  LayoutId Lies(GroupId group, const Layout& layout, Lying& known) {
    const auto [at, fresh] = known.try_emplace(split_.SplittingOf(group, layout));
    if (fresh) at->second = book_.Add(split_.Lies(group, layout));
    return at->second;
  }

  IdRange<GroupId> groups() const { return IdRange<GroupId>(wanted_.size()); }

  static Layout MostFrequent(const Layouts& layouts) {
    std::vector<int64_t> uses(layouts.layouts.size(), 0);
    for (const LayoutId id : layouts.of_group) ++uses[id.index()];
    return layouts
        .layouts[static_cast<size_t>(std::max_element(uses.begin(), uses.end()) - uses.begin())];
  }

  // Of each group, where all have the layout.
  IdVector<GroupId, LayoutId> MadeBy(const Layout& layout) {
    IdVector<GroupId, LayoutId> made;
    Lying lying;
    for (const GroupId group : groups()) made.push_back(Lies(group, layout, lying));
    return made;
  }

  void Serve(IdVector<GroupId, LayoutId>& made) {
    size_t next = 0;
    for (const GroupId group : ParameterGroups(graph_)) {
      const Share& server = base_.shares[next++ % base_.shares.size()];
      made[group] = book_.Add(PlacedOn(server.device));
    }
  }

  size_t Left(const IdVector<GroupId, LayoutId>& made) const {
    size_t left = 0;
    for (const GroupId group : groups()) left += made[group] != wanted_[group] ? 1 : 0;
    return left;
  }

  // Modules that hold ops of open groups, with those around them; the outermost first.
  std::vector<std::string> ModulesInQuestion(const IdVector<GroupId, bool>& open) const {
    std::set<std::string> paths;
    for (const OpId op : graph_.ops()) {
      if (open[graph_.group(op)]) paths.insert(graph_.module_path(graph_.op(op).module));
    }
    std::vector<std::string> modules;
    for (std::string& module : ModulePaths(graph_)) {
      const bool is_glob = module.find_first_of("*?[\\") != std::string::npos;
      const bool holds = std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
        return OutermostMatch(module, path).has_value();
      });
      if (!is_glob && holds) modules.push_back(std::move(module));
    }
    return modules;
  }

  const LayoutSpec& SpecOf(LayoutId id) {
    const auto [at, fresh] = specs_.try_emplace(id);
    if (fresh) at->second = SpecOf(Layout(book_[id]));
    return at->second;
  }

  LayoutSpec SpecOf(const Layout& layout) const {
    LayoutSpec spec;
    const bool splits = layout.IsSplit() && layout.shares.size() > 1;
    if (layout.shares.size() > 1) {
      spec.option = splits ? LayoutOption::kAllReduce : LayoutOption::kDuplicate;
    }
    const bool one_axis = layout.axis().valid();
    if (splits && one_axis) spec.axis = axes_.axis(layout.axis()).name;
    for (const Share& share : layout.shares) {
      LayoutSpec::Device device{cluster_.device(share.device).name, {}};
      for (const auto& [axis, interval] : share.box) {
        if (!splits) break;
        device.box.push_back({one_axis ? "" : axes_.axis(axis).name, interval.from, interval.to});
      }
      spec.devices.push_back(std::move(device));
    }
    return shorten_ ? ShortenSpecs(axes_, cluster_, {spec}).front() : spec;
  }

  const Graph& graph_;
  const NamedAxes& axes_;
  const Cluster& cluster_;
  const bool shorten_;
  const NamedGroups named_;
  const SplitGroups split_;
  Layout base_;
  LayoutBook book_;
  IdVector<GroupId, LayoutId> wanted_;
  std::map<LayoutId, Lying> lying_;       // by the book's layouts
  std::map<LayoutId, LayoutSpec> specs_;  // and what they are in words
};

}  // namespace

LayoutSpecs StateLayouts(const Graph& graph, const NamedAxes& axes, const Cluster& cluster,
                         const Layouts& layouts) {
  return Writer(graph, axes, cluster, layouts, /*shorten=*/false).Write();
}

LayoutSpecs StateShortLayouts(const Graph& graph, const NamedAxes& axes, const Cluster& cluster,
                              const Layouts& layouts) {
  return Writer(graph, axes, cluster, layouts, /*shorten=*/true).Write();
}

}  // namespace placewright
