#include "report/layer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "report/graph_summary.h"
#include "report/module_outline.h"

namespace placewright {
namespace {

constexpr size_t kMaxShares = 3;  // devices that a row names
// A table with fewer rows is opened further: modules that have no siblings of their numbering.
constexpr size_t kFewRows = 3;

using Shares = std::map<DeviceId, LayerShare>;  // of devices that have a part in it

void Add(LayerShare& to, const LayerShare& from) {
  to.device = from.device;
  to.ops += from.ops;
  to.time = Nanos(SaturatingAdd(to.time.count, from.time.count));
  to.memory = Bytes(SaturatingAdd(to.memory.count, from.memory.count));
}

void Add(Shares& to, const Shares& from) {
  for (const auto& [device, share] : from) Add(to[device], share);
}

// The time that is not spent on the device with the largest part of it.
int64_t Apart(const Shares& shares) {
  int64_t total = 0, max = 0;
  for (const auto& [device, share] : shares) {
    total = SaturatingAdd(total, share.time.count);
    max = std::max(max, share.time.count);
  }
  return total - max;
}

// Largest time first, then largest memory, then by device.
bool Before(const LayerShare& a, const LayerShare& b) {
  if (a.time != b.time) return a.time > b.time;
  if (a.memory != b.memory) return a.memory > b.memory;
  return a.device < b.device;
}

struct LayerSums {
  int32_t layers = 0;           // children with a number
  bool layers_below = false;    // of some module below it
  bool numbers_below = false;   // some name below it is a number
  Shares own, all;              // without and with what is below
  int64_t innermost_apart = 0;  // the sum of Apart over what all opening of it leads to
};

class LayerTree {
 public:
  explicit LayerTree(const Graph& graph) : modules_(graph), sums_(modules_.size()) {}

  const ModuleOutline& modules() const { return modules_; }
  const LayerSums& operator[](int32_t node) const { return sums_[static_cast<size_t>(node)]; }
  void AddOwn(ModuleId module, const LayerShare& share) {
    Add(sums_[static_cast<size_t>(modules_.NodeOf(module))].own[share.device], share);
  }

  void SumUp() {
    for (LayerSums& sums : sums_) {
      sums.all = sums.own;
      sums.innermost_apart = Apart(sums.own);
    }
    for (auto n = static_cast<int32_t>(sums_.size()); n-- > 1;) {
      LayerSums& own = sums_[static_cast<size_t>(n)];
      LayerSums& parent = sums_[static_cast<size_t>(modules_[n].parent)];
      parent.layers += modules_[n].number >= 0 ? 1 : 0;
      parent.layers_below |= own.layers_below || own.layers > 1;
      parent.numbers_below |= own.numbers_below || modules_[n].is_number();
      if (!Opens(n)) own.innermost_apart = Apart(own.all);
      Add(parent.all, own.all);
      parent.innermost_apart += own.innermost_apart;
    }
  }

  // A module with a number is a layer, which is not opened, unless it holds layers itself.
  bool Opens(int32_t node) const {
    const ModuleNode& module = modules_[node];
    return !module.children.empty() && (module.number < 0 || (*this)[node].numbers_below);
  }

  const Shares& SharesOf(const ModulePart& part) const {
    return part.itself ? (*this)[part.node].own : (*this)[part.node].all;
  }

  // The part as its node's own ops and its children; those that hold nothing are left out.
  std::vector<ModulePart> Open(const ModulePart& part) const {
    std::vector<ModulePart> parts;
    const auto add = [&](ModulePart inner) {
      if (!SharesOf(inner).empty()) parts.push_back(inner);
    };
    for (int32_t child : modules_[part.node].children) add({child, false});
    add({part.node, true});
    return parts;
  }

 private:
  const ModuleOutline modules_;
  std::vector<LayerSums> sums_;  // by node
};

class Folder {
 public:
  Folder(const LayerTree& tree, size_t max) : tree_(tree), max_(max) {}

  std::vector<LayerRow> Rows() {
    parts_ = tree_.Open({0, false});
    while (OpenOne()) {
    }
    for (const Alike alike : {Alike::kDevices, Alike::kMainAndWhole, Alike::kMain}) {
      std::vector<LayerRow> rows = Fold(parts_, alike);
      if (rows.size() <= max_) return rows;
    }
    return Longest(Fold(parts_, Alike::kMain));
  }

 private:
  // When neighbours are folded: they use the same devices; they spend most time on the same one,
  // and either all of them lie on it whole or none; they spend most time on the same one.
  enum class Alike : uint8_t { kDevices, kMainAndWhole, kMain };

