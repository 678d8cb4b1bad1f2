#include "sim/engine/program_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace placewright {

// Once or several times each: what reads what it makes, what loses a requirement when it ends, and what writes
// over what it reads beside it.
template <class Visit>
void ProgramOrder::ForEachWaiting(ExecOpId op, const Visit& visit) const {
  for (const PackedReader& reader : packed_->ReadersOf(op)) visit(reader.op);
  if (!packed_->ops[op.index()].special()) return;
  for (const ExecOpId waits : packed_->ends[op]) visit(waits);
  for (int32_t e = packed_->ops[op.index()].edge; e < packed_->ops[op.index() + 1].edge; ++e) {
    const ExecOpId writer = packed_->overwriter[packed_->edge_slice[e]];
    if (!writer.valid() || writer == op) continue;
    if ((*ops_)[writer].device == (*ops_)[op].device) visit(writer);
  }
}

void ProgramOrder::Find(const SimGraph& p, const PackedStep& packed,
                        const IdVector<ExecOpId, OpState>& ops) {
  p_ = &p;
  packed_ = &packed;
  ops_ = &ops;
  by_id_ = p.moves_pieces.empty() && p.collective_time.empty();
  communicators_.clear();
  if (by_id_) return;
  FindForOthers();
  RankForward();
  RankBackward();
  Merge();
  FindCommunicators();
}

// From the end, so that what waits for an op is known.
void ProgramOrder::FindForOthers() {
  for_others_.assign(p_->ops, 0);
  if (p_->moves_pieces.empty()) return;
  for (size_t i = p_->topological_order.size(); i > 0; --i) {
    const ExecOpId op = p_->topological_order[i - 1];
    if (!p_->moves_pieces[op]) continue;
    const DeviceId device = (*ops_)[op].device;
    bool others = false;
    ForEachWaiting(op, [&](ExecOpId waits) {
      others = others || (*ops_)[waits].device != device || p_->CollectiveOf(waits).valid() ||
               for_others_[waits] != 0;
    });
    for_others_[op] = others;
  }
}

// Ops of the step, those for others and collectives. The members of a collective are neighbours, and all
// that they wait for comes before the first of them.
void ProgramOrder::RankForward() {
  rank_.assign(p_->ops, -1);
  const std::vector<ExecOpId>& order = p_->topological_order;
  for (size_t i = 0; i < order.size();) {
    const CollectiveId collective = p_->CollectiveOf(order[i]);
    size_t end = i + 1;
    while (collective.valid() && end < order.size() && p_->CollectiveOf(order[end]) == collective) {
      ++end;
    }
    int32_t rank = -1;
    for (size_t j = i; j < end; ++j) rank = std::max(rank, rank_[order[j]]);
    for (; i < end; ++i) {
      const ExecOpId op = order[i];
      const bool moves = !p_->moves_pieces.empty() && p_->moves_pieces[op] != 0;
      const bool own = !collective.valid() && !(moves && for_others_[op]);
      rank_[op] = own ? op.value() : rank;
      ForEachWaiting(op, [&](ExecOpId waits) { rank_[waits] = std::max(rank_[waits], rank_[op]); });
    }
  }
}

// Those that join what was received. One that nothing waits for stays where the file has it.
void ProgramOrder::RankBackward() {
  if (p_->moves_pieces.empty()) return;
  for (size_t i = p_->topological_order.size(); i > 0; --i) {
    const ExecOpId op = p_->topological_order[i - 1];
    if (!p_->moves_pieces[op] || for_others_[op]) continue;
    int32_t first = std::numeric_limits<int32_t>::max();
    ForEachWaiting(op, [&](ExecOpId waits) { first = std::min(first, rank_[waits]); });
    if (first < std::numeric_limits<int32_t>::max()) rank_[op] = first;
  }
}

// What keeps its place is in order already.
void ProgramOrder::Merge() {
  moved_.clear();
  order_.clear();
  order_.reserve(static_cast<size_t>(p_->ops));
  if (!p_->moves_pieces.empty()) {
    for (const ExecOpId op : p_->exec_ops()) {
      if (p_->moves_pieces[op]) moved_.push_back(op);
    }
  }
  // Before the op of that rank what joins, behind it what is for others.
  const auto key = [&](ExecOpId op) { return std::tuple(rank_[op], for_others_[op], op); };
  std::sort(moved_.begin(), moved_.end(), [&](ExecOpId a, ExecOpId b) { return key(a) < key(b); });
  size_t next = 0;
  for (const ExecOpId op : p_->exec_ops()) {
    if (p_->CollectiveOf(op).valid()) continue;
    if (!p_->moves_pieces.empty() && p_->moves_pieces[op]) continue;
    while (next < moved_.size() &&
           (rank_[moved_[next]] < op.value() ||
            (rank_[moved_[next]] == op.value() && !for_others_[moved_[next]]))) {
      order_.push_back(moved_[next++]);
    }
    order_.push_back(op);
  }
  order_.insert(order_.end(), moved_.begin() + static_cast<ptrdiff_t>(next), moved_.end());
}

namespace {

bool ReadsSlices(const PackedStep& packed, ExecOpId op) {
  return packed.ops[op.index()].edge < packed.ops[op.index() + 1].edge;
}

}  // namespace

bool IsCopy(const SimGraph& p, const PackedStep& packed, CollectiveId id) {
  const std::span<const ExecOpId> members = p.collective_members[id];
  if (!p.of_many.empty() && p.of_many[id] != 0) return false;
  if (members.size() != 2 || ReadsSlices(packed, members[0]) == ReadsSlices(packed, members[1])) {
    return false;
  }
  const ExecOpId sender = members[ReadsSlices(packed, members[0]) ? 0 : 1];
  const PackedOp& op = packed.ops[sender.index()];
  return op.slice == packed.ops[sender.index() + 1].slice &&
         (!op.special() || packed.tokens[sender].empty());
}

