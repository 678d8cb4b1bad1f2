// A change takes effect when the run first looks at something that it changes: at the device of an
// op that moves, at the home of what it holds, or at a path. Before that instant the run under the
// changed placement is the incumbent's but for where the moved ops are said to lie and what lies on
// their devices for the whole step. So a state saved before it, with these exchanged (StatePatch),
// is a state of the new run.
#include "sim/incremental.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/engine/engine.h"
#include "sim/timeline.h"

namespace placewright {

namespace {

// More states save little: a run starts again on average ops / (2 * states) too early.
constexpr size_t kMaxStates = 24;
constexpr int64_t kNoEffect = kMaxQuantity;

}  // namespace

struct IncrementalSimulator::State {
  State(const SimGraph& sim_graph, SchedulingPolicy policy, size_t memory_limit)
      : p(sim_graph),
        engine(sim_graph),
        patch{{}, IdVector<DeviceId, __int128>(sim_graph.devices, 0)} {
    options.policy = policy;
    checkpoints.max = std::clamp<size_t>(memory_limit / engine.StateBytes(), 1, kMaxStates);
    // Such graphs are run in full: in the program's order what moves pieces stands where readers make it.
    const bool shifts = policy == SchedulingPolicy::kProgram && !p.moves_pieces.empty();
    if (!p.collective_time.empty() || shifts) checkpoints.max = 0;
    storages_at.resize(p.exec_of.size());
    for (StorageId s : p.storage_ids()) {
      const bool persistent = p.storage_class[s] == StorageClass::kPersistent;
      const bool mobile = persistent && !p.fixed_home[s].valid();
      if (mobile && p.home_op[s].valid()) storages_at[p.home_op[s]].push_back(s);
      if (p.storage_class[s] == StorageClass::kInput) any_input = true;
    }
  }

  void RunIncumbent() {
    checkpoints.count = 0;
    options.record = true;
    options.abandon_above = kMaxQuantity;
    const EngineOutcome outcome = engine.Run(incumbent, options, &checkpoints);
    options.record = false;
    Adopt(outcome);
  }

  // The engine's last run, which was recorded, is that of the incumbent: what EffectOfOp asks the
  // engine for holds until the next recorded run, and tries are not recorded.
  void Adopt(EngineOutcome outcome) {
    FillResult(p, engine, outcome, &incumbent_result);
    if (options.policy == SchedulingPolicy::kCriticalPath) engine.ComputePaths(incumbent, &paths);
    if (options.policy == SchedulingPolicy::kProgram) ListOps();
    moves.clear();
    placed_elsewhere.clear();
  }

  // Of each device, ascending: the program's order where nothing is compiled.
  void ListOps() {
    ops_of.resize(static_cast<size_t>(p.devices));
    for (std::vector<ExecOpId>& ops : ops_of) ops.clear();
    for (ExecOpId op : p.exec_ops()) ops_of[incumbent[p.op_of[op]]].push_back(op);
  }

  void CountInputReads() {
    if (!any_input) return;
    input_reads.assign(p.storage_class.size() * p.devices, 0);
    for (ExecOpId op : p.exec_ops()) AddInputReads(op, incumbent[p.op_of[op]], 1, nullptr);
  }

  // Rule 9: an input lies on every device that has an op reading it. `resident` gains or loses it
  // where the first reader comes or the last one goes.
  void AddInputReads(ExecOpId op, DeviceId device, int32_t sign,
                     IdVector<DeviceId, __int128>* resident) {
    for (SliceId slice : p.op_slices[op]) {
      const StorageId storage = p.slice_storage[slice];
      if (p.storage_class[storage] != StorageClass::kInput) continue;
      int32_t& reads =
          input_reads[storage.index() * static_cast<size_t>(p.devices) + device.index()];
      const int32_t before = reads;
      reads += sign;
      if (resident == nullptr || (before > 0) == (reads > 0)) continue;
      (*resident)[device] += sign * p.storage_bytes[storage];
    }
  }

  // Does the slice of initial content cross to any device, before or after the moves? Such
  // transfers queue from the beginning; where there are none, nothing before the readers sees the
  // home.
  bool Crosses(SliceId slice) const {
    const StorageId storage = p.slice_storage[slice];
    const DeviceId old_home = engine.HomeOf(storage, incumbent);
    const DeviceId new_home = engine.HomeOf(storage, tried);
    for (ExecOpId exec : p.slice_readers[slice]) {
      const OpId reader = p.op_of[exec];
      if (incumbent[reader] != old_home || tried[reader] != new_home) return true;
    }
    return false;
  }

