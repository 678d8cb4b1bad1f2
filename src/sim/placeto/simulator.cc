#include "sim/placeto/simulator.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace placewright {

double PlacetoSimulator::Run(const std::vector<int32_t>& placement) {
  Prepare(placement);
  while (!events_.min().none()) {
    const PlacetoEventQueue::Event event = events_.min();
    const int32_t device = event.source() / 2;
    const bool due = event.kind() != PlacetoKind::kRemoveDependency;
    if (event.source() == BusSource(device)) {
      if (due) {
        BeginTransfer(device, true);
      } else {
        EndTransfer(device, event.at());
      }
    } else if (due) {
      Begin(devices_[device].op, device, event.at(), true);
    } else {
      EndOp(device);
    }
  }
  PW_CHECK_EQ(begun_, static_cast<int64_t>(sim_graph_.ops.size()));
  double makespan = 0;
  for (const Device& device : devices_) makespan = std::max(makespan, device.free_at);
  for (const Bus& bus : buses_) makespan = std::max(makespan, bus.free_at);
  return makespan;
}

void PlacetoSimulator::Prepare(const std::vector<int32_t>& placement) {
  const size_t ops = sim_graph_.ops.size(), devices = sim_graph_.device_rank.size();
  PW_CHECK_EQ(placement.size(), ops);
  state_.resize(ops);
  starts_.resize(ops);
  device_items_.resize(ops);
  devices_.assign(devices, Device{});
  buses_.assign(devices, Bus{});
  // At first `tail` counts what may come to wait there.
  for (size_t op = 0; op < ops; ++op) {
    const int32_t device = placement[op], fan = sim_graph_.ops[op].fan;
    state_[op] = {sim_graph_.parents[op], device};
    ++devices_[device].tail;
    buses_[device].tail += fan < 0 ? 1 : sim_graph_.fans[fan].groups;
  }
  int32_t items = 0, transfers = 0;
  for (size_t d = 0; d < devices; ++d) {
    devices_[d].rank = static_cast<uint32_t>(sim_graph_.device_rank[d]);
    devices_[d].free_at = buses_[d].free_at = -std::numeric_limits<double>::infinity();
    devices_[d].head = items;
    buses_[d].head = transfers;
    items += devices_[d].tail;
    transfers += buses_[d].tail;
    devices_[d].tail = devices_[d].head;
    buses_[d].tail = buses_[d].head;
  }
  transfers_.resize(static_cast<size_t>(transfers));
  sent_.assign(sim_graph_.groups.size(), 0);
  events_.Clear(static_cast<int32_t>(2 * devices));
  begun_ = 0;
  const double begin = sim_graph_.init_offset + 0.0;  // -0.0 becomes 0.0
  for (size_t op = 0; op < ops; ++op) {
    if (sim_graph_.parents[op] == 0) Enqueue(static_cast<int32_t>(op), placement[op], begin);
  }
}

inline void PlacetoSimulator::Enqueue(int32_t op, int32_t device, double now) {
  Device& at = devices_[device];
  if (at.op >= 0) {
    device_items_[at.tail++] = op;
  } else {
    Begin(op, device, std::max(at.free_at, now), false);
  }
}

// Goes on with the ops that wait behind this one until one has an event.
inline void PlacetoSimulator::Begin(int32_t next, int32_t device, double start, bool due) {
  Device& at = devices_[device];
  while (true) {
    const PlacetoSimGraph::Op& op = sim_graph_.ops[next];
    const double end = start + op.cost;
    if (!due && !(end > start)) {
      at.op = next;
      events_.Set(DeviceSource(device), start, PlacetoKind::kRunDevice, at.rank);
      return;
    }
    ++begun_;
    starts_[next] = start;
    at.free_at = op.no_rest ? end : end + sim_graph_.delta1;
    if (SendOutputs(op, device, end)) {
      at.op = next;
      events_.Set(DeviceSource(device), end, PlacetoKind::kRemoveDependency, op.name_rank);
      return;
    }
    if (at.head == at.tail) break;
    next = device_items_[at.head++];
    start = at.free_at;
    due = false;
  }
  if (at.op >= 0) events_.Remove(DeviceSource(device));
  at.op = -1;
}

// Sends what has readers elsewhere. True if the op has children beside it.
inline bool PlacetoSimulator::SendOutputs(const PlacetoSimGraph::Op& op, int32_t device,
                                          double end) {
  if (op.fan >= 0) return SendGroups(op, device, end);
  bool beside = false, elsewhere = false;
  for (int32_t i = op.begin; i < op.end; ++i) {
    const bool same = state_[sim_graph_.children[i]].device == device;
    beside |= same;
    elsewhere |= !same;
  }
  if (elsewhere) Send(device, {end, op.delay, op.begin, op.end, op.name_rank});
  return beside;
}

// The groups go in the order of their first children elsewhere.
bool PlacetoSimulator::SendGroups(const PlacetoSimGraph::Op& op, int32_t device, double end) {
  const PlacetoSimGraph::Fan& fan = sim_graph_.fans[op.fan];
  bool beside = false;
  for (int32_t i = fan.begin; i < fan.end; ++i) {
    const auto [child, group_id] = sim_graph_.fan_children[i];
    if (state_[child].device == device) {
      beside = true;
    } else if (!sent_[group_id]) {
      sent_[group_id] = 1;
      const PlacetoGroup& group = sim_graph_.groups[group_id];
      Send(device, {end, group.delay, group.begin, group.end, op.name_rank});
    }
  }
  return beside;
}

inline void PlacetoSimulator::Send(int32_t device, const Transfer& transfer) {
  Bus& bus = buses_[device];
  transfers_[bus.tail++] = transfer;
  if (bus.tail - bus.head == 1) BeginTransfer(device, false);
}

inline void PlacetoSimulator::BeginTransfer(int32_t device, bool due) {
  Bus& bus = buses_[device];
  const Transfer& transfer = transfers_[bus.head];
  const double start = std::max(bus.free_at, transfer.ready), end = start + transfer.delay;
  if (!due && !(end > start)) {
    events_.Set(BusSource(device), start, PlacetoKind::kRunBus, devices_[device].rank);
    return;
  }
  bus.free_at = end + sim_graph_.delta2;
  events_.Set(BusSource(device), end, PlacetoKind::kRemoveDependency, transfer.parent_rank);
}

void PlacetoSimulator::EndOp(int32_t device) {
  Device& at = devices_[device];
  const PlacetoSimGraph::Op& op = sim_graph_.ops[at.op];
  for (int32_t i = op.begin; i < op.end; ++i) {
    const int32_t child = sim_graph_.children[i];
    OpState& state = state_[child];
    if (state.device == device && --state.waiting == 0) device_items_[at.tail++] = child;
  }
  if (at.head == at.tail) {
    at.op = -1;
    events_.Remove(DeviceSource(device));
  } else {
    Begin(device_items_[at.head++], device, at.free_at, false);
  }
}

void PlacetoSimulator::EndTransfer(int32_t device, double now) {
  Bus& bus = buses_[device];
  const Transfer& transfer = transfers_[bus.head++];
  for (int32_t i = transfer.begin; i < transfer.end; ++i) {
    const int32_t child = sim_graph_.children[i];
    OpState& state = state_[child];
    if (state.device != device && --state.waiting == 0) Enqueue(child, state.device, now);
  }
  if (bus.head == bus.tail) {
    events_.Remove(BusSource(device));
  } else {
    BeginTransfer(device, false);
  }
}

}  // namespace placewright
