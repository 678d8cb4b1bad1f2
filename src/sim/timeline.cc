#include "sim/timeline.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace placewright {

namespace {

// Times at which what one op needs is there.
struct Needs {
  int64_t other = 0;      // everything but transfers
  int64_t transfers = 0;  // the last transfer it waits for; 0: none
};

std::vector<Needs> FindNeeds(const SimGraph& p, const Engine& engine) {
  std::vector<Needs> needs(p.ops);
  const std::vector<int64_t>& ends = engine.op_end();
  for (int32_t op = 0; op < p.ops; ++op) {
    for (int32_t i = p.op_slices_offset[op]; i < p.op_slices_offset[op + 1]; ++i) {
      const int32_t slice = p.op_slices[i], writer = p.slice_writer[slice];
      if (writer >= 0) needs[op].other = std::max(needs[op].other, ends[writer]);
      const int32_t overwriter = p.version_overwriter[p.slice_version[slice]];
      if (overwriter < 0 || overwriter == op || engine.DeviceOf(overwriter) != engine.DeviceOf(op))
        continue;
      needs[overwriter].other = std::max(needs[overwriter].other, ends[op]);
    }
    for (int32_t i = p.after_offset[op]; i < p.after_offset[op + 1]; ++i) {
      needs[p.after[i]].other = std::max(needs[p.after[i]].other, ends[op]);
    }
  }
  for (size_t id = 0; id < engine.transfers().size(); ++id) {
    const Transfer& transfer = engine.transfers()[id];
    const int64_t end = engine.transfer_times()[id].end;
    const int32_t overwriter = p.version_overwriter[p.slice_version[transfer.slice]];
    if (overwriter >= 0) {
      needs[overwriter].transfers = std::max(needs[overwriter].transfers, end);
    }
    for (int32_t r = p.slice_readers_offset[transfer.slice];
         r < p.slice_readers_offset[transfer.slice + 1]; ++r) {
      const int32_t reader = p.slice_readers[r];
      if (engine.DeviceOf(reader) != transfer.to) continue;
      needs[reader].transfers = std::max(needs[reader].transfers, end);
    }
  }
  return needs;
}

using Interval = std::pair<int64_t, int64_t>;

// Total length of the part of the union of `waits` that no interval of `runs` covers. `runs` are
// disjoint; both get sorted.
int64_t UncoveredLength(std::vector<Interval> waits, std::vector<Interval> runs) {
  std::sort(waits.begin(), waits.end());
  std::sort(runs.begin(), runs.end());
  int64_t total = 0, done = 0;  // everything before `done` is counted
  size_t next_run = 0;
  for (const auto& [begin, end] : waits) {
    int64_t at = std::max(begin, done);
    while (at < end) {
      while (next_run < runs.size() && runs[next_run].second <= at) ++next_run;
      if (next_run == runs.size() || runs[next_run].first >= end) {
        total += end - at;
        break;
      }
      total += std::max<int64_t>(0, runs[next_run].first - at);
      at = runs[next_run].second;
    }
    done = std::max(done, end);
  }
  return total;
}

int64_t Saturated(__int128 bytes) {
  return static_cast<int64_t>(std::min<__int128>(bytes, kMaxQuantity));
}

}  // namespace

void FillResult(const SimGraph& p, const Engine& engine, EngineOutcome outcome, SimResult* result) {
  result->abandoned = outcome == EngineOutcome::kAbandoned;
  result->feasible = !result->abandoned;
  result->step_time = Nanos(engine.now());
  result->links.clear();
  result->schedule.reset();
  result->devices.resize(p.devices);
  for (int32_t d = 0; d < p.devices; ++d) {
    const DeviceMemory& memory = engine.memory()[d];
    DeviceResult& device = result->devices[d];
    device.tensor_peak = Bytes(Saturated(memory.peak));
    device.workspace = Bytes(engine.workspace()[d]);
    device.runtime_context = Bytes(p.runtime_context[d]);
    const int64_t more = SaturatingAdd(device.workspace.count, device.runtime_context.count);
    device.peak = Bytes(SaturatingAdd(device.tensor_peak.count, more));
    device.over = Bytes(std::max<int64_t>(0, device.peak.count - p.capacity[d]));
    device.peak_time = Nanos(memory.peak_time);
    device.busy = Nanos(memory.busy);
    device.idle_before_transfers = Nanos(0);
    device.ops = engine.op_counts()[d];
    result->feasible &= device.over.count == 0;
  }
}