  // Fills `patch` for the moves and returns the first time at which they can have an effect beyond
  // it: at which something looks at the device of an op that moves, or at its path.
  int64_t Examine() {
    patch.devices.clear();
    std::fill(patch.resident.begin(), patch.resident.end(), 0);
    int64_t effect = kNoEffect;
    for (const OpMove& move : moves) {
      for (StorageId storage : storages_at[move.op]) {
        effect = std::min(effect, MoveHome(storage, move));
      }
      const ExecOpId op = p.exec_of[move.op];
      if (!op.valid()) continue;
      patch.devices.emplace_back(op, move.device);
      effect = std::min(effect, EffectOfOp(op, move.device));
      if (any_input) AddInputReads(op, incumbent[move.op], -1, &patch.resident);
      if (any_input) AddInputReads(op, move.device, 1, &patch.resident);
    }
    // All moves are counted before any is taken back: two of them may read one input. Counted for
    // the patch only; Accept counts again.
    if (any_input) CountInputsBack();
    if (options.policy == SchedulingPolicy::kCriticalPath && p.waits_in_place) {
      effect = std::min(effect, EffectOfPaths());
    }
    return effect;
  }

  void CountInputsBack() {
    for (const OpMove& move : moves) {
      const ExecOpId op = p.exec_of[move.op];
      if (!op.valid()) continue;
      AddInputReads(op, move.device, -1, nullptr);
      AddInputReads(op, incumbent[move.op], 1, nullptr);
    }
  }

  // A parameter or state that moves with the op: there from the beginning, so that its bytes are
  // patched into whatever state the run goes on from.
  int64_t MoveHome(StorageId storage, const OpMove& move) {
    int64_t effect = kNoEffect;
    patch.resident[incumbent[move.op]] -= p.storage_bytes[storage];
    patch.resident[move.device] += p.storage_bytes[storage];
    for (SliceId slice : p.version_slices[p.VersionOf(storage, 0)]) {
      if (Crosses(slice)) effect = 0;
    }
    return effect;
  }

  // In the program's order a device looks for its next op when the one before has ended: where it is missing,
  // and where it comes in.
  int64_t EffectOfTurn(ExecOpId op, DeviceId device) const {
    const std::vector<ExecOpId>& ops = ops_of[device];
    const auto behind = std::lower_bound(ops.begin(), ops.end(), op);
    return behind == ops.begin() ? 0 : engine.op_end()[*(behind - 1)];
  }

  // Who makes what it reads looks at its device when it ends, to send it there or not; its own
  // device when it becomes ready, since only then does it join a queue.
  int64_t EffectOfOp(ExecOpId op, DeviceId to) const {
    int64_t effect = engine.op_ready()[op];
    if (options.policy == SchedulingPolicy::kProgram) {
      const DeviceId from = incumbent[p.op_of[op]];
      effect = std::min({effect, EffectOfTurn(op, from), EffectOfTurn(op, to)});
    }
    for (SliceId slice : p.op_slices[op]) {
      const ExecOpId writer = p.slice_writer[slice];
      if (p.storage_class[p.slice_storage[slice]] == StorageClass::kInput) continue;
      if (!writer.valid() && Crosses(slice)) return 0;
      if (writer.valid()) effect = std::min(effect, engine.op_end()[writer]);
    }
    return effect;
  }

  // A path orders the queue of a device, so it is looked at from the op's ready time on.
  int64_t EffectOfPaths() {
    int64_t effect = kNoEffect;
    engine.ComputePaths(tried, &tried_paths);
    for (ExecOpId op : p.exec_ops()) {
      if (tried_paths[op] != paths[op]) effect = std::min(effect, engine.op_ready()[op]);
    }
    return effect;
  }

  void SetMoves(std::span<const OpMove> wanted) {
    for (const OpMove& move : moves) tried[move.op] = incumbent[move.op];
    moves.clear();
    for (const OpMove& move : wanted) {
      if (incumbent[move.op] == move.device) continue;
      moves.push_back(move);
      tried[move.op] = move.device;
    }
  }

