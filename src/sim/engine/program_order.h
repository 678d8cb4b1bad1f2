// The order of rule 17 (docs/simulator.md): one permutation of a step's ops, of which each device runs its
// part (internal to the module).
//
// Ops of the step itself keep the order of the file. An op that moves pieces (plan/moving_ops.h) is *for
// others* if a member of a collective, another device, or another one for others waits for it: it stands
// directly behind the last op that it waits for. Any other one joins what was received: it stands directly
// before the first op that waits for it. A collective stands directly behind the last op that its members
// wait for. Collectives over the same set of devices are one communicator, which does one at a time, in
// this order; what one device sends to one other is one of its own.
//
// No deadlock, if the file lists every op behind those that it waits for, a collective being where its last
// member is. Say that an op of the step has
// its number as rank. What is for others, and a collective, has the largest rank among those of the ops of
// the step before it (those between are for others, or collectives: what joins is waited for by no such op),
// what joins the smallest among those behind it. All that precede an op precede it in the file, so ranks never
// fall from an op to one that waits for it, and they stay equal only from what joins to its reader, from an
// op to what is for others behind it, and within each of these, where the file's order decides. So everything
// stands behind all that it waits for. The first in the order that has not ended, then, lacks nothing: what it
// waits for has ended, transfers wait for links alone (rule 5), what its device or its communicator
// does before it is over, and what comes later on them has not begun.
#ifndef PLACEWRIGHT_SIM_ENGINE_PROGRAM_ORDER_H_
#define PLACEWRIGHT_SIM_ENGINE_PROGRAM_ORDER_H_

#include <cstdint>
#include <vector>

#include "sim/engine/packed_step.h"
#include "sim/engine/run_state.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

// Arrays that are kept from step to step.
class ProgramOrder {
 public:
  // O(ops + edges + m log m) for m ops that move pieces. `ops` say where each lies.
  void Find(const SimGraph& p, const PackedStep& packed, const IdVector<ExecOpId, OpState>& ops);

  // Whether it is that of the ids; else `order()` has it, without members of collectives.
  bool by_id() const { return by_id_; }
  const std::vector<ExecOpId>& order() const { return order_; }
  // By communicator its collectives in their order; and of each collective the communicator.
  const std::vector<std::vector<CollectiveId>>& communicators() const { return communicators_; }
  int32_t CommunicatorOf(CollectiveId id) const { return communicator_of_[id]; }

 private:
  template <class Visit>
  void ForEachWaiting(ExecOpId op, const Visit& visit) const;
  void FindForOthers();
  void RankForward();
  void RankBackward();
  void Merge();
  void FindCommunicators();

  const SimGraph* p_ = nullptr;
  const PackedStep* packed_ = nullptr;
  const IdVector<ExecOpId, OpState>* ops_ = nullptr;
  bool by_id_ = true;
  IdVector<ExecOpId, char> for_others_;
  IdVector<ExecOpId, int32_t> rank_;  // -1: before all
  std::vector<ExecOpId> moved_;
  std::vector<ExecOpId> order_;
  std::vector<std::vector<CollectiveId>> communicators_;
  IdVector<CollectiveId, int32_t> communicator_of_;
};

// Of two members one makes nothing, and the other reads nothing but inputs of the step: what one device sends to another.
bool IsCopy(const SimGraph& p, const PackedStep& packed, CollectiveId id);

// Equal for collectives of one communicator: its devices, ascending; of a copy who sends, who gets it, and none.
std::vector<DeviceId> CommunicatorKey(const SimGraph& p, const PackedStep& packed,
                                      const IdVector<ExecOpId, OpState>& ops, CollectiveId id);

// The first op that the file lists before something that it waits for, or none: then the step cannot be run
// in the order of the program. Wherever ops lie.
ExecOpId FirstOutOfProgram(const SimGraph& sim_graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_PROGRAM_ORDER_H_
