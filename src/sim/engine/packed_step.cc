#include "sim/engine/packed_step.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/check.h"

namespace placewright {

// Rows in the order of their items.
template <class Item>
void PackedStep::MakeRows(size_t rows, const Pairs<Item>& pairs, Csr<ExecOpId, Item>& csr) {
  csr.offsets.assign(rows + 2, 0);
  for (const auto& [row, item] : pairs) ++csr.offsets[row.index() + 2];
  std::partial_sum(csr.offsets.begin(), csr.offsets.end(), csr.offsets.begin());
  csr.items.resize(pairs.size());
  for (const auto& [row, item] : pairs) {
    csr.items[static_cast<size_t>(csr.offsets[row.index() + 1]++)] = item;
  }
  csr.offsets.pop_back();
  for (size_t row = 0; row < rows; ++row) {
    const auto begin = csr.items.begin() + csr.offsets[row];
    const auto end = csr.items.begin() + csr.offsets[row + 1];
    if (end - begin > 1) std::sort(begin, end);
  }
}

PackedStep::PackedStep(const SimGraph& p) {
  op_count = p.ops;
  storages = static_cast<int32_t>(p.storage_class.size());
  CheckSize();
  ops.assign(p.ops + 1, {});
  slices.assign(p.slices + 1, {});
  AddSlices(p, AddStorages(p));
  AddOps(p);
  AddNeeds(p);
  AddTimes(p);
  AddRoutes(p);
}

void PackedStep::CheckSize() const { PW_CHECK_LT(storages, 1 << (31 - PackedSlice::kFlagBits)); }

IdVector<StorageId, char> PackedStep::AddStorages(const SimGraph& p) {
  Pairs<StorageId> makers;
  IdVector<ExecOpId, __int128> births(p.ops, 0);
  IdVector<StorageId, char> shared(storages, 0);
  storage_bytes.assign(storages, 0);
  for (StorageId s : p.storage_ids()) {
    const std::span<const VersionId> versions = p.storage_versions[s];
    if (p.storage_class[s] == StorageClass::kPersistent) persistent.push_back(s);
    if (p.storage_class[s] != StorageClass::kTransient) continue;
    storage_bytes[s] = p.storage_bytes[s];
    births[p.version_writer[versions.front()]] += p.storage_bytes[s];
    const size_t slices_read = p.version_slices[versions.front()].size();
    if (versions.size() == 1 && slices_read == 1) continue;
    const bool uses_alone = versions.size() == 1 && slices_read > 1;
    shared_storages.push_back(s);
    shared[s] = 1;
    shared_left.push_back(uses_alone ? 0 : static_cast<int32_t>(versions.size()));
    if (uses_alone) continue;
    for (VersionId v : versions) makers.emplace_back(p.version_writer[v], s);
  }
  MakeRows(p.ops, makers, tokens);
  for (ExecOpId op : p.exec_ops()) SetBirth(op, births[op]);
  return shared;
}

__int128 PackedStep::WideBirth(ExecOpId op) const {
  return std::lower_bound(wide_births.begin(), wide_births.end(), std::pair(op, __int128{0}))
      ->second;
}

void PackedStep::AddSlices(const SimGraph& p, const IdVector<StorageId, char>& shared) {
  overwriter.assign(p.slices, ExecOpId());
  overwriter_reads.assign(p.slices, 0);
  for (SliceId slice : p.slice_ids()) {
    const StorageId s = p.slice_storage[slice];
    PackedSlice& packed = slices[slice.index()];
    packed.length = p.slice_length[slice];
    packed.storage_flags = s.value() << PackedSlice::kFlagBits;
    const bool transient = p.storage_class[s] == StorageClass::kTransient;
    if (transient && !shared[s]) packed.storage_flags |= PackedSlice::kAlone;
    overwriter[slice] = p.version_overwriter[p.slice_version[slice]];
    const std::span<const ExecOpId> row = p.slice_readers[slice];
    if (overwriter[slice].valid()) {
      packed.storage_flags |= PackedSlice::kOverwritten;
      overwriter_reads[slice] = std::binary_search(row.begin(), row.end(), overwriter[slice]);
    }
    const bool input = p.storage_class[s] == StorageClass::kInput;
    if (input) input_slices.push_back(slice);
    if (!input && !p.slice_writer[slice].valid()) initial_slices.push_back(slice);
  }
}

void PackedStep::AddOps(const SimGraph& p) {
  for (size_t slice = 0; slice < slices.size(); ++slice) {
    slices[slice].reader = p.slice_readers.offsets[slice];
  }
  readers.resize(p.slice_readers.items.size());
  for (size_t i = 0; i < readers.size(); ++i) readers[i] = {p.slice_readers.items[i], -1};
  std::vector<int32_t> next;  // by slice: position of the next reader to get its edge
  for (const PackedSlice& slice : slices) next.push_back(slice.reader);
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i].edge = static_cast<int32_t>(edge_slice.size());
    ops[i].slice = p.op_first_slice[i];
    if (i + 1 == ops.size()) break;
    const ExecOpId op(i);
    any_workspace |= p.workspace[op] > 0;
    bool special = !tokens[op].empty();
    for (SliceId slice : p.op_slices[op]) {
      if (p.storage_class[p.slice_storage[slice]] == StorageClass::kInput) continue;
      PackedReader& reader = readers[next[slice.index()]++];
      PW_CHECK_EQ(reader.op.value(), op.value());
      reader.edge = static_cast<int32_t>(edge_slice.size());
      edge_slice.push_back(slice);
      special |= overwriter[slice].valid();
    }
    if (special) ops[i].birth |= PackedOp::kSpecial;
  }
}

