// One chain of simulated annealing over the devices of colocation groups (Kirkpatrick, Gelatt and
// Vecchi 1983), on the incremental form of the evaluator.
//
// Cost: step time, plus for plans that do not fit a fiftieth of the best one's and, for each
// device,
//
//     kStepsPerDevice * (step time of the start) * (bytes over) / (capacity)
//
// First a sweep: each of the kSwept largest move sets by time, the largest first, tries the idlest
// accelerator, any accelerator, and the device of a neighbour. It finds in thousands of moves what
// draws find in a hundred thousand, where a graph is long.
//
// Then a move takes a group, a move set of groups or a window of the step to another device, brings
// neighbours together, exchanges two move sets, windows or devices; half of the moves start from
// the critical chain, a quarter from a group drawn in proportion to its time. A neighbour is
// accepted if its cost is at most cost + T * E, E exponentially distributed with mean 1
// (Metropolis), drawn before it is evaluated, so that evaluating can stop early. One without a
// route for something that crosses is never evaluated.
//
// Epochs of doubling length each cool T quadratically from its start to 0 and then start again from
// the chain's best plan, or from a better one that it was offered. The schedule
// depends on the number of moves alone, never on time, so that a run is repeated by its number of
// moves; chains whose first epochs differ end theirs in turn.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_ANNEALER_H_
#define PLACEWRIGHT_SEARCH_LOCAL_ANNEALER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "search/evaluation/group_placement.h"
#include "search/local/context.h"
#include "search/local/critical.h"
#include "search/problem/candidate_devices.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

struct AnnealerOptions {
  // kAll: the moves above. kOne: a group, drawn uniformly, to a device drawn uniformly of the
  // accelerators that it may use, or of all its devices if there are none. kOneOrTwo: now and then
  // of all its devices; half of the time two such groups trade devices instead.
  enum class Moves : uint8_t { kAll, kOne, kOneOrTwo };
  // kEpochs: as above. kConstant: T = temperature_per_mille * cost / 1000 throughout. kRestarts:
  // epochs of one length, T falls geometrically to a thousandth in each, the next starts from a
  // random plan and then, by turns, from the best.
  enum class Cooling : uint8_t { kEpochs, kConstant, kRestarts };
  Moves moves = Moves::kAll;
  Cooling cooling = Cooling::kEpochs;
  int64_t first_epoch = 500;           // moves
  int32_t temperature_per_mille = 10;  // starting T, of the cost
  size_t memory_limit = size_t{12} << 20;
};

class Annealer {
 public:
  static constexpr int64_t kStepsPerDevice = 16;
  static constexpr int64_t kSwept = 600;  // move sets

  Annealer(const LocalContext& context, Evaluator& evaluator, GroupPlacement start, Random random,
           AnnealerOptions options);

  void Run(int64_t moves);
  // A plan that the next epoch may start from (between rounds).
  void Offer(const Score& score, const GroupPlacement& devices);

  const Score& best_score() const { return best_score_; }
  const GroupPlacement& best() const { return best_; }

 private:
  struct Change {
    ColocationGroupId group;
    DeviceId device;
  };
  void Move();
  void Propose();
  void ProposeOne();
  double Cooled();
  GroupPlacement RandomPlan();
  ColocationGroupId PickGroup();
  ColocationGroupId AnyGroup() {
    return ColocationGroupId(static_cast<size_t>(random_.Below(current_.size())));
  }
  void ProposeMoveSet();
  void ProposeSwap();
  void ProposeGathering();
  void ProposeRegion();
  void ProposeDeviceSwap();
  void ProposeWindow();
  bool ProposeOfSweep();
  DeviceId IdlestDevice() const;
  DeviceId PickDevice(std::span<const ColocationGroupId> groups);
  void AddChange(ColocationGroupId group, DeviceId device);
  bool StaysConnected();  // with the changes made
  void MoveGroups(std::span<const ColocationGroupId> groups, DeviceId device);
  int64_t CostOf(const Evaluation& result) const;
  int64_t Penalty(const Evaluation& result) const;
  void Accept(const Evaluation& result, int64_t cost);
  void StartEpoch();
  void Restart(const GroupPlacement& devices);
  void RefreshCriticalChain();
  double Exponential();

  const LocalContext& context_;
  Random random_;
  const AnnealerOptions options_;
  std::unique_ptr<MoveEvaluator> evaluator_;
  GroupPlacement current_, best_;
  int64_t cost_ = 0;
  Score best_score_, offered_score_;
  GroupPlacement offered_;
  int64_t epoch_length_ = 0, epoch_move_ = 0, epochs_ = 0;
  double temperature_ = 1;  // of kRestarts, as a share of the starting one
  int64_t penalty_ = 0;     // nanoseconds for an overflow as large as the device
  std::vector<Change> changes_;
  std::vector<OpMove> op_moves_;
  IdVector<ColocationGroupId, int64_t> stamp_;  // the proposal that has touched it
  int64_t proposal_ = 0;
  int64_t sweep_ = 0;  // moves of it proposed
  // Groups of the critical chain, and of what it waits for.
  std::vector<ColocationGroupId> hot_, blockers_;
  bool hot_stale_ = true;
  int64_t hot_age_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_ANNEALER_H_
