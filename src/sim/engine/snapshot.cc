#include "sim/engine/snapshot.h"

#include <algorithm>

namespace placewright {

void Snapshot::Save(const RunState& state, const PackedStep& step, const LiveFrom& live) {
  core_ = state;
  live_ = live;
  const auto homes_end = state.holdings.begin() + step.storages;
  ops_.assign(state.ops.begin() + live.op.value(), state.ops.end());
  held_.assign(state.held.begin() + step.ops[live.op.index()].edge, state.held.end());
  homes_.assign(state.holdings.begin() + live.storage.value(), homes_end);
  copies_.assign(homes_end + live.transfer.value(), homes_end + state.transfer_count);
  transfers_.assign(state.transfers.begin() + live.transfer.value(),
                    state.transfers.begin() + state.transfer_count);
}

void Snapshot::Restore(const PackedStep& step, RunState* state) const {
  static_cast<RunCore&>(*state) = core_;
  state->MakeRoomForTransfers(step.storages, core_.transfer_count);
  const auto homes_end = state->holdings.begin() + step.storages;
  std::copy(ops_.begin(), ops_.end(), state->ops.begin() + live_.op.value());
  std::copy(held_.begin(), held_.end(), state->held.begin() + step.ops[live_.op.index()].edge);
  std::copy(homes_.begin(), homes_.end(), state->holdings.begin() + live_.storage.value());
  std::copy(copies_.begin(), copies_.end(), homes_end + live_.transfer.value());
  std::copy(transfers_.begin(), transfers_.end(),
            state->transfers.begin() + live_.transfer.value());
}

void Snapshot::Apply(const StatePatch& patch) {
  for (const auto& [op, device] : patch.devices) {
    if (op >= live_.op) ops_[op.index() - live_.op.index()].device = device;
  }
  for (DeviceId d : IdRange<DeviceId>(patch.resident.size())) {
    core_.memory[d].now += patch.resident[d];
    core_.memory[d].peak += patch.resident[d];
  }
}

size_t Snapshot::Bytes(const PackedStep& step) {
  return step.ops.size() * sizeof(OpState) + step.edge_slice.size() * sizeof(HoldingId) +
         step.storages * sizeof(Holding) + 4096;
}

}  // namespace placewright