  // Runs `tried` from the last state before `effect`. `restart` says which: -1 for the beginning.
  // Strictly before, as everything of the state's own instant is over in it. With `save`, new
  // states replace those after it, which are of another run from there on.
  EngineOutcome RunTried(int64_t effect, Checkpoints* save) {
    restart = -1;
    while (restart + 1 < static_cast<int32_t>(checkpoints.count) &&
           checkpoints.states[restart + 1].now() < effect) {
      ++restart;
    }
    const size_t own = patch.devices.size();
    if (restart < 0) {
      if (save != nullptr) save->count = 0;
      const EngineOutcome outcome = engine.Run(tried, options, save);
      placed_elsewhere.assign(patch.devices.begin(), patch.devices.end());
      return outcome;
    }
    if (save != nullptr) save->count = static_cast<size_t>(restart) + 1;
    // The engine counts by device from run to run: ops that the run before had placed elsewhere go
    // back to where this one has them.
    for (const auto& [op, device] : placed_elsewhere) {
      patch.devices.emplace_back(op, tried[p.op_of[op]]);
    }
    const EngineOutcome outcome =
        engine.Resume(checkpoints.states[restart], patch, tried, options, save);
    patch.devices.resize(own);
    placed_elsewhere.assign(patch.devices.begin(), patch.devices.end());
    return outcome;
  }

  const SimGraph& p;
  Engine engine;
  EngineOptions options;
  Checkpoints checkpoints;                             // of the incumbent
  IdVector<OpId, std::vector<StorageId>> storages_at;  // those whose home it is
  bool any_input = false;
  std::vector<int32_t> input_reads;  // [storage * devices + device], of the incumbent

  Placement incumbent, tried;  // `tried` is the incumbent with `moves`
  std::vector<OpMove> moves;
  StatePatch patch;
  int32_t restart = -1;
  // Ops, with their devices, that the engine's last run placed elsewhere than the incumbent.
  std::vector<std::pair<ExecOpId, DeviceId>> placed_elsewhere;
  IdVector<ExecOpId, int64_t> paths, tried_paths;
  IdVector<DeviceId, std::vector<ExecOpId>> ops_of;  // of the incumbent, in the program's order
  SimResult incumbent_result, tried_result;
};

IncrementalSimulator::IncrementalSimulator(const SimGraph& sim_graph, SchedulingPolicy policy,
                                           size_t memory_limit)
    : state_(std::make_unique<State>(sim_graph, policy, memory_limit)) {}
IncrementalSimulator::~IncrementalSimulator() = default;
IncrementalSimulator::IncrementalSimulator(IncrementalSimulator&&) noexcept = default;

const SimResult& IncrementalSimulator::SetIncumbent(const Placement& placement) {
  PW_CHECK_EQ(placement.size(), state_->p.exec_of.size());
  state_->incumbent = placement;
  state_->tried = placement;
  state_->RunIncumbent();
  state_->CountInputReads();
  return state_->incumbent_result;
}

const Placement& IncrementalSimulator::incumbent() const { return state_->incumbent; }
const SimResult& IncrementalSimulator::incumbent_result() const { return state_->incumbent_result; }

const SimResult& IncrementalSimulator::Try(std::span<const OpMove> moves, Nanos abandon_above) {
  State& s = *state_;
  s.SetMoves(moves);
  s.options.abandon_above = abandon_above.count;
  const EngineOutcome outcome = s.RunTried(s.Examine(), nullptr);
  FillResult(s.p, s.engine, outcome, &s.tried_result);
  return s.tried_result;
}

// Most moves are not accepted, so Try records nothing and saves no states; what is accepted is run
// once more for them.
void IncrementalSimulator::Accept() {
  State& s = *state_;
  if (s.moves.empty()) return;
  s.options.abandon_above = kMaxQuantity;
  s.options.record = true;
  const int64_t effect = s.Examine();
  const EngineOutcome outcome = s.RunTried(effect, &s.checkpoints);
  s.options.record = false;
  // The states before the restart now belong to the new incumbent.
  for (int32_t i = 0; i <= s.restart; ++i) s.checkpoints.states[i].Apply(s.patch);
  for (const OpMove& move : s.moves) {
    const ExecOpId op = s.p.exec_of[move.op];
    if (op.valid() && s.any_input) {
      s.AddInputReads(op, s.incumbent[move.op], -1, nullptr);
      s.AddInputReads(op, move.device, 1, nullptr);
    }
    s.incumbent[move.op] = move.device;
  }
  s.Adopt(outcome);
}

}  // namespace placewright