std::vector<DeviceId> CommunicatorKey(const SimGraph& p, const PackedStep& packed,
                                      const IdVector<ExecOpId, OpState>& ops, CollectiveId id) {
  const std::span<const ExecOpId> members = p.collective_members[id];
  std::vector<DeviceId> devices;
  for (const ExecOpId member : members) devices.push_back(ops[member].device);
  const bool copy = IsCopy(p, packed, id);
  if (copy) {
    if (ReadsSlices(packed, members[1])) std::swap(devices[0], devices[1]);
    devices.push_back(DeviceId());  // no set of devices has it
  } else {
    std::sort(devices.begin(), devices.end());
  }
  if (p.communicator.empty()) return devices;
  // Of a step in lanes: the number of its sets of devices in the place of the first one's.
  if (!copy) devices.clear();
  devices.push_back(DeviceId(p.communicator[id]));
  return devices;
}

void ProgramOrder::FindCommunicators() {
  communicator_of_.assign(p_->collective_time.size(), -1);
  std::vector<std::tuple<int32_t, ExecOpId, CollectiveId>> items;
  for (const CollectiveId id : IdRange<CollectiveId>(p_->collective_time.size())) {
    const std::span<const ExecOpId> members = p_->collective_members[id];
    items.emplace_back(rank_[members.front()], *std::max_element(members.begin(), members.end()),
                       id);
  }
  std::sort(items.begin(), items.end());
  std::map<std::vector<DeviceId>, int32_t> known;
  for (const auto& [rank, last, id] : items) {
    const auto [of, fresh] = known.try_emplace(CommunicatorKey(*p_, *packed_, *ops_, id),
                                               static_cast<int32_t>(communicators_.size()));
    if (fresh) communicators_.emplace_back();
    communicators_[static_cast<size_t>(of->second)].push_back(id);
    communicator_of_[id] = of->second;
  }
}

namespace {

// What ops wait for that stand behind ops of the latest block: by which ways it comes there.
struct LaneWays {
  int32_t block = -1;
  std::set<int32_t> ways;
  void Add(const LaneWays& other) {
    if (other.block < block) return;
    if (other.block > block) ways.clear();
    block = other.block;
    ways.insert(other.ways.begin(), other.ways.end());
  }
};

}  // namespace

bool ProgramOrder::IsSameInLanes(const IdVector<ExecOpId, int32_t>& blocks) const {
  std::map<std::pair<int32_t, std::set<int32_t>>, int32_t> numbers;
  const auto number_of = [&](int32_t by, const std::set<int32_t>& ways) {
    return static_cast<int32_t>(
        numbers.emplace(std::pair(by, ways), static_cast<int32_t>(numbers.size())).first->second);
  };
  std::map<ExecOpId, LaneWays> waits;                    // of collectives, and what is for others
  std::map<std::pair<int32_t, int32_t>, int32_t> known;  // by communicator and block
  const std::vector<ExecOpId>& order = p_->topological_order;
  for (size_t i = 0; i < order.size();) {
    const CollectiveId collective = p_->CollectiveOf(order[i]);
    size_t end = i + 1;
    while (collective.valid() && end < order.size() && p_->CollectiveOf(order[end]) == collective) {
      ++end;
    }
    LaneWays ways;
    for (size_t j = i; j < end; ++j) {
      const auto found = waits.find(order[j]);
      if (found != waits.end()) ways.Add(found->second);
    }
    if (collective.valid()) {
      const int32_t way = number_of(CommunicatorOf(collective), ways.ways);
      const auto at = known.emplace(std::pair(CommunicatorOf(collective), ways.block), way).first;
      if (ways.block >= 0 && at->second != way) return false;
      ways.ways = {way};
    }
    for (; i < end; ++i) {
      const ExecOpId op = order[i];
      LaneWays behind = ways;
      const bool moves = !p_->moves_pieces.empty() && p_->moves_pieces[op] != 0;
      if (!collective.valid() && !(moves && for_others_[op])) {
        behind = {blocks[op], {number_of(-1 - (*ops_)[op].device.value(), {})}};
      }
      ForEachWaiting(op, [&](ExecOpId later) {
        const bool moves_later = !p_->moves_pieces.empty() && p_->moves_pieces[later] != 0;
        const bool hands_on =
            p_->CollectiveOf(later).valid() || (moves_later && for_others_[later]);
        if (hands_on) waits[later].Add(behind);
      });
    }
  }
  return true;
}

ExecOpId FirstOutOfProgram(const SimGraph& p) {
  const auto place_of = [&](ExecOpId op) {
    const CollectiveId collective = p.CollectiveOf(op);
    if (!collective.valid()) return op;
    const std::span<const ExecOpId> members = p.collective_members[collective];
    return *std::max_element(members.begin(), members.end());
  };
  ExecOpId first;
  for (const ExecOpId op : p.exec_ops()) {
    const ExecOpId place = place_of(op);
    const auto check = [&](ExecOpId waits) {
      if (waits == op || place < place_of(waits)) return;
      if (!first.valid() || waits < first) first = waits;
    };
    for (const ExecOpId reader : p.ReadersOf(op)) check(reader);
    for (const ExecOpId later : p.explicit_successors[op]) check(later);
    for (const SliceId slice : p.op_slices[op]) {
      const ExecOpId writer = p.version_overwriter[p.slice_version[slice]];
      if (writer.valid()) check(writer);
    }
    for (const VersionId version : p.op_makes[op]) {
      const ExecOpId writer = p.version_overwriter[version];
      if (writer.valid()) check(writer);
    }
  }
  return first;
}

}  // namespace placewright
