#include "sim/contention.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace placewright {

std::vector<double> OverlapOf(const Graph& graph, const Placement& placement,
                              const Schedule& schedule, size_t devices) {
  struct Event {
    Nanos time;
    bool begins = false;
    size_t device = 0;
  };
  std::vector<Event> events;
  for (const OpId op : graph.ops()) {
    const OpSpan& span = schedule.ops[op];
    if (graph.op(op).is_view || span.end <= span.start) continue;
    events.push_back({span.start, true, placement[op].index()});
    events.push_back({span.end, false, placement[op].index()});
  }
  // Of one time, ends before begins: a device is in one op at a time.
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::pair(a.time, a.begins) < std::pair(b.time, b.begins);
  });
  std::vector<char> computing(devices, 0);
  std::vector<int64_t> busy(devices, 0), met(devices, 0);
  int64_t at_work = 0;
  Nanos last;
  for (const Event& event : events) {
    const int64_t time = (event.time - last).count;
    for (size_t d = 0; d < devices && time > 0; ++d) {
      if (!computing[d]) continue;
      busy[d] += time;
      if (at_work > 1) met[d] += time;
    }
    last = event.time;
    computing[event.device] = event.begins ? 1 : 0;
    at_work += event.begins ? 1 : -1;
  }
  std::vector<double> overlap;
  for (size_t d = 0; d < devices; ++d) {
    overlap.push_back(busy[d] > 0 ? static_cast<double>(met[d]) / static_cast<double>(busy[d]) : 0);
  }
  return overlap;
}

CostTable MixCosts(const CostTable& alone, const CostTable& loaded,
                   const std::vector<double>& overlap) {
  CostTable mixed = loaded;
  for (size_t o = 0; o < loaded.op_count(); ++o) {
    const OpId op(o);
    for (size_t d = 0; d < loaded.device_count(); ++d) {
      const DeviceId device(d);
      if (!alone.Supports(op, device) || !loaded.Supports(op, device)) {
        mixed.SetTime(op, device, CostTable::kUnsupported);
        continue;
      }
      const auto from = static_cast<double>(alone.time(op, device).count);
      const auto to = static_cast<double>(loaded.time(op, device).count);
      mixed.SetTime(op, device,
                    Nanos(static_cast<int64_t>(std::ceil(from + overlap[d] * (to - from)))));
    }
  }
  return mixed;
}

std::vector<ExchangeTime> ExchangeTimesOf(const Graph& graph, const Placement& placement,
                                          const Schedule& schedule,
                                          const IdVector<DeviceId, int32_t>& rank_of) {
  struct Event {
    Nanos time;
    int exchanges = 0, ops = 0;
  };
  std::vector<std::vector<Event>> events(rank_of.size());
  const auto exchange = [&](DeviceId device, Nanos start, Nanos end) {
    events[device.index()].push_back({start, 1, 0});
    events[device.index()].push_back({end, -1, 0});
  };
  for (const TransferSpan& span : schedule.transfers) {
    if (rank_of[span.from] == rank_of[span.to]) continue;
    exchange(span.from, span.start, span.end);
    exchange(span.to, span.start, span.end);
  }
  for (const CollectiveId id : graph.collectives()) {
    const std::vector<OpId>& members = graph.collective(id).members;
    const int32_t first = rank_of[placement[members.front()]];
    const bool crosses = std::any_of(members.begin(), members.end(), [&](OpId member) {
      return rank_of[placement[member]] != first;
    });
    const CollectiveSpan& span = schedule.collectives[id];
    for (const OpId member : members) {
      if (crosses) exchange(placement[member], span.start, span.end);
    }
  }
  for (const OpId op : graph.ops()) {
    const OpSpan& span = schedule.ops[op];
    if (graph.op(op).is_view || graph.collective_of(op).valid()) continue;
    events[placement[op].index()].push_back({span.start, 0, 1});
    events[placement[op].index()].push_back({span.end, 0, -1});
  }
  std::vector<ExchangeTime> times;
  for (std::vector<Event>& of_device : events) {
    std::sort(of_device.begin(), of_device.end(),
              [](const Event& a, const Event& b) { return a.time < b.time; });
    int exchanges = 0, ops = 0;
    ExchangeTime time;
    Nanos last;
    for (const Event& event : of_device) {
      if (exchanges > 0) time.all += event.time - last;
      if (ops > 0 && exchanges > 0) time.beside_ops += event.time - last;
      exchanges += event.exchanges;
      ops += event.ops;
      last = event.time;
    }
    times.push_back(time);
  }
  return times;
}

CostTable LongerCosts(const CostTable& costs, const Graph& graph, const Placement& placement,
                      const std::vector<Nanos>& more) {
  std::vector<Nanos> busy(costs.device_count());
  const auto is_op = [&](OpId op) {
    return !graph.op(op).is_view && !graph.collective_of(op).valid();
  };
  for (const OpId op : graph.ops()) {
    if (is_op(op)) busy[placement[op].index()] += costs.time(op, placement[op]);
  }
  CostTable slowed = costs;
  for (const OpId op : graph.ops()) {
    const DeviceId device = placement[op];
    const Nanos whole = busy[device.index()];
    if (!is_op(op) || whole.count == 0) continue;
    const auto time = static_cast<double>(costs.time(op, device).count);
    const double share =
        static_cast<double>(more[device.index()].count) / static_cast<double>(whole.count);
    slowed.SetTime(op, device, Nanos(static_cast<int64_t>(std::ceil(time * (1 + share)))));
  }
  return slowed;
}

}  // namespace placewright
