// The order among those that are ready at once (rules 2, 5, 6 and 17): the schedule is followed from
// instant to instant, and at each one it is compared with what the queues would start.
//
// Within one instant, completions and starts alternate in phases: first everything that ends now
// takes effect, then whatever can start does; what lasts no time completes in the next phase. A
// Stamp (time, phase) therefore says what came first where times are equal.
//
// O((ops + transfers + waits) log).
#ifndef CHECK_PLAN_REPLAY_H_
#define CHECK_PLAN_REPLAY_H_

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "check_plan/program.h"
#include "check_plan/step.h"
#include "check_plan/waits.h"

namespace placewright::check {

struct Stamp {
  Nanos time;
  int32_t phase = 0;
  friend auto operator<=>(const Stamp&, const Stamp&) = default;
};

// When every node of Waits truly starts and ends. At one stamp, ends come before starts.
struct Stamps {
  std::vector<Stamp> start, end;
};

class Replay {
 public:
  // Precondition: durations, precedence and exclusivity hold; transfers are matched.
  Replay(const Step& step, const Waits& waits);

  // kQueueOrder or kIdle, or nothing: then stamps() are those of all nodes.
  MaybeViolation Run();
  const Stamps& stamps() const { return stamps_; }

 private:
  // Smallest key first. Ops: (ready time, minus path or turn, op id). Transfers and collectives: rules 5 and 15.
  struct Waiting {
    std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t> key;
    int32_t node;
    friend bool operator>(const Waiting& a, const Waiting& b) { return a.key > b.key; }
  };
  // One device or link.
  struct Server {
    int32_t next_turn = 0;  // in the program's order
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue;
    int32_t running = -1;
    bool touched = false;  // something changed in this phase
  };

  MaybeViolation RunInstant(Nanos now);
  void Complete(int32_t node);
  void Settle(int32_t node);
  void Enqueue(int32_t node);
  void Touch(int32_t server);
  MaybeViolation StartWhatCan();
  int32_t HeadThatCanStart(int32_t server) const;
  // Views and members of collectives end with what they wait for.
  bool EndsWithIts(int32_t node) const;
  bool InProgramOrder() const { return step_.policy() == SchedulingPolicy::kProgram; }
  bool HasTurn(int32_t server, int32_t node) const;
  void StartNow(int32_t node);
  Violation NotStarted(int32_t node) const;
  Violation StartsLate(int32_t node) const;
  std::vector<int32_t> ServersOf(int32_t node) const;
  Waiting KeyOf(int32_t node) const;
  Nanos StartOf(int32_t node) const;
  Nanos EndOf(int32_t node) const;
  std::string NameOf(int32_t node) const;
  std::string PlaceOf(int32_t node) const;
  std::string NameOfServer(int32_t server) const;

  const Step& step_;
  const Waits& waits_;
  std::vector<Nanos> paths_;  // critical-path order only
  Program program_;           // the program's order only
  std::vector<int32_t>
      follows_;  // the same, by collective: that on its devices which waits for its end; -1: none
  // Devices, then links, then communicators where collectives share links; of each collective its communicator.
  std::vector<Server> servers_;
  IdVector<CollectiveId, int32_t> communicators_;
  std::vector<int32_t> by_start_,
      by_end_;  // nodes that run, views and members left out; by_end_ only those that last
  size_t next_start_ = 0, next_end_ = 0;
  std::vector<int32_t> left_;                             // waits not yet over, per node
  std::vector<int32_t> completing_, touched_, unserved_;  // unserved_: ready, but on no server
  Stamp now_;
  Stamps stamps_;
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_REPLAY_H_