Schedule MakeSchedule(const SimGraph& p, const Engine& engine) {
  Schedule schedule;
  schedule.ops.resize(p.exec_of.size());
  for (size_t i = 0; i < p.exec_of.size(); ++i) {
    OpSpan& span = schedule.ops[OpId(i)];
    if (p.exec_of[i] >= 0) {
      span = {Nanos(engine.op_start()[p.exec_of[i]]), Nanos(engine.op_end()[p.exec_of[i]])};
      continue;
    }
    int64_t end = 0;
    for (int32_t w = p.view_waits_offset[i]; w < p.view_waits_offset[i + 1]; ++w) {
      end = std::max(end, engine.op_end()[p.view_waits[w]]);
    }
    span = {Nanos(end), Nanos(end)};
  }
  for (size_t id = 0; id < engine.transfers().size(); ++id) {
    const Transfer& transfer = engine.transfers()[id];
    const Engine::TransferTimes& times = engine.transfer_times()[id];
    const int32_t storage = p.slice_storage[transfer.slice];
    schedule.transfers.push_back(
        {StorageId(storage), p.slice_version[transfer.slice] - p.storage_versions.offsets[storage],
         Bytes(p.slice_offset[transfer.slice]), Bytes(p.slice_length[transfer.slice]),
         DeviceId(int32_t{transfer.from}), DeviceId(int32_t{transfer.to}), Nanos(times.ready),
         Nanos(times.start), Nanos(times.end)});
  }
  std::sort(schedule.transfers.begin(), schedule.transfers.end(),
            [](const TransferSpan& a, const TransferSpan& b) {
              return std::tie(a.start, a.storage, a.version, a.offset, a.length, a.to) <
                     std::tie(b.start, b.storage, b.version, b.offset, b.length, b.to);
            });
  return schedule;
}

void AddFeedback(const SimGraph& p, const Engine& engine, SimResult* result) {
  result->links.assign(p.links, LinkResult());
  for (size_t id = 0; id < engine.transfers().size(); ++id) {
    const Transfer& transfer = engine.transfers()[id];
    const Engine::TransferTimes& times = engine.transfer_times()[id];
    const int32_t route = transfer.from * p.devices + transfer.to;
    for (int32_t i = p.route_offset[route]; i < p.route_offset[route + 1]; ++i) {
      LinkResult& link = result->links[p.route_links[i]];
      link.busy += Nanos(times.end - times.start);
      link.moved = Bytes(SaturatingAdd(link.moved.count, p.slice_length[transfer.slice]));
      ++link.transfers;
    }
  }
  const std::vector<Needs> needs = FindNeeds(p, engine);
  std::vector<std::vector<Interval>> waits(p.devices), runs(p.devices);
  for (int32_t op = 0; op < p.ops; ++op) {
    const int32_t device = engine.DeviceOf(op);
    runs[device].emplace_back(engine.op_start()[op], engine.op_end()[op]);
    if (needs[op].transfers > needs[op].other) {
      waits[device].emplace_back(needs[op].other, needs[op].transfers);
    }
  }
  for (int32_t d = 0; d < p.devices; ++d) {
    result->devices[d].idle_before_transfers =
        Nanos(UncoveredLength(std::move(waits[d]), std::move(runs[d])));
  }
}

}  // namespace placewright