  // Opens the siblings of one numbering that gain most by it, of those nearest to the root. False:
  // nothing is left to gain.
  bool OpenOne() {
    const size_t rows = Fold(parts_, Alike::kMain).size();
    if (rows >= max_) return false;
    std::pair<int32_t, int64_t> best_rank{std::numeric_limits<int32_t>::max(), 0};  // depth, -gain
    std::vector<ModulePart> best;
    for (size_t i = 0; i < parts_.size();) {
      size_t end = i + 1;
      while (end < parts_.size() && SameSeries(parts_[i], parts_[end])) ++end;
      const ModulePart first = parts_[i];
      int64_t gain = 0;
      std::vector<ModulePart> opened = Opened(i, end, &gain);
      // 1% of the ops' time, here or, in a module of its own ("model"), further down; and layers
      // are what people look for.
      const int64_t further = Apart(tree_.SharesOf(first)) - tree_[first.node].innermost_apart;
      const bool alone = end - i == 1;
      const bool layers = (tree_[first.node].layers > 1 || tree_[first.node].layers_below) &&
                          tree_.SharesOf(first).size() > 1;
      const bool worth =
          gain > Total() / 100 || (alone && (rows < kFewRows || further > Total() / 100 || layers));
      const std::pair<int32_t, int64_t> rank{tree_.modules()[first.node].depth, -gain};
      i = end;
      if (opened.empty() || !worth || rank >= best_rank) continue;
      if (Fold(opened, Alike::kMain).size() > max_) continue;
      best_rank = rank;
      best = std::move(opened);
    }
    if (best.empty()) return false;
    parts_ = std::move(best);
    return true;
  }

  // The parts with those of [begin, end) opened, and by how much less time is spent apart then;
  // none where there is nothing to open.
  std::vector<ModulePart> Opened(size_t begin, size_t end, int64_t* gain) const {
    std::vector<ModulePart> opened(parts_.begin(),
                                   parts_.begin() + static_cast<std::ptrdiff_t>(begin));
    bool any = false;
    for (size_t k = begin; k < end; ++k) {
      any = any || CanOpen(parts_[k]);
      const std::vector<ModulePart> inner =
          CanOpen(parts_[k]) ? tree_.Open(parts_[k]) : std::vector{parts_[k]};
      *gain = SaturatingAdd(*gain, Apart(tree_.SharesOf(parts_[k])));
      for (const ModulePart& part : inner) *gain -= Apart(tree_.SharesOf(part));
      opened.insert(opened.end(), inner.begin(), inner.end());
    }
    if (!any) return {};
    opened.insert(opened.end(), parts_.begin() + static_cast<std::ptrdiff_t>(end), parts_.end());
    return opened;
  }

  bool CanOpen(const ModulePart& part) const { return !part.itself && tree_.Opens(part.node); }

  // The rows in which most time is spent, in their order, and the rest as one.
  std::vector<LayerRow> Longest(std::vector<LayerRow> rows) const {
    std::vector<std::pair<int64_t, size_t>> by_time;
    for (size_t i = 0; i < rows.size(); ++i) {
      int64_t time = 0;
      for (const LayerShare& share : rows[i].shares) time = SaturatingAdd(time, share.time.count);
      by_time.emplace_back(-time, i);
    }
    std::sort(by_time.begin(), by_time.end());
    std::vector<char> kept(rows.size(), 0);
    for (size_t k = 0; k + 1 < max_; ++k) kept[by_time[k].second] = 1;  // and one for the rest
    std::vector<LayerRow> shown;
    LayerRow rest;
    Shares shares;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (kept[i] != 0) {
        shown.push_back(std::move(rows[i]));
        continue;
      }
      rest.modules.insert(rest.modules.end(), rows[i].modules.begin(), rows[i].modules.end());
      for (const LayerShare& share : rows[i].shares) Add(shares[share.device], share);
    }
    rest.name = CountOf(static_cast<int64_t>(rest.modules.size()), "other module");
    rest.shares = Sorted(shares);
    shown.push_back(std::move(rest));
    return shown;
  }

  static std::vector<LayerShare> Sorted(const Shares& shares) {
    std::vector<LayerShare> sorted;
    for (const auto& [device, share] : shares) sorted.push_back(share);
    std::sort(sorted.begin(), sorted.end(), Before);
    return sorted;
  }

  int64_t Total() const {
    int64_t total = 0;
    for (const auto& [device, share] : tree_[0].all) {
      total = SaturatingAdd(total, share.time.count);
    }
    return total;
  }

  DeviceId MainDevice(const ModulePart& part) const {
    const Shares& shares = tree_.SharesOf(part);
    return std::min_element(shares.begin(), shares.end(),
                            [](const auto& a, const auto& b) { return Before(a.second, b.second); })
        ->first;
  }

  // Siblings that differ by number alone, whatever the numbers.
  bool SameSeries(const ModulePart& a, const ModulePart& b) const {
    return !a.itself && !b.itself && tree_.modules().InOneSeries(a.node, b.node);
  }

