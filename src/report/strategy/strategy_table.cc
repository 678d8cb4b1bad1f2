#include "report/strategy/strategy_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/text.h"
#include "report/graph_summary.h"
#include "report/module_outline.h"

namespace placewright {
namespace {

// A table with fewer rows is opened further: a model below one module of its own ("model").
constexpr size_t kFew = 2;

struct SyncSum {
  Bytes bytes;
  std::set<DeviceId> devices;
};

// What is to be said of some modules.
struct StrategySum {
  std::map<ComputeStrategy, Nanos> compute, update;  // views have none
  std::map<std::pair<SyncKind, bool>, SyncSum> sync;
  Nanos time;
  Bytes parameters;

  bool empty() const { return compute.empty() && update.empty() && sync.empty(); }
  void Add(const StrategySum& other) {
    for (const auto& [strategy, of_it] : other.compute) compute[strategy] += of_it;
    for (const auto& [strategy, of_it] : other.update) update[strategy] += of_it;
    for (const auto& [way, sum] : other.sync) {
      sync[way].bytes += sum.bytes;
      sync[way].devices.insert(sum.devices.begin(), sum.devices.end());
    }
    time += other.time;
    parameters += other.parameters;
  }
  const std::map<ComputeStrategy, Nanos>& Shown() const {
    return compute.empty() ? update : compute;
  }

  // The strategies without what is minor: those of two rows that are treated alike are equal.
  using Key = std::pair<std::vector<ComputeStrategy>, std::vector<std::pair<SyncKind, bool>>>;
  Key KeyOf() const {
    Key key;
    Nanos all;
    for (const auto& [strategy, of_it] : Shown()) all += of_it;
    for (const auto& [strategy, of_it] : Shown()) {
      const bool minor =
          static_cast<double>(of_it.count) < kMinorStrategy * static_cast<double>(all.count);
      if (!minor) key.first.push_back(strategy);
    }
    for (const auto& [way, sum] : sync) {
      const bool minor = static_cast<double>(sum.bytes.count) <
                         kMinorStrategy * static_cast<double>(parameters.count);
      if (!minor) key.second.push_back(way);
    }
    return key;
  }
  bool IsUniform() const {
    const Key key = KeyOf();
    return key.first.size() <= 1 && key.second.size() <= 1;
  }
};

struct StrategySums {
  bool numbers_below = false;  // some name below it ends in a number
  bool has_twin = false;       // a sibling that differs by the number alone
  StrategySum own, all;        // without and with what is below
};

class StrategyTree {
 public:
  StrategyTree(const Graph& graph, const StepStrategy& strategy)
      : modules_(graph), sums_(modules_.size()) {
    for (const OpId op : graph.ops()) AddOp(graph, op, strategy);
    for (const ParameterStrategy& parameter : strategy.parameters) AddParameter(parameter);
    SumUp();
  }

  const ModuleOutline& modules() const { return modules_; }
  const StrategySum& SumOf(const ModulePart& part) const {
    const StrategySums& sums = sums_[static_cast<size_t>(part.node)];
    return part.itself ? sums.own : sums.all;
  }
  bool Opens(int32_t node) const {
    const StrategySums& sums = sums_[static_cast<size_t>(node)];
    return !modules_[node].children.empty() && (!sums.has_twin || sums.numbers_below);
  }
  std::vector<ModulePart> Open(const ModulePart& part) const {
    std::vector<ModulePart> parts;
    for (const int32_t child : modules_[part.node].children) parts.push_back({child, false});
    parts.push_back({part.node, true});
    std::erase_if(parts, [&](const ModulePart& inner) { return SumOf(inner).empty(); });
    return parts;
  }

 private:
  StrategySum& OwnOf(ModuleId module) {
    return sums_[static_cast<size_t>(modules_.NodeOf(module))].own;
  }

  void AddOp(const Graph& graph, OpId id, const StepStrategy& strategy) {
    const Op& op = graph.op(id);
    if (op.is_view || strategy.ops[id].devices.empty()) return;
    StrategySum& sum = OwnOf(op.module);
    auto& of_phase = op.phase == Phase::kOptimizer ? sum.update : sum.compute;
    of_phase[strategy.ops[id]] += strategy.times[id];
    sum.time += strategy.times[id];
  }

  void AddParameter(const ParameterStrategy& parameter) {
    StrategySum& sum = OwnOf(parameter.module);
    SyncSum& way = sum.sync[{parameter.sync, parameter.in_buckets}];
    way.bytes += parameter.bytes;
    way.devices.insert(parameter.devices.begin(), parameter.devices.end());
    sum.parameters += parameter.bytes;
  }

  bool HasTwin(int32_t node) const {
    if (modules_[node].parent < 0) return false;
    const std::vector<int32_t>& siblings = modules_[modules_[node].parent].children;
    return std::any_of(siblings.begin(), siblings.end(), [&](int32_t other) {
      return other != node && modules_.InOneSeries(node, other);
    });
  }

  void SumUp() {
    for (size_t n = 0; n < sums_.size(); ++n) {
      sums_[n].all = sums_[n].own;
      sums_[n].has_twin = HasTwin(static_cast<int32_t>(n));
    }
    for (size_t n = sums_.size(); n-- > 1;) {
      StrategySums& above = sums_[static_cast<size_t>(modules_[static_cast<int32_t>(n)].parent)];
      above.numbers_below |= sums_[n].numbers_below || sums_[n].has_twin;
      above.all.Add(sums_[n].all);
    }
  }

