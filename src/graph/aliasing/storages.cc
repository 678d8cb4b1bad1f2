#include "graph/aliasing/storages.h"

#include <algorithm>
#include <numeric>

#include "graph/aliasing/view_geometry.h"

namespace placewright {
namespace {

// Walks the ops once; what is known of a tensor beyond the graph lives here.
class StorageWalk {
 public:
  StorageWalk(GraphData& graph, const IdVector<TensorId, TensorAlias>& aliases)
      : graph_(graph), aliases_(aliases), inexact_(graph.tensors.size(), 0) {}

  void AddInputs() {
    for (TensorId id : IdRange<TensorId>(graph_.tensors.size())) {
      if (!graph_.tensors[id].producer.valid()) MakeFresh(id);
    }
  }

  void Visit(OpId id) {
    Op& op = graph_.ops[id];
    op.input_versions.clear();
    op.input_versions.reserve(op.inputs.size());
    for (TensorId input : op.inputs) {
      op.input_versions.push_back(Newest(graph_.tensors[input].storage));
    }
    WriteStorages(id);
    size_t views = 0;
    for (TensorId output : op.outputs) {
      switch (aliases_[output].kind) {
        case AliasKind::kFresh: MakeFresh(output); break;
        case AliasKind::kView:
          MakeView(op, output);
          ++views;
          break;
        case AliasKind::kViewIfPossible:
          if (MakeViewIfPossible(op, output)) {
            ++views;
          } else {
            MakeFresh(output);
          }
          break;
        case AliasKind::kInPlace: MakeInPlace(output); break;
      }
    }
    op.is_view = views > 0 && views == op.outputs.size() && op.writes.empty();
  }

 private:
  int32_t Newest(StorageId storage) const {
    return static_cast<int32_t>(graph_.storages[storage].versions.size()) - 1;
  }

  void MakeFresh(TensorId id) {
    Tensor& tensor = graph_.tensors[id];
    tensor.storage = graph_.storages.push_back(
        Storage{id, tensor.kind, tensor.bytes, {Version{tensor.producer}}});
    tensor.version = 0;
    tensor.offset = Bytes(0);
    tensor.length = tensor.bytes;
    // An input whose place in memory was stated.
    const std::optional<ByteRange> hull =
        tensor.strides.empty() ? std::nullopt : HullOf(LayoutOf(tensor));
    if (!hull) return;
    tensor.length = hull->length;
    graph_.storages[tensor.storage].bytes = hull->length;
  }

  // One new version for every storage that the op writes.
  void WriteStorages(OpId id) {
    for (TensorId tensor : graph_.ops[id].writes) {
      Storage& storage = graph_.storages[graph_.tensors[tensor].storage];
      if (storage.versions.size() > 1 && storage.versions.back().writer == id) continue;
      storage.versions.push_back(Version{id});
      if (storage.kind == TensorKind::kInput) {
        storage.kind = TensorKind::kBuffer;  // it lives on a home from now on
        graph_.tensors[storage.first].kind = TensorKind::kBuffer;
      }
    }
  }

  StridedLayout LayoutOf(const Tensor& tensor) const {
    const int64_t size = std::max<int64_t>(1, SizeOf(tensor.dtype));
    StridedLayout layout = ContiguousLayout(tensor.dtype, tensor.shape, tensor.offset.count / size);
    if (!tensor.strides.empty()) layout.strides = tensor.strides;
    return layout;
  }

  // The layout of a view of `base`, if it is derivable and lies within the storage.
  std::optional<StridedLayout> Derive(const Op& op, TensorId base, const Tensor& output) const {
    const Tensor& from = graph_.tensors[base];
    if (inexact_[base] || SizeOf(from.dtype) == 0) return std::nullopt;
    std::optional<StridedLayout> layout = DeriveView(op, LayoutOf(from), output);
    if (!layout) return std::nullopt;
    const std::optional<ByteRange> hull = HullOf(*layout);
    const Bytes whole = graph_.storages[from.storage].bytes;
    if (!hull || hull->offset + hull->length > whole) return std::nullopt;
    return layout;
  }

  void TakeLayout(TensorId output, TensorId base, const std::optional<StridedLayout>& layout) {
    Tensor& tensor = graph_.tensors[output];
    const Tensor& from = graph_.tensors[base];
    tensor.storage = from.storage;
    tensor.version = Newest(from.storage);
    inexact_[output] = layout ? 0 : 1;
    if (!layout) {
      tensor.offset = from.offset;
      tensor.length = from.length;
      return;
    }
    const ByteRange hull = *HullOf(*layout);
    tensor.offset = hull.offset;
    tensor.length = hull.length;
    if (!IsContiguous(*layout)) tensor.strides = layout->strides;
  }

