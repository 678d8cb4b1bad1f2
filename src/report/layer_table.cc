#include "report/layer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/graph_summary.h"

namespace placewright {
namespace {

constexpr size_t kMostShares = 4;  // lines of a row
constexpr size_t kFewRows =
    3;  // a table with fewer is opened further: modules that have no siblings of their numbering

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

// Most time first, then most memory, then by device.
bool Before(const LayerShare& a, const LayerShare& b) {
  if (a.time != b.time) return a.time > b.time;
  if (a.memory != b.memory) return a.memory > b.memory;
  return a.device < b.device;
}

struct Node {
  std::string path, stem;  // stem and number: "encoder.layer." and 3; no number: -1
  int64_t number = -1;
  int32_t parent = -1;
  std::vector<int32_t> children;
  Shares own, all;  // without and with what is below
};

// An entry of the table before neighbours are folded: a node, or what of it no child has.
struct Part {
  int32_t node = 0;
  bool itself = false;
};

class LayerTree {
 public:
  explicit LayerTree(const Graph& graph) {
    AddNode("", -1);
    std::map<std::string, int32_t> by_path;
    for (size_t m = 0; m < graph.module_count(); ++m) {
      const std::string& path = graph.module_path(ModuleId(m));
      const char separator = path.find('/') != std::string::npos ? '/' : '.';
      std::string prefix = path.rfind(separator, 0) == 0 ? std::string(1, separator) : "";
      int32_t node = 0;
      for (const std::string& component : ModuleComponents(path)) {
        prefix += (node > 0 ? std::string(1, separator) : "") + component;
        const auto [it, added] = by_path.emplace(prefix, static_cast<int32_t>(nodes_.size()));
        if (added) AddNode(prefix, node);
        node = it->second;
      }
      node_of_.push_back(node);
    }
  }

  bool empty() const { return nodes_.size() == 1; }
  const Node& operator[](int32_t node) const { return nodes_[node]; }
  void AddOwn(ModuleId module, const LayerShare& share) {
    Add(nodes_[node_of_[module.index()]].own[share.device], share);
  }

  void SumUp() {
    for (Node& node : nodes_) node.all = node.own;
    for (size_t n = nodes_.size(); n-- > 1;) Add(nodes_[nodes_[n].parent].all, nodes_[n].all);
  }

  const Shares& SharesOf(const Part& part) const {
    return part.itself ? nodes_[part.node].own : nodes_[part.node].all;
  }

  // The part as its node's own ops and its children; those that hold nothing are left out.
  std::vector<Part> Open(const Part& part) const {
    const Node& node = nodes_[part.node];
    std::vector<Part> parts;
    const auto add = [&](Part inner) {
      if (!SharesOf(inner).empty()) parts.push_back(inner);
    };
    for (int32_t child : node.children) add({child, false});
    add({part.node, true});
    return parts;
  }

 private:
  void AddNode(const std::string& path, int32_t parent) {
    Node node;
    node.path = node.stem = path;
    node.parent = parent;
    const size_t last = path.find_last_not_of("0123456789");
    const size_t digits = path.size() - (last == std::string::npos ? 0 : last + 1);
    if (digits > 0 && digits < 10) {
      node.stem = path.substr(0, path.size() - digits);
      node.number = std::stoll(path.substr(path.size() - digits));
    }
    if (parent >= 0) nodes_[parent].children.push_back(static_cast<int32_t>(nodes_.size()));
    nodes_.push_back(std::move(node));
  }

  std::vector<Node> nodes_;       // parents before children
  std::vector<int32_t> node_of_;  // by module
};

class Folder {
 public:
  Folder(const LayerTree& tree, size_t lines) : tree_(tree), lines_(lines) {}

  std::vector<LayerRow> Rows() {
    parts_ = tree_.Open({0, false});
    while (OpenOne()) {
    }
    std::vector<LayerRow> rows = Fold(parts_, true);
    if (Lines(rows) > lines_) rows = Fold(parts_, false);
    return Lines(rows) > lines_ ? Longest(std::move(rows)) : rows;
  }

 private:
  // Opens the siblings of one numbering that gain most by it. False: nothing is left to gain.
  bool OpenOne() {
    const std::vector<LayerRow> rows = Fold(parts_, false);
    if (Lines(rows) >= lines_) return false;
    const bool few = rows.size() < kFewRows;
    int64_t best_gain = -1;
    std::vector<Part> best;
    for (size_t i = 0; i < parts_.size();) {
      size_t end = i + 1;
      while (end < parts_.size() && SameSeries(parts_[i], parts_[end])) ++end;
      int64_t gain = 0;
      std::vector<Part> inner;
      for (size_t k = i; k < end; ++k) {
        const std::vector<Part> opened =
            CanOpen(parts_[k]) ? tree_.Open(parts_[k]) : std::vector{parts_[k]};
        gain = SaturatingAdd(gain, Apart(parts_[k]));
        for (const Part& part : opened) gain -= Apart(part);
        inner.insert(inner.end(), opened.begin(), opened.end());
      }
      const bool opens = std::any_of(parts_.begin() + static_cast<int64_t>(i),
                                     parts_.begin() + static_cast<int64_t>(end),
                                     [&](const Part& part) { return CanOpen(part); });
      std::vector<Part> opened(parts_.begin(), parts_.begin() + static_cast<int64_t>(i));
      opened.insert(opened.end(), inner.begin(), inner.end());
      opened.insert(opened.end(), parts_.begin() + static_cast<int64_t>(end), parts_.end());
      const bool worth = gain > Total() / 100 || (few && end - i == 1);  // 1% of the ops' time
      i = end;
      if (!opens || !worth || gain <= best_gain || Lines(Fold(opened, false)) > lines_) continue;
      best_gain = gain;
      best = std::move(opened);
    }
    if (best.empty()) return false;
    parts_ = std::move(best);
    return true;
  }