  const ModuleOutline modules_;
  std::vector<StrategySums> sums_;  // by node
};

// Rows of one step: parts of the tree, opened, then folded.
class StrategyTable {
 public:
  StrategyTable(const StrategyTree& tree, size_t max) : tree_(tree), max_(max) {}

  std::vector<StrategyRow> Rows() {
    parts_ = tree_.Open({0, false});
    while (OpenOne()) {
    }
    std::vector<std::pair<StrategyRow, StrategySum>> rows = Fold(parts_);
    if (rows.size() > max_) rows = Longest(std::move(rows));
    std::vector<StrategyRow> finished;
    for (auto& [row, sum] : rows) finished.push_back(Finish(std::move(row), sum));
    return finished;
  }

 private:
  using Sums = std::vector<std::pair<StrategyRow, StrategySum>>;

  // Opens the part nearest to the root, then with most time, that is not uniform, where the table stays
  // short. False: there is none.
  bool OpenOne() {
    const size_t rows = Fold(parts_).size();
    if (rows >= max_) return false;
    std::pair<int32_t, int64_t> best_rank{};
    std::vector<ModulePart> best;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const int32_t node = parts_[i].node;
      const StrategySum& sum = tree_.SumOf(parts_[i]);
      if (parts_[i].itself || !tree_.Opens(node) || (sum.IsUniform() && rows >= kFew)) continue;
      const std::pair<int32_t, int64_t> rank{tree_.modules()[node].depth, -sum.time.count};
      if (!best.empty() && rank >= best_rank) continue;
      std::vector<ModulePart> opened = Opened(i);
      if (Fold(opened).size() > max_) continue;
      best_rank = rank;
      best = std::move(opened);
    }
    if (best.empty()) return false;
    parts_ = std::move(best);
    return true;
  }

  std::vector<ModulePart> Opened(size_t at) const {
    const auto middle = parts_.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<ModulePart> opened(parts_.begin(), middle);
    const std::vector<ModulePart> inner = tree_.Open(parts_[at]);
    opened.insert(opened.end(), inner.begin(), inner.end());
    opened.insert(opened.end(), middle + 1, parts_.end());
    return opened;
  }

  bool Continues(const ModulePart& a, const ModulePart& b) const {
    return !a.itself && !b.itself && tree_.modules().Follows(a.node, b.node) &&
           tree_.SumOf(a).KeyOf() == tree_.SumOf(b).KeyOf();
  }

  Sums Fold(const std::vector<ModulePart>& parts) const {
    Sums rows;
    for (size_t i = 0; i < parts.size();) {
      size_t end = i + 1;
      while (end < parts.size() && Continues(parts[end - 1], parts[end])) ++end;
      StrategyRow row;
      row.name = NameOfRow(tree_.modules(), parts[i], parts[end - 1]);
      StrategySum sum;
      for (size_t k = i; k < end; ++k) {
        row.modules.push_back(tree_.modules()[parts[k].node].path);
        sum.Add(tree_.SumOf(parts[k]));
      }
      rows.emplace_back(std::move(row), std::move(sum));
      i = end;
    }
    return rows;
  }

  // Those with most time, in their order, and the rest as one.
  Sums Longest(Sums rows) const {
    std::vector<size_t> by_time(rows.size());
    std::iota(by_time.begin(), by_time.end(), size_t{0});
    std::stable_sort(by_time.begin(), by_time.end(),
                     [&](size_t a, size_t b) { return rows[a].second.time > rows[b].second.time; });
    const std::set<size_t> kept(by_time.begin(),
                                by_time.begin() + static_cast<std::ptrdiff_t>(max_ - 1));
    Sums shown;
    std::pair<StrategyRow, StrategySum> rest;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (kept.contains(i)) {
        shown.push_back(std::move(rows[i]));
        continue;
      }
      const std::vector<std::string>& modules = rows[i].first.modules;
      rest.first.modules.insert(rest.first.modules.end(), modules.begin(), modules.end());
      rest.second.Add(rows[i].second);
    }
    rest.first.name = CountOf(static_cast<int64_t>(rest.first.modules.size()), "other module");
    shown.push_back(std::move(rest));
    return shown;
  }

  StrategyRow Finish(StrategyRow row, const StrategySum& sum) const {
    for (const auto& [strategy, time] : sum.Shown()) row.compute.push_back({strategy, time});
    for (const auto& [way, of_it] : sum.sync) {
      row.sync.push_back(
          {way.first, way.second, of_it.bytes, {of_it.devices.begin(), of_it.devices.end()}});
    }
    std::stable_sort(row.compute.begin(), row.compute.end(),
                     [](const auto& a, const auto& b) { return a.time > b.time; });
    std::stable_sort(row.sync.begin(), row.sync.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    row.parameters = sum.parameters;
    row.time = sum.time;
    const int64_t all = tree_.SumOf({0, false}).time.count;
    if (all > 0) row.time_share = static_cast<double>(row.time.count) / static_cast<double>(all);
    return row;
  }

  const StrategyTree& tree_;
  size_t max_;
  std::vector<ModulePart> parts_;
};

}  // namespace

std::vector<StrategyRow> TabulateStrategy(const Graph& original, const StepStrategy& strategy,
                                          size_t max) {
  const StrategyTree tree(original, strategy);
  if (tree.modules().empty()) return {};
  return StrategyTable(tree, std::max<size_t>(2, max)).Rows();
}

}  // namespace placewright
