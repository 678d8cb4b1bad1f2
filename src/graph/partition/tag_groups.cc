#include "graph/partition/tag_groups.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/elementary.h"
#include "graph/edges.h"
#include "graph/partition/partition.h"

namespace placewright {
namespace {

bool IsIdentity(const Op& op) {
  constexpr std::array<std::string_view, 4> kTypes = {"Identity", "IdentityN", "StopGradient",
                                                      "PreventGradient"};
  return !op.is_view && op.writes.empty() && op.inputs.size() == op.outputs.size() &&
         std::find(kTypes.begin(), kTypes.end(), op.type) != kTypes.end();
}

bool IsNoOp(const Op& op) { return op.inputs.empty() && op.outputs.empty() && op.writes.empty(); }

// Ops that an update, a graph output or a write of what is there before the step needs.
class NeededOps {
 public:
  explicit NeededOps(const Graph& graph) : graph_(graph), needed_(graph.op_count(), 0) {
    AddRoots();
    if (next_.empty()) needed_.assign(graph.op_count(), 1);
    while (!next_.empty()) {
      const OpId op = next_.back();
      next_.pop_back();
      for (OpId before : graph_.producers(op)) Need(before);
      for (size_t i = 0; i < graph_.op(op).inputs.size(); ++i) {
        Need(WriterOf(graph_, graph_.op(op), i));
      }
    }
  }

  bool operator[](OpId op) const { return needed_[op] != 0; }

 private:
  void AddRoots() {
    for (OpId op : graph_.ops()) {
      if (graph_.op(op).phase == Phase::kOptimizer && !IsNoOp(graph_.op(op))) Need(op);
    }
    for (TensorId output : graph_.outputs()) Need(graph_.tensor(output).producer);
    for (StorageId id : graph_.storages()) {
      const std::vector<Version>& versions = graph_.storage(id).versions;
      if (versions.front().writer.valid()) continue;
      for (const Version& version : versions) Need(version.writer);
    }
  }

  void Need(OpId op) {
    if (!op.valid() || needed_[op] != 0) return;
    needed_[op] = 1;
    next_.push_back(op);
  }

  const Graph& graph_;
  IdVector<OpId, char> needed_;
  std::vector<OpId> next_;
};

class Grouping {
 public:
  Grouping(const Graph& graph, const IdVector<OpId, Nanos>& time)
      : graph_(graph), time_(time), kept_(graph.op_count(), 0), node_of_(graph.group_count(), -1) {}

  Result<TagGrouping> Run(int parts) {
    DropOps();
    AddNodes();
    AddEdges();
    PartitionOptions options;
    options.parts = std::clamp<int>(flow_.nodes(), 1, parts);
    int levels = 1;
    while ((1 << levels) < options.parts) ++levels;
    constexpr double kLogOfTwo = 0.693147180559945309;
    options.imbalance = PortableExp(kLogOfTwo / levels) - 1;
    PW_ASSIGN(const std::vector<int32_t> part_of, PartitionMetis(MakeUndirected(flow_), options));
    Number(part_of);
    PlaceTheOthers();
    return std::move(result_);
  }

 private:
  // A slice that a kept op reads.
  struct Read {
    int32_t from, to;  // nodes
    StorageId storage;
    int32_t version;
    int64_t offset, length;
    auto Key() const { return std::tie(from, to, storage, version, offset, length); }
  };

  void DropOps() {
    const NeededOps needed(graph_);
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.is_view) continue;
      kept_[id] = needed[id] && !IsNoOp(op) && !IsIdentity(op) ? 1 : 0;
      if (kept_[id] == 0) ++result_.dropped;
    }
  }

  void AddNodes() {
    flow_.weights.emplace_back();
    for (OpId op : graph_.ops()) {
      if (kept_[op] == 0) continue;
      int32_t& node = node_of_[graph_.group(op)];
      if (node < 0) {
        node = static_cast<int32_t>(flow_.weights[0].size());
        flow_.weights[0].push_back(0);
      }
      int64_t& weight = flow_.weights[0][node];
      weight = SaturatingAdd(weight, time_[op].count);
    }
  }