  bool CanOpen(const Part& part) const {
    return !part.itself && !tree_[part.node].children.empty();
  }

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
    size_t lines = kMostShares;  // of the rest
    for (const auto& [time, i] : by_time) {
      lines += std::min(rows[i].shares.size(), kMostShares);
      if (lines > lines_) break;
      kept[i] = 1;
    }
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

  // The time that a part does not spend on the device on which it spends most.
  int64_t Apart(const Part& part) const {
    int64_t total = 0, most = 0;
    for (const auto& [device, share] : tree_.SharesOf(part)) {
      total = SaturatingAdd(total, share.time.count);
      most = std::max(most, share.time.count);
    }
    return total - most;
  }

  DeviceId MainDevice(const Part& part) const {
    const Shares& shares = tree_.SharesOf(part);
    return std::min_element(shares.begin(), shares.end(),
                            [](const auto& a, const auto& b) { return Before(a.second, b.second); })
        ->first;
  }

  // Siblings that differ by number alone, whatever the numbers.
  bool SameSeries(const Part& a, const Part& b) const {
    const Node &x = tree_[a.node], &y = tree_[b.node];
    return !a.itself && !b.itself && x.parent == y.parent && x.number >= 0 && y.number >= 0 &&
           x.stem == y.stem;
  }

  bool SameDevices(const Part& a, const Part& b, bool all) const {
    if (!all) return MainDevice(a) == MainDevice(b);
    const Shares &x = tree_.SharesOf(a), &y = tree_.SharesOf(b);
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const auto& one, const auto& other) { return one.first == other.first; });
  }

  std::vector<LayerRow> Fold(const std::vector<Part>& parts, bool all_devices) const {
    std::vector<LayerRow> rows;
    for (size_t i = 0; i < parts.size();) {
      size_t end = i + 1;
      while (end < parts.size() && SameSeries(parts[end - 1], parts[end]) &&
             tree_[parts[end].node].number == tree_[parts[end - 1].node].number + 1 &&
             SameDevices(parts[i], parts[end], all_devices)) {
        ++end;
      }
      rows.push_back(RowOf(parts, i, end));
      i = end;
    }
    return rows;
  }

  LayerRow RowOf(const std::vector<Part>& parts, size_t begin, size_t end) const {
    const Node &first = tree_[parts[begin].node], &last = tree_[parts[end - 1].node];
    LayerRow row;
    row.name = first.path;
    if (end - begin > 1) row.name += fmt::format("-{}", last.number);
    if (parts[begin].itself) row.name += " (itself)";
    if (first.path.empty()) row.name = "(no module)";
    Shares shares = tree_.SharesOf(parts[begin]);
    for (size_t k = begin; k < end; ++k) {
      row.modules.push_back(tree_[parts[k].node].path);
      if (k > begin) Add(shares, tree_.SharesOf(parts[k]));
    }
    row.shares = Sorted(shares);
    return row;
  }

  static size_t Lines(const std::vector<LayerRow>& rows) {
    size_t lines = 0;
    for (const LayerRow& row : rows) lines += std::min(row.shares.size(), kMostShares);
    return lines;
  }

  const LayerTree& tree_;
  size_t lines_;
  std::vector<Part> parts_;
};

}  // namespace

std::vector<LayerRow> LayersByDevice(const Graph& graph, const Placement& placement,
                                     const Schedule& schedule, size_t lines) {
  LayerTree tree(graph);
  if (tree.empty()) return {};
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.is_view) continue;
    tree.AddOwn(op.module,
                {placement[id], 1, schedule.ops[id].end - schedule.ops[id].start, Bytes(0)});
  }
  for (StorageId id : graph.storages()) {
    const OpId home = graph.home_op(id);
    if (!home.valid() || !IsPersistent(graph.storage(id).kind)) continue;
    tree.AddOwn(graph.op(home).module,
                {placement[home], 0, Nanos(0), RoundUpToGranule(graph.storage(id).bytes)});
  }
  tree.SumUp();
  return Folder(tree, lines).Rows();
}

std::string RenderLayers(const std::vector<LayerRow>& rows, const Cluster& cluster,
                         const Style& style) {
  if (rows.empty()) return "";
  Nanos longest;
  Bytes largest;
  for (const LayerRow& row : rows) {
    for (const LayerShare& share : row.shares) {
      longest = std::max(longest, share.time);
      largest = std::max(largest, share.memory);
    }
  }
  const auto right = Table::Align::kRight;
  Table table({{"module"}, {"runs on"}, {"ops", right}, {"op time", right}, {"parameters", right}});
  for (const LayerRow& row : rows) {
    const bool cut = row.shares.size() > kMostShares;
    const size_t shown = cut ? kMostShares - 1 : row.shares.size();
    const auto add = [&](size_t line, const std::string& where, const LayerShare& share) {
      table.AddRow({line == 0 ? row.name : "", where, FormatCount(share.ops),
                    FormatNanosLike(share.time, longest), FormatBytesLike(share.memory, largest)});
    };
    for (size_t i = 0; i < shown; ++i) {
      add(i, cluster.device(row.shares[i].device).name, row.shares[i]);
    }
    LayerShare rest;
    for (size_t i = shown; i < row.shares.size(); ++i) Add(rest, row.shares[i]);
    if (cut) add(shown, fmt::format("and {} more", row.shares.size() - shown), rest);
  }
  return table.Render(style) + Wrap(Paint(kLayerColumns, Tone::kFaint, style) + "\n", style);
}

}  // namespace placewright
