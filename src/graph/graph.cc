#include "graph/graph.h"

#include <algorithm>

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

OpId Graph::FindOp(std::string_view name) const {
  return FindByName(data_.ops_by_name, data_.ops, name);
}

TensorId Graph::FindTensor(std::string_view name) const {
  return FindByName(data_.tensors_by_name, data_.tensors, name);
}

Csr<GroupId, OpId> Graph::GroupMembers() const {
  Csr<GroupId, OpId> members;
  members.offsets.assign(group_count() + 1, 0);
  for (OpId op : ops()) ++members.offsets[group(op).index() + 1];
  for (size_t g = 0; g < group_count(); ++g) members.offsets[g + 1] += members.offsets[g];
  std::vector<int32_t> next(members.offsets.begin(), members.offsets.end() - 1);
  members.items.resize(op_count());
  for (OpId op : ops()) members.items[static_cast<size_t>(next[group(op).index()]++)] = op;
  return members;
}

}  // namespace placewright
