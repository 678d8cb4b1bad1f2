#include "sim/timeline.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace placewright {

namespace {

// Times at which what one op needs is there.
struct Requirements {
  int64_t other = 0;      // everything but transfers
  int64_t transfers = 0;  // the last transfer it waits for; 0: none
};

IdVector<ExecOpId, Requirements> FindRequirements(const SimGraph& p, const Engine& engine) {
  IdVector<ExecOpId, Requirements> requirements(p.ops);
  const IdVector<ExecOpId, int64_t>& ends = engine.op_end();
  for (ExecOpId op : p.exec_ops()) {
    for (SliceId slice : p.op_slices[op]) {
      const ExecOpId writer = p.slice_writer[slice];
      if (writer.valid()) requirements[op].other = std::max(requirements[op].other, ends[writer]);
      const ExecOpId overwriter = p.version_overwriter[p.slice_version[slice]];
      if (!overwriter.valid() || overwriter == op) continue;
      if (engine.DeviceOf(overwriter) != engine.DeviceOf(op)) continue;
      requirements[overwriter].other = std::max(requirements[overwriter].other, ends[op]);
    }
    for (ExecOpId later : p.explicit_successors[op]) {
      requirements[later].other = std::max(requirements[later].other, ends[op]);
    }
  }
  for (TransferId id : IdRange<TransferId>(engine.transfers().size())) {
    const Transfer& transfer = engine.transfers()[id.index()];
    const int64_t end = engine.transfer_times()[id].end;
    const ExecOpId overwriter = p.version_overwriter[p.slice_version[transfer.slice]];
    if (overwriter.valid()) {
      requirements[overwriter].transfers = std::max(requirements[overwriter].transfers, end);
    }
    for (ExecOpId reader : p.slice_readers[transfer.slice]) {
      if (engine.DeviceOf(reader) != transfer.to()) continue;
      requirements[reader].transfers = std::max(requirements[reader].transfers, end);
    }
  }
  return requirements;
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
  result->stuck = outcome == EngineOutcome::kStuck ? p.op_of[engine.StuckOp()] : OpId();
  result->feasible = !result->abandoned && !result->stuck.valid();
  result->step_time = Nanos(engine.now());
  result->links.clear();
  result->schedule.reset();
  result->devices.resize(p.devices);
  for (DeviceId d : p.device_ids()) {
    const DeviceOccupancy& memory = engine.memory()[d];
    DeviceResult& device = result->devices[d.index()];
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
  for (OpId op : IdRange<OpId>(p.exec_of.size())) {
    OpSpan& span = schedule.ops[op];
    const ExecOpId exec = p.exec_of[op];
    if (exec.valid()) {
      span = {Nanos(engine.op_start()[exec]), Nanos(engine.op_end()[exec])};
      continue;
    }
    int64_t end = 0;
    for (ExecOpId wait : p.view_waits[op]) end = std::max(end, engine.op_end()[wait]);
    span = {Nanos(end), Nanos(end)};
  }
  for (TransferId id : IdRange<TransferId>(engine.transfers().size())) {
    const Transfer& transfer = engine.transfers()[id.index()];
    const Engine::TransferTimes& times = engine.transfer_times()[id];
    schedule.transfers.push_back(
        {transfer.storage, p.NumberOf(p.slice_version[transfer.slice]),
         Bytes(p.slice_offset[transfer.slice]), Bytes(p.slice_length[transfer.slice]),
         transfer.from(), transfer.to(), Nanos(times.ready), Nanos(times.start), Nanos(times.end)});
  }
  std::sort(schedule.transfers.begin(), schedule.transfers.end(),
            [](const TransferSpan& a, const TransferSpan& b) {
              return std::tie(a.start, a.storage, a.version, a.offset, a.length, a.to) <
                     std::tie(b.start, b.storage, b.version, b.offset, b.length, b.to);
            });
  for (CollectiveId id : IdRange<CollectiveId>(p.collective_time.size())) {
    const Engine::TransferTimes& times = engine.collective_times()[id];
    schedule.collectives.push_back({Nanos(times.ready), Nanos(times.start), Nanos(times.end)});
  }
  return schedule;
}

void AddLinkUse(const SimGraph& p, const Engine& engine, SimResult* result) {
  result->links.assign(p.links, LinkResult());
  for (TransferId id : IdRange<TransferId>(engine.transfers().size())) {
    const Transfer& transfer = engine.transfers()[id.index()];
    const Engine::TransferTimes& times = engine.transfer_times()[id];
    for (LinkId id_of_link : p.route_links[p.RouteBetween(transfer.from(), transfer.to())]) {
      LinkResult& link = result->links[id_of_link.index()];
      link.busy += Nanos(times.end - times.start);
      link.moved = Bytes(SaturatingAdd(link.moved.count, engine.LengthOf(transfer.slice)));
      ++link.transfers;
    }
  }
  for (CollectiveId id : IdRange<CollectiveId>(p.collective_time.size())) {
    const Engine::TransferTimes& times = engine.collective_times()[id];
    // Of a link that it shared it had as much as it takes alone.
    const Nanos held(p.collectives_share ? p.collective_time[id] : times.end - times.start);
    for (LinkId link : p.collective_links[id]) {
      LinkResult& used = result->links[link.index()];
      used.busy += held;
      used.collecting += held;
      ++used.collectives;
    }
  }
}

void AddIdleTimes(const SimGraph& p, const Engine& engine, SimResult* result) {
  const IdVector<ExecOpId, Requirements> requirements = FindRequirements(p, engine);
  IdVector<DeviceId, std::vector<Interval>> waits(p.devices), runs(p.devices);
  for (ExecOpId op : p.exec_ops()) {
    if (p.CollectiveOf(op).valid()) continue;  // occupies no device
    const DeviceId device = engine.DeviceOf(op);
    runs[device].emplace_back(engine.op_start()[op], engine.op_end()[op]);
    if (requirements[op].transfers > requirements[op].other) {
      waits[device].emplace_back(requirements[op].other, requirements[op].transfers);
    }
  }
  for (DeviceId d : p.device_ids()) {
    result->devices[d.index()].idle_before_transfers =
        Nanos(UncoveredLength(std::move(waits[d]), std::move(runs[d])));
  }
}

}  // namespace placewright
