#include "sim/engine/snapshot.h"

#include <algorithm>

namespace placewright {

void Snapshot::Save(const RunState& state, const PackedStep& step, const LiveFrom& live) {
  core_ = state;
  live_ = live;
  const auto homes_end = state.holdings.begin() + step.storages;
  ops_.assign(state.ops.begin() + live.op, state.ops.end());
  held_.assign(state.held.begin() + step.ops[live.op].edge, state.held.end());
  homes_.assign(state.holdings.begin() + live.storage, homes_end);
  copies_.assign(homes_end + live.transfer, homes_end + state.transfer_count);
  transfers_.assign(state.transfers.begin() + live.transfer,
                    state.transfers.begin() + state.transfer_count);
}

void Snapshot::Restore(const PackedStep& step, RunState* state) const {
  static_cast<RunCore&>(*state) = core_;
  state->MakeRoomForTransfers(step.storages, core_.transfer_count);
  const auto homes_end = state->holdings.begin() + step.storages;
  std::copy(ops_.begin(), ops_.end(), state->ops.begin() + live_.op);
  std::copy(held_.begin(), held_.end(), state->held.begin() + step.ops[live_.op].edge);
  std::copy(homes_.begin(), homes_.end(), state->holdings.begin() + live_.storage);
  std::copy(copies_.begin(), copies_.end(), homes_end + live_.transfer);
  std::copy(transfers_.begin(), transfers_.end(), state->transfers.begin() + live_.transfer);
}

void Snapshot::Apply(const StatePatch& patch) {
  for (const auto& [op, device] : patch.devices) {
    if (op >= live_.op) ops_[op - live_.op].device = device;
  }
  for (size_t d = 0; d < patch.resident.size(); ++d) {
    core_.memory[d].now += patch.resident[d];
    core_.memory[d].peak += patch.resident[d];
  }
}

size_t Snapshot::Bytes(const PackedStep& step) {
  return step.ops.size() * sizeof(OpState) + step.edge_slice.size() * sizeof(int32_t) +
         step.storages * sizeof(Holding) + 4096;
}

}  // namespace placewright
