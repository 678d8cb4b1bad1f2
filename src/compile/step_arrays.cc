#include "compile/step_arrays.h"

#include <utility>

namespace placewright {

template <class Item>
void StepArrays::CopyRow(const std::vector<Item>& from, ArrayRow& row, std::vector<Item>& to) {
  const int32_t begin = static_cast<int32_t>(to.size());
  to.insert(to.end(), from.begin() + row.begin, from.begin() + row.end);
  row = {begin, static_cast<int32_t>(to.size())};
}

void StepArrays::Compact() {
  std::vector<ArrayRead> kept_reads;
  std::vector<TensorId> kept_made;
  std::vector<ArrayVersionId> kept_written;
  std::vector<OpId> kept_members;
  for (const OpId id : order) {
    CopyRow(reads, ops[id].reads, kept_reads);
    CopyRow(made, ops[id].made, kept_made);
    CopyRow(written, ops[id].written, kept_written);
  }
  for (const CollectiveId id : joined) CopyRow(members, collectives[id].members, kept_members);
  reads = std::move(kept_reads);
  made = std::move(kept_made);
  written = std::move(kept_written);
  members = std::move(kept_members);
}

}  // namespace placewright
