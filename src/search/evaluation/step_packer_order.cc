// What of a packed step waits for what, and in which order its ops stand.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "search/evaluation/step_packer.h"

namespace placewright {

// As SimGraph has it: who waits for a view waits for who wrote what it shows, and a view hands its own waits on to its
// readers.
PackedStep::Waits StepPacker::WaitsThroughViews(const StepArrays& arrays) const {
  std::multimap<OpId, OpId> stated;
  for (const auto& [from, to] : arrays.after) stated.emplace(to, from);
  std::map<TensorId, std::vector<ExecOpId>> handed_on;
  const auto add_handed_on = [&](TensorId tensor, std::vector<ExecOpId>& waits) {
    const auto found = handed_on.find(tensor);
    if (found != handed_on.end()) {
      waits.insert(waits.end(), found->second.begin(), found->second.end());
    }
  };
  PackedStep::Waits after;
  for (const OpId id : arrays.order) {
    const ArrayOp& op = arrays.ops[id];
    const ExecOpId exec = p_.exec_of[id];
    std::vector<ExecOpId> waits;
    for (const ArrayRead& read : arrays.ReadsOf(op)) add_handed_on(read.tensor, waits);
    const auto [from, to] = stated.equal_range(id);
    for (auto one = from; one != to; ++one) {
      const ArrayOp& earlier = arrays.ops[one->second];
      if (!earlier.is_view) {
        waits.push_back(p_.exec_of[one->second]);
        continue;
      }
      const OpId writer = arrays.versions[arrays.ReadsOf(earlier).front().version].writer;
      if (writer.valid()) waits.push_back(p_.exec_of[writer]);
      for (const TensorId made : arrays.MadeBy(earlier)) add_handed_on(made, waits);
    }
    for (const ExecOpId wait : waits) {
      if (exec.valid() && wait != exec) after.emplace_back(wait, exec);
    }
    if (exec.valid() || waits.empty()) continue;
    for (const TensorId made : arrays.MadeBy(op)) handed_on[made] = waits;
  }
  return after;
}

// What waits for the end of another op beside what it reads: by order, or to write over what that has made.
void StepPacker::AddWaits(const StepArrays& arrays) {
  const size_t ops = static_cast<size_t>(p_.ops);
  p_.explicit_successors.offsets.assign(ops + 1, 0);
  p_.explicit_successors.items.clear();
  PackedStep::Waits after;
  bool views = false;
  for (const auto& [from, to] : arrays.after) {
    const ExecOpId earlier = p_.exec_of[from], later = p_.exec_of[to];
    views = views || !earlier.valid() || !later.valid();
    after.emplace_back(earlier, later);
  }
  if (views) after = WaitsThroughViews(arrays);
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  std::vector<int32_t>& offsets = p_.explicit_successors.offsets;
  for (const auto& [from, to] : after) {
    ++offsets[from.index() + 1];
    p_.explicit_successors.items.push_back(to);
  }
  for (size_t i = 1; i <= ops && !after.empty(); ++i) offsets[i] += offsets[i - 1];
  waits_.insert(waits_.end(), after.begin(), after.end());
  packed_.AddWaits(waits_);
}

// The members of a collective where the last of them stands.
void StepPacker::AddOrder() {
  p_.topological_order.clear();
  p_.topological_order.reserve(static_cast<size_t>(p_.ops));
  const bool together = !p_.collective_of.empty();
  for (const ExecOpId op : p_.exec_ops()) {
    if (!together || !p_.collective_of[op].valid()) {
      p_.topological_order.push_back(op);
      continue;
    }
    const std::span<const ExecOpId> members = p_.collective_members[p_.collective_of[op]];
    if (op != *std::max_element(members.begin(), members.end())) continue;
    p_.topological_order.insert(p_.topological_order.end(), members.begin(), members.end());
  }
}

void StepPacker::AddMoving() {
  p_.moves_pieces.assign(static_cast<size_t>(p_.ops), 0);
  for (const ExecOpId op : p_.exec_ops()) {
    p_.moves_pieces[op] = prices_.part(exec_[op.index()].part).moves_pieces;
  }
}

Status StepPacker::CheckLaneOrder(const StepArrays& arrays) {
  IdVector<ExecOpId, int32_t> blocks(static_cast<size_t>(p_.ops), -1);
  IdVector<ExecOpId, OpState> ops(static_cast<size_t>(p_.ops));
  for (const OpId id : arrays.order) {
    const ExecOpId op = p_.exec_of[id];
    if (!op.valid()) continue;
    ops[op].device = placement_.raw()[op.index()];
    if (id.index() < arrays.lane_blocks.size()) blocks[op] = arrays.lane_blocks[id];
  }
  ProgramOrder order;
  order.Find(p_, packed_, ops);
  if (order.IsSameInLanes(blocks)) return Ok();
  return MakeError(ErrorCode::kPlanInvalid, "collectives have other orders in other lanes");
}

void StepPacker::AddPaths() {
  const PackedOp* const ops = packed_.ops.data();
  const PackedSlice* const slices = packed_.slices.data();
  const PackedReader* const readers = packed_.readers.data();
  const bool any_after = !p_.explicit_successors.items.empty();
  FillPaths(p_, &p_.min_path, [&](ExecOpId op) {
    const int64_t* const path = p_.min_path.raw().data();
    int64_t longest = 0;
    const int32_t end = slices[ops[op.index() + 1].slice].reader;
    for (int32_t i = slices[ops[op.index()].slice].reader; i < end; ++i) {
      longest = std::max(longest, path[readers[i].op.index()]);
    }
    if (!any_after) return longest;
    for (const ExecOpId later : p_.explicit_successors[op]) {
      longest = std::max(longest, path[later.index()]);
    }
    return longest;
  });
}

}  // namespace placewright
