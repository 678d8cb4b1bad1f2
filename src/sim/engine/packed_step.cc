#include "sim/engine/packed_step.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace placewright {

namespace {

using Pairs = std::vector<std::pair<int32_t, int32_t>>;  // row, item

void FillRows(int32_t rows, Pairs pairs, std::vector<int32_t>* offsets,
              std::vector<int32_t>* items) {
  std::sort(pairs.begin(), pairs.end());
  offsets->assign(rows + 1, 0);
  for (const auto& [row, item] : pairs) {
    ++(*offsets)[row + 1];
    items->push_back(item);
  }
  std::partial_sum(offsets->begin(), offsets->end(), offsets->begin());
}

}  // namespace

PackedStep::PackedStep(const SimGraph& p)
    : op_count(p.ops), storages(static_cast<int32_t>(p.storage_class.size())) {
  PW_CHECK_LT(p.devices, 1 << 16);
  PW_CHECK_LT(storages, 1 << (31 - PackedSlice::kFlagBits));
  ops.resize(p.ops + 1);
  slices.resize(p.slices + 1);
  AddStorages(p);
  AddSlices(p);
  AddOps(p);
  AddNeeds(p);
  AddTimes(p);
  AddRoutes(p);
}

void PackedStep::AddStorages(const SimGraph& p) {
  Pairs makers;
  std::vector<__int128> births(p.ops, 0);
  storage_bytes.assign(storages, 0);
  for (int32_t s = 0; s < storages; ++s) {
    const int32_t first = p.storage_versions.offsets[s], end = p.storage_versions.offsets[s + 1];
    if (p.storage_class[s] == StorageClass::kPersistent) persistent.push_back(s);
    if (p.storage_class[s] != StorageClass::kTransient) continue;
    storage_bytes[s] = p.storage_bytes[s];
    births[p.version_writer[first]] += p.storage_bytes[s];
    const int32_t slices_read = p.version_slices_offset[first + 1] - p.version_slices_offset[first];
    if (end - first == 1 && slices_read == 1) continue;
    const bool uses_alone = end - first == 1 && slices_read > 1;
    shared_storages.push_back(s);
    shared_left.push_back(uses_alone ? 0 : end - first);
    if (uses_alone) continue;
    for (int32_t v = first; v < end; ++v) makers.emplace_back(p.version_writer[v], s);
  }
  FillRows(p.ops, std::move(makers), &token_offset, &tokens);
  constexpr __int128 kNarrow = __int128{1} << 62;
  for (int32_t op = 0; op < p.ops; ++op) {
    const bool wide = births[op] >= kNarrow;
    ops[op].birth = wide ? -kNarrow : births[op];
    if (wide) wide_births.emplace_back(op, births[op]);
  }
}

__int128 PackedStep::WideBirth(int32_t op) const {
  return std::lower_bound(wide_births.begin(), wide_births.end(), std::pair(op, __int128{0}))
      ->second;
}

void PackedStep::AddSlices(const SimGraph& p) {
  overwriter.assign(p.slices, -1);
  overwriter_reads.assign(p.slices, 0);
  for (int32_t slice = 0; slice < p.slices; ++slice) {
    const int32_t s = p.slice_storage[slice], version = p.slice_version[slice];
    PackedSlice& packed = slices[slice];
    packed.length = p.slice_length[slice];
    packed.storage_flags = s << PackedSlice::kFlagBits;
    const bool transient = p.storage_class[s] == StorageClass::kTransient;
    if (transient && !std::binary_search(shared_storages.begin(), shared_storages.end(), s)) {
      packed.storage_flags |= PackedSlice::kAlone;
    }
    overwriter[slice] = p.version_overwriter[version];
    const auto first = p.slice_readers.begin() + p.slice_readers_offset[slice];
    const auto end = p.slice_readers.begin() + p.slice_readers_offset[slice + 1];
    if (overwriter[slice] >= 0) {
      packed.storage_flags |= PackedSlice::kOverwritten;
      overwriter_reads[slice] = std::binary_search(first, end, overwriter[slice]);
    }
    const bool input = p.storage_class[s] == StorageClass::kInput;
    if (input) input_slices.push_back(slice);
    if (!input && p.slice_writer[slice] < 0) initial_slices.push_back(slice);
  }
}

