// A state of a run, kept so that a run under another placement can go on from it (internal to the
// module). What is over at that time is left out: ids mostly follow time, so a late state is small.
#ifndef PLACEWRIGHT_SIM_ENGINE_SNAPSHOT_H_
#define PLACEWRIGHT_SIM_ENGINE_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine/packed_step.h"
#include "sim/engine/run_state.h"

namespace placewright {

// Everything before these has ended, or its memory has been freed.
struct LiveFrom {
  ExecOpId op{0};
  StorageId storage{0};
  TransferId transfer{0};
};

// What differs between one placement's state and another's before the difference has any effect.
struct StatePatch {
  std::vector<std::pair<ExecOpId, DeviceId>> devices;
  IdVector<DeviceId, __int128> resident;  // bytes more that lie there for the whole step
};

class Snapshot {
 public:
  void Save(const RunState& state, const PackedStep& step, const LiveFrom& live);
  // `state` is one of the same SimGraph; what Save left out stays as it is there.
  void Restore(const PackedStep& step, RunState* state) const;
  void Apply(const StatePatch& patch);

  int64_t now() const { return core_.now; }
  const LiveFrom& live() const { return live_; }

  // About what a snapshot takes at most, if no copy of a slice is in use.
  static size_t Bytes(const PackedStep& step);

 private:
  RunCore core_;
  LiveFrom live_;
  std::vector<OpState> ops_;
  std::vector<HoldingId> held_;
  std::vector<Holding> homes_, copies_;
  std::vector<Transfer> transfers_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_SNAPSHOT_H_