void PackedStep::AddNeeds(const SimGraph& p) {
  Waits waits;
  base_need.assign(p.ops, 0);
  for (ExecOpId op : p.exec_ops()) {
    for (int32_t edge = ops[op.index()].edge; edge < ops[op.index() + 1].edge; ++edge) {
      base_need[op] += p.slice_writer[edge_slice[edge]].valid();
    }
    for (ExecOpId later : p.explicit_successors[op]) waits.emplace_back(op, later);
  }
  // An in-place writer also waits for the old version as a whole: until then it is not known how
  // many readers and transfers it has to wait for.
  for (VersionId v : p.version_ids()) {
    if (p.version_writer[v].valid() && p.version_overwriter[v].valid()) {
      waits.emplace_back(p.version_writer[v], p.version_overwriter[v]);
    }
  }
  AddWaits(waits);
}

void PackedStep::AddWaits(const Waits& waits) {
  for (const auto& [from, to] : waits) {
    ++base_need[to];
    ops[from.index()].birth |= PackedOp::kSpecial;
  }
  MakeRows(static_cast<size_t>(op_count), waits, ends);
  first_ready.clear();
  for (ExecOpId op : IdRange<ExecOpId>(static_cast<size_t>(op_count))) {
    if (base_need[op] == 0) first_ready.push_back(op);
  }
}

void PackedStep::AddTimes(const SimGraph& p) {
  if (!p.only.empty()) {
    times = p.time;
    time_row.assign(static_cast<size_t>(p.devices), 0);
    return;
  }
  const size_t rows = static_cast<size_t>(p.ops);
  for (DeviceId device : p.device_ids()) {
    size_t row = 0;
    // No time is asked for where an op is not supported: there a row may hold another device's.
    const auto agrees = [&](size_t op) {
      const int64_t time = p.Time(ExecOpId(op), device);
      return time < 0 || times[row + op] < 0 || times[row + op] == time;
    };
    for (; row < times.size(); row += rows) {
      size_t op = 0;
      while (op < rows && agrees(op)) ++op;
      if (op == rows) break;
    }
    time_row.push_back(row);
    if (row == times.size()) times.resize(row + rows, -1);
    for (ExecOpId op : p.exec_ops()) {
      int64_t& time = times[row + op.index()];
      if (time < 0) time = p.Time(op, device);
    }
  }
}

void PackedStep::AddRoutes(const SimGraph& p) {
  IdVector<LinkId, int32_t> routes_over(p.links, 0);
  for (LinkId link : p.route_links.items) ++routes_over[link];
  for (LinkId link : p.collective_links.items) ++routes_over[link];
  routes.assign(p.route_latency.size(), {});
  for (RouteId id : IdRange<RouteId>(routes.size())) {
    PackedRoute& route = routes[id];
    route.latency = p.route_latency[id];
    route.bandwidth = p.route_bandwidth[id];
    route.link = p.route_links.offsets[id.index()];
    route.end = p.route_links.offsets[id.index() + 1];
    if (route.end - route.link != 1) continue;
    const LinkId link = p.route_links[id].front();
    if (routes_over[link] == 1) route.private_link = link;
  }
}

}  // namespace placewright
