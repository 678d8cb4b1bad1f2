// What crosses between processes in a step, in one order for all of them.
//
// The tasks, copies and collectives of an Executable are taken as they may run, each behind all that it
// waits for. What stays within a process is taken at once; of what crosses and may run, the one with the
// smallest (start in the predicted schedule, first task that waits for it, kind, number) is next. All ranks
// compute this from the same plan, so that all have the same order; each works through those that it takes
// part in, one after the other, in two threads of its own: one sends, one receives (crossings.h).
//
// Why no step deadlocks, whatever the schedule says. Let c be the first crossing of the order that has not
// ended although no thread goes on. Everything that c waits for, on any rank, waits itself for crossings
// before c alone: the order is topological. These have ended; workers never wait while they have a ready
// task; so on every rank of c the tensors for it get computed. And every rank of c has ended all its
// crossings before c, so that each of its threads that have a part in c is at c. So all ranks of c are at c, with
// what they give, and it ends: within one crossing messages are stated in one order on all of its ranks, and a
// thread that sends results waits for what the other one receives of this same crossing, never the reverse.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_CROSSING_ORDER_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_CROSSING_ORDER_H_

#include <cstdint>
#include <vector>

#include "plan/schedule.h"
#include "runtime/executor/executable.h"

namespace placewright {

struct Crossing {
  enum class Kind : uint8_t {
    kCopy,       // a slice to a device of another rank
    kSignal,     // that `from` has ended, for which `to` waits
    kCollective  // one with members of several ranks
  };
  Kind kind = Kind::kCopy;
  CopyId copy;
  TaskId from, to;
  // kSignal: both draw random numbers, and none between them does: the generator goes along.
  bool random = false;
  CollectiveId collective;
  std::vector<int32_t> ranks;  // that take part, ascending
};

// `rank_of` [device]. `random` [task]: draws from the random generator of the process. `predicted` may be
// nullptr: all starts are then 0. Takes O((tasks + copies) log crossings).
std::vector<Crossing> CrossingOrder(const Executable& executable,
                                    const IdVector<DeviceId, int32_t>& rank_of,
                                    const IdVector<TaskId, bool>& random,
                                    const Schedule* predicted);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_CROSSING_ORDER_H_