  // From where the slice comes, identities passed by (they make whole storages); `from` is -1 where
  // it lies everywhere, or with no node.
  Read ReadOf(OpId reader, size_t input) const {
    OpId id = reader;
    OpId writer = WriterOf(graph_, graph_.op(id), input);
    while (writer.valid() && IsIdentity(graph_.op(writer))) {
      const Op& identity = graph_.op(writer);
      const Tensor& tensor = graph_.tensor(graph_.op(id).inputs[input]);
      const TensorId first = graph_.storage(tensor.storage).first;
      input =
          static_cast<size_t>(std::find(identity.outputs.begin(), identity.outputs.end(), first) -
                              identity.outputs.begin());
      id = writer;
      writer = WriterOf(graph_, identity, input);
    }
    const Tensor& tensor = graph_.tensor(graph_.op(id).inputs[input]);
    const Storage& storage = graph_.storage(tensor.storage);
    const OpId holder = writer.valid()                       ? writer
                        : storage.kind == TensorKind::kInput ? OpId()
                                                             : graph_.home_op(tensor.storage);
    const int32_t from = holder.valid() ? node_of_[graph_.group(holder)] : -1;
    return {from,
            node_of_[graph_.group(reader)],
            tensor.storage,
            graph_.op(id).input_versions[input],
            tensor.offset.count,
            tensor.length.count};
  }

  void AddEdges() {
    std::vector<Read> reads;
    for (OpId op : graph_.ops()) {
      if (kept_[op] == 0) continue;
      for (size_t i = 0; i < graph_.op(op).inputs.size(); ++i) {
        const Read read = ReadOf(op, i);
        if (read.from >= 0 && read.from != read.to) reads.push_back(read);
      }
    }
    const auto less = [](const Read& a, const Read& b) { return a.Key() < b.Key(); };
    const auto same = [](const Read& a, const Read& b) { return a.Key() == b.Key(); };
    std::sort(reads.begin(), reads.end(), less);
    reads.erase(std::unique(reads.begin(), reads.end(), same), reads.end());
    size_t next = 0;
    for (size_t node = 0; node < flow_.weights[0].size(); ++node) {
      for (; next < reads.size() && reads[next].from == static_cast<int32_t>(node); ++next) {
        flow_.edges.push_back({reads[next].to, reads[next].length});
      }
      flow_.offsets.push_back(static_cast<int32_t>(flow_.edges.size()));
    }
  }

  void Number(const std::vector<int32_t>& part_of) {
    result_.part_of.assign(graph_.group_count(), -1);
    std::vector<int32_t> number(kMaxParts, -1);
    for (GroupId group : IdRange<GroupId>(graph_.group_count())) {
      if (node_of_[group] < 0) continue;
      int32_t& part = number[part_of[node_of_[group]]];
      if (part < 0) part = result_.parts++;
      result_.part_of[group] = part;
    }
  }

  void Join(OpId op, OpId other) {
    int32_t& part = result_.part_of[graph_.group(op)];
    if (part < 0) part = result_.part_of[graph_.group(other)];
  }

  // Groups of views, identities, no-ops and dangling ops alone.
  void PlaceTheOthers() {
    const std::span<const OpId> order = graph_.topological_order();
    for (OpId op : order) {
      for (OpId before : graph_.producers(op)) Join(op, before);
    }
    for (size_t i = order.size(); i > 0; --i) {
      for (OpId later : graph_.consumers(order[i - 1])) Join(order[i - 1], later);
    }
    for (int32_t& part : result_.part_of) part = std::max(part, 0);
    if (graph_.group_count() > 0) result_.parts = std::max(result_.parts, 1);
  }

  static constexpr size_t kMaxParts = 1024;

  const Graph& graph_;
  const IdVector<OpId, Nanos>& time_;
  IdVector<OpId, char> kept_;
  IdVector<GroupId, int32_t> node_of_;  // -1: no op of it is kept
  WeightedGraph flow_;
  TagGrouping result_;
};

}  // namespace

Result<TagGrouping> TagGroups(const Graph& graph, const IdVector<OpId, Nanos>& time, int parts) {
  return Grouping(graph, time).Run(parts);
}

}  // namespace placewright