  void MakeView(const Op& op, TensorId output) {
    const TensorId base = aliases_[output].base;
    TakeLayout(output, base, Derive(op, base, graph_.tensors[output]));
  }

  bool MakeViewIfPossible(const Op& op, TensorId output) {
    const TensorId base = aliases_[output].base;
    const std::optional<StridedLayout> layout = Derive(op, base, graph_.tensors[output]);
    const bool copies = AtenBaseCopies(op, base);
    if (!layout || copies) return false;
    TakeLayout(output, base, layout);
    return true;
  }

  // `contiguous` copies what is not contiguous yet, although a view would be possible.
  bool AtenBaseCopies(const Op& op, TensorId base) const {
    return op.type.starts_with("aten.contiguous") && !graph_.tensors[base].strides.empty();
  }

  void MakeInPlace(TensorId output) {
    const TensorId base = aliases_[output].base;
    const Tensor& from = graph_.tensors[base];
    const Tensor& tensor = graph_.tensors[output];
    if (inexact_[base] || tensor.shape != from.shape || tensor.dtype != from.dtype) {
      TakeLayout(output, base, std::nullopt);
    } else {
      TakeLayout(output, base, LayoutOf(from));
    }
  }

  GraphData& graph_;
  const IdVector<TensorId, TensorAlias>& aliases_;
  IdVector<TensorId, char> inexact_;
};

// Renumbers the storages by the id of their first tensor.
void SortStorages(GraphData& graph) {
  const size_t count = graph.storages.size();
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  const std::vector<Storage>& storages = graph.storages.raw();
  const auto before = [&](size_t a, size_t b) { return storages[a].first < storages[b].first; };
  if (std::is_sorted(order.begin(), order.end(), before)) return;
  std::sort(order.begin(), order.end(), before);
  IdVector<StorageId, Storage> sorted;
  std::vector<StorageId> new_id(count);
  for (size_t i = 0; i < count; ++i) {
    new_id[order[i]] = sorted.push_back(std::move(graph.storages.raw()[order[i]]));
  }
  graph.storages = std::move(sorted);
  for (Tensor& tensor : graph.tensors) tensor.storage = new_id[tensor.storage.index()];
}

bool IsDataEdge(const GraphData& graph, OpId from, OpId to) {
  const std::span<const OpId> row = graph.consumers[from];
  return std::binary_search(row.begin(), row.end(), to);
}

}  // namespace

void DeriveStorages(GraphData& graph, const IdVector<TensorId, TensorAlias>& aliases,
                    std::span<const OpId> order) {
  StorageWalk walk(graph, aliases);
  walk.AddInputs();
  for (OpId op : order) walk.Visit(op);
  SortStorages(graph);
}

std::vector<OrderEdge> RequiredOrderEdges(const GraphData& graph) {
  std::vector<OrderEdge> edges;
  const auto add = [&](OpId from, OpId to, OrderKind kind) {
    if (from.valid() && to.valid() && from != to && !IsDataEdge(graph, from, to)) {
      edges.push_back({from, to, kind});
    }
  };
  for (OpId id : IdRange<OpId>(graph.ops.size())) {
    const Op& op = graph.ops[id];
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const std::vector<Version>& versions =
          graph.storages[graph.tensors[op.inputs[i]].storage].versions;
      const size_t version = static_cast<size_t>(op.input_versions[i]);
      add(versions[version].writer, id, OrderKind::kReadAfterWrite);
      if (!op.is_view && version + 1 < versions.size()) {
        add(id, versions[version + 1].writer, OrderKind::kWriteAfterRead);
      }
    }
  }
  for (const Storage& storage : graph.storages) {
    for (size_t v = 1; v < storage.versions.size(); ++v) {
      add(storage.versions[v - 1].writer, storage.versions[v].writer, OrderKind::kWriteAfterWrite);
    }
  }
  std::sort(edges.begin(), edges.end(), [](const OrderEdge& a, const OrderEdge& b) {
    return std::tie(a.from, a.to, a.kind) < std::tie(b.from, b.to, b.kind);
  });
  edges.erase(std::unique(edges.begin(), edges.end(),
                          [](const OrderEdge& a, const OrderEdge& b) {
                            return a.from == b.from && a.to == b.to;
                          }),
              edges.end());
  edges.shrink_to_fit();
  return edges;
}

}  // namespace placewright
