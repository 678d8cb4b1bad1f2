// Who waits for whose end in a step: the order that every legal schedule keeps.
//
// Nodes are the ops, by id, then the crossings, then the collectives. An op waits for the writer of what it reads at
// home and for the crossing of what it reads elsewhere, for whatever made the names by which it
// reads (views), and for its `after` ops. A crossing waits for the writer of its slice. An in-place
// op waits also for the local readers and all crossings of the version that it replaces. What the
// members of a collective wait for, the collective does; they wait for it alone, and end with it.
#ifndef CHECK_PLAN_WAITS_H_
#define CHECK_PLAN_WAITS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "check_plan/step.h"

namespace placewright::check {

class Waits {
 public:
  explicit Waits(const Step& step);

  int32_t node_count() const { return static_cast<int32_t>(waiters_offset_.size()) - 1; }
  int32_t op_count() const { return ops_; }
  int32_t NodeOf(OpId op) const { return op.value(); }
  int32_t NodeOfCrossing(int32_t crossing) const { return ops_ + crossing; }
  int32_t NodeOf(CollectiveId id) const { return ops_ + crossings_ + id.value(); }
  bool IsOp(int32_t node) const { return node < ops_; }
  bool IsCollective(int32_t node) const { return node >= ops_ + crossings_; }
  OpId OpOf(int32_t node) const { return OpId(node); }
  int32_t CrossingOf(int32_t node) const { return node - ops_; }
  CollectiveId CollectiveOf(int32_t node) const { return CollectiveId(node - ops_ - crossings_); }

  // The nodes that wait for `node`; one may stand there twice, and then counts twice in
  // WaitCount.
  std::span<const int32_t> WaitersOf(int32_t node) const {
    return {waiters_.data() + waiters_offset_[node],
            static_cast<size_t>(waiters_offset_[node + 1] - waiters_offset_[node])};
  }
  int32_t WaitCount(int32_t node) const { return wait_count_[node]; }

  // An order in which every node comes after those it waits for; shorter than node_count() if the
  // waits form a cycle.
  std::vector<int32_t> TopologicalOrder() const;

 private:
  struct Edge {
    int32_t from, to;
  };
  void AddReads(const Step& step, OpId op);
  void AddNames(const Step& step, OpId op);
  void AddInPlace(const Step& step);
  void JoinMembers(const Step& step);
  void Sort(int32_t nodes);

  int32_t ops_ = 0, crossings_ = 0;
  std::vector<Edge> edges_;  // while building
  std::vector<int32_t> waiters_offset_, waiters_, wait_count_;
};

// Rule 2's path of every node under critical-path order: its minimum time plus the largest path
// among those that wait for it; crossings and views take none, and a collective its time.
std::vector<Nanos> PathsOf(const Step& step, const Waits& waits);

}  // namespace placewright::check

#endif  // CHECK_PLAN_WAITS_H_