void PackedStep::AddOps(const SimGraph& p) {
  for (int32_t slice = 0; slice <= p.slices; ++slice) {
    slices[slice].reader = p.slice_readers_offset[slice];
  }
  readers.resize(p.slice_readers.size());
  for (size_t i = 0; i < readers.size(); ++i) readers[i].op = p.slice_readers[i];
  std::vector<int32_t> next(
      slices.size());  // by slice: position of the next reader to get its edge
  for (size_t slice = 0; slice < slices.size(); ++slice) next[slice] = slices[slice].reader;
  for (int32_t op = 0; op <= p.ops; ++op) {
    ops[op].edge = static_cast<int32_t>(edge_slice.size());
    ops[op].slice = p.op_first_slice[op];
    if (op == p.ops) break;
    any_workspace |= p.workspace[op] > 0;
    bool special = token_offset[op] < token_offset[op + 1];
    for (int32_t i = p.op_slices_offset[op]; i < p.op_slices_offset[op + 1]; ++i) {
      const int32_t slice = p.op_slices[i];
      if (p.storage_class[p.slice_storage[slice]] == StorageClass::kInput) continue;
      PackedReader& reader = readers[next[slice]++];
      PW_CHECK_EQ(reader.op, op);
      reader.edge = static_cast<int32_t>(edge_slice.size());
      edge_slice.push_back(slice);
      special |= overwriter[slice] >= 0;
    }
    if (special) ops[op].birth |= PackedOp::kSpecial;
  }
}

void PackedStep::AddNeeds(const SimGraph& p) {
  Pairs waits;
  base_need.assign(p.ops, 0);
  for (int32_t op = 0; op < p.ops; ++op) {
    for (int32_t edge = ops[op].edge; edge < ops[op + 1].edge; ++edge) {
      base_need[op] += p.slice_writer[edge_slice[edge]] >= 0;
    }
    for (int32_t i = p.after_offset[op]; i < p.after_offset[op + 1]; ++i) {
      waits.emplace_back(op, p.after[i]);
    }
  }
  // An in-place writer also waits for the old version as a whole: until then it is not known how
  // many readers and transfers it has to wait for.
  for (size_t v = 0; v < p.version_writer.size(); ++v) {
    if (p.version_writer[v] >= 0 && p.version_overwriter[v] >= 0) {
      waits.emplace_back(p.version_writer[v], p.version_overwriter[v]);
    }
  }
  for (const auto& [from, to] : waits) {
    ++base_need[to];
    ops[from].birth |= PackedOp::kSpecial;
  }
  FillRows(p.ops, std::move(waits), &end_offset, &ends);
  for (int32_t op = 0; op < p.ops; ++op) {
    if (base_need[op] == 0) first_ready.push_back(op);
  }
}

void PackedStep::AddTimes(const SimGraph& p) {
  const size_t rows = static_cast<size_t>(p.ops);
  for (int32_t device = 0; device < p.devices; ++device) {
    size_t row = 0;
    const auto same = [&](int32_t op) {
      return times[row + op] == p.time[int64_t{op} * p.devices + device];
    };
    for (; row < times.size(); row += rows) {
      int32_t op = 0;
      while (op < p.ops && same(op)) ++op;
      if (op == p.ops) break;
    }
    time_row.push_back(row);
    if (row < times.size()) continue;
    for (int32_t op = 0; op < p.ops; ++op)
      times.push_back(p.time[int64_t{op} * p.devices + device]);
  }
}

void PackedStep::AddRoutes(const SimGraph& p) {
  std::vector<int32_t> routes_over(p.links, 0);
  for (int32_t link : p.route_links) ++routes_over[link];
  const int32_t pairs = p.devices * p.devices;
  routes.resize(pairs);
  for (int32_t i = 0; i < pairs; ++i) {
    PackedRoute& route = routes[i];
    route.latency = p.route_latency[i];
    route.bandwidth = p.route_bandwidth[i];
    route.link = p.route_offset[i];
    route.end = p.route_offset[i + 1];
    if (route.end - route.link != 1) continue;
    const int32_t link = p.route_links[route.link];
    if (routes_over[link] == 1) route.private_link = link;
  }
}

}  // namespace placewright
