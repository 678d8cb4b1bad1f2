#include "graph/graph.h"

#include <algorithm>
#include <utility>

namespace placewright {
namespace {

// The id among `sorted` (by name) whose item has that name, or an invalid id.
template <class IdType, class Items>
IdType FindByName(const std::vector<IdType>& sorted, const Items& items, std::string_view name) {
  const auto it =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [&](IdType id, std::string_view n) { return items[id].name < n; });
  return it != sorted.end() && items[*it].name == name ? *it : IdType();
}

}  // namespace

int64_t Graph::samples() const {
  int64_t samples = batch();
  for (const Transform& transform : transforms()) {
    if (transform.kind == Transform::kAccumulate) samples *= transform.micro_batches;
  }
  return samples;
}

OpId Graph::FindOp(std::string_view name) const {
  return FindByName(data_.ops_by_name, data_.ops, name);
}

TensorId Graph::FindTensor(std::string_view name) const {
  return FindByName(data_.tensors_by_name, data_.tensors, name);
}

Csr<GroupId, OpId> Graph::GroupMembers() const {
  return RowsByGroup(data_.group_of, data_.group_count);
}

Csr<OpId, TensorId> Graph::Held() const {
  Csr<OpId, TensorId> rows;
  rows.offsets.assign(op_count() + 1, 0);
  for (const Tensor& tensor : data_.tensors) {
    if (tensor.held_until.valid()) ++rows.offsets[tensor.held_until.index() + 1];
  }
  for (size_t i = 0; i < op_count(); ++i) rows.offsets[i + 1] += rows.offsets[i];
  std::vector<int32_t> next(rows.offsets.begin(), rows.offsets.end() - 1);
  rows.items.resize(static_cast<size_t>(rows.offsets.back()));
  for (TensorId id : tensors()) {
    const OpId holder = tensor(id).held_until;
    if (holder.valid()) rows.items[static_cast<size_t>(next[holder.index()]++)] = id;
  }
  return rows;
}

int32_t Graph::VersionBefore(OpId op, TensorId id) const {
  const std::vector<Version>& versions = storage(tensor(id).storage).versions;
  size_t newest = 0;
  while (newest + 1 < versions.size() && versions[newest + 1].writer < op) ++newest;
  return static_cast<int32_t>(newest);
}

Csr<GroupId, OpId> RowsByGroup(const IdVector<OpId, GroupId>& group_of, size_t groups) {
  Csr<GroupId, OpId> rows;
  rows.offsets.assign(groups + 1, 0);
  for (GroupId group : group_of) ++rows.offsets[group.index() + 1];
  for (size_t g = 0; g < groups; ++g) rows.offsets[g + 1] += rows.offsets[g];
  std::vector<int32_t> next(rows.offsets.begin(), rows.offsets.end() - 1);
  rows.items.resize(group_of.size());
  for (OpId op : IdRange<OpId>(group_of.size())) {
    rows.items[static_cast<size_t>(next[group_of[op].index()]++)] = op;
  }
  return rows;
}

Graph WithTransforms(Graph graph, Transforms transforms) {
  graph.data_.transforms = std::move(transforms);
  return graph;
}

}  // namespace placewright