  bool AreAlike(const ModulePart& a, const ModulePart& b, Alike alike) const {
    const Shares &x = tree_.SharesOf(a), &y = tree_.SharesOf(b);
    if (alike == Alike::kMain) return MainDevice(a) == MainDevice(b);
    if (alike == Alike::kMainAndWhole) {
      return MainDevice(a) == MainDevice(b) && (x.size() == 1) == (y.size() == 1);
    }
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const auto& one, const auto& other) { return one.first == other.first; });
  }

  std::vector<LayerRow> Fold(const std::vector<ModulePart>& parts, Alike alike) const {
    std::vector<LayerRow> rows;
    for (size_t i = 0; i < parts.size();) {
      size_t end = i + 1;
      while (end < parts.size() && SameSeries(parts[end - 1], parts[end]) &&
             tree_.modules().Follows(parts[end - 1].node, parts[end].node) &&
             AreAlike(parts[i], parts[end], alike)) {
        ++end;
      }
      rows.push_back(RowOf(parts, i, end));
      i = end;
    }
    return rows;
  }

  LayerRow RowOf(const std::vector<ModulePart>& parts, size_t begin, size_t end) const {
    LayerRow row;
    row.name = NameOfRow(tree_.modules(), parts[begin], parts[end - 1]);
    Shares shares = tree_.SharesOf(parts[begin]);
    for (size_t k = begin; k < end; ++k) {
      row.modules.push_back(tree_.modules()[parts[k].node].path);
      if (k > begin) Add(shares, tree_.SharesOf(parts[k]));
    }
    row.shares = Sorted(shares);
    return row;
  }

  const LayerTree& tree_;
  size_t max_;
  std::vector<ModulePart> parts_;
};

}  // namespace

std::vector<LayerRow> LayersByDevice(const Graph& graph, const Placement& placement,
                                     const Schedule& schedule, size_t max) {
  LayerTree tree(graph);
  if (tree.modules().empty()) return {};
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.is_view) continue;
    tree.AddOwn(op.module,
                {placement[id], 1, schedule.ops[id].end - schedule.ops[id].start, Bytes(0)});
  }
  const ParameterModules parameters(graph);
  for (StorageId id : graph.storages()) {
    const OpId home = graph.home_op(id);
    if (!home.valid() || !IsPersistent(graph.storage(id).kind)) continue;
    tree.AddOwn(parameters.Of(id),
                {placement[home], 0, Nanos(0), RoundUpToGranule(graph.storage(id).bytes)});
  }
  tree.SumUp();
  return Folder(tree, max).Rows();
}

std::string DescribeShares(const std::vector<LayerShare>& shares, const Cluster& cluster) {
  double total = 0;
  const bool runs = std::any_of(shares.begin(), shares.end(),
                                [](const LayerShare& share) { return share.time.count > 0; });
  const auto weight = [&](const LayerShare& share) {
    return static_cast<double>(runs ? share.time.count : share.memory.count);
  };
  for (const LayerShare& share : shares) total += weight(share);
  const auto percent = [&](double part) {
    if (total <= 0) return std::string();
    const double share = 100 * part / total;
    return share < 0.5 ? " <1%" : share >= 99.5 ? " >99%" : fmt::format(" {:.0f}%", share);
  };
  if (shares.size() == 1) return cluster.device(shares[0].device).name;
  std::string text;
  const bool cut = shares.size() > kMaxShares;
  const size_t shown = cut ? kMaxShares - 1 : shares.size();
  for (size_t i = 0; i < shown; ++i) {
    text +=
        (i > 0 ? ", " : "") + cluster.device(shares[i].device).name + percent(weight(shares[i]));
  }
  if (!cut) return text;
  double rest = 0;
  for (size_t i = shown; i < shares.size(); ++i) rest += weight(shares[i]);
  return text + fmt::format(", {} more{}", shares.size() - shown, percent(rest));
}

std::string RenderLayers(const std::vector<LayerRow>& rows, const Cluster& cluster,
                         const Style& style) {
  if (rows.empty()) return "";
  std::vector<LayerShare> sums;
  Nanos longest;
  Bytes largest;
  for (const LayerRow& row : rows) {
    LayerShare sum;
    for (const LayerShare& share : row.shares) Add(sum, share);
    longest = std::max(longest, sum.time);
    largest = std::max(largest, sum.memory);
    sums.push_back(sum);
  }
  const auto right = Table::Align::kRight;
  Table table({{"module"}, {"runs on"}, {"ops", right}, {"op time", right}, {"parameters", right}});
  for (size_t i = 0; i < rows.size(); ++i) {
    table.AddRow({rows[i].name, DescribeShares(rows[i].shares, cluster), FormatCount(sums[i].ops),
                  FormatNanosLike(sums[i].time, longest),
                  FormatBytesLike(sums[i].memory, largest)});
  }
  return table.Render(style) + Wrap(Paint(kLayerColumns, Tone::kFaint, style) + "\n", style);
}

}  // namespace placewright
