// What a placement demands of one step, worked out anew from graph and placement: which bytes each
// op reads, where storages live, and which of them must cross to which device.
#ifndef CHECK_PLAN_STEP_H_
#define CHECK_PLAN_STEP_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "check_plan/violation.h"
#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"

namespace placewright::check {

// Where the content of a storage is from the beginning.
enum class Residence : uint8_t {
  kEverywhere,  // an input without writers
  kHome,        // parameters, optimizer state, buffers, constants: for the whole step
  kProduced     // made by an op of the step, which is at home
};

// A content that is moved and kept as one: a byte range of one version of one storage.
struct Slice {
  StorageId storage;
  int32_t version = 0;
  Bytes offset, length;
  std::vector<OpId> readers;  // ascending; views read nothing

  auto Key() const { return std::tie(storage, version, offset, length); }
};

// A slice that must cross to a device.
struct Crossing {
  int32_t slice = 0;
  DeviceId to;
  int32_t span = -1;  // its entry in Schedule::transfers, once matched
};

// The plan under check. All references outlive the Step.
struct StepInputs {
  const Graph& graph;
  const Cluster& cluster;
  const CostTable& costs;
  const Placement& placement;
  const Schedule& schedule;
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
};

class Step {
 public:
  // Precondition: the placement covers every op; tables have the graph's and cluster's sizes.
  explicit Step(const StepInputs& inputs);

  const Graph& graph() const { return in_.graph; }
  const Cluster& cluster() const { return in_.cluster; }
  const CostTable& costs() const { return in_.costs; }
  const Placement& placement() const { return in_.placement; }
  const Schedule& schedule() const { return in_.schedule; }
  SchedulingPolicy policy() const { return in_.policy; }

  Residence residence(StorageId id) const { return residence_[id]; }
  // Invalid for kEverywhere and for storages that nothing touches.
  DeviceId home(StorageId id) const { return home_[id]; }
  const std::vector<Slice>& slices() const { return slices_; }  // by Key()
  const std::vector<int32_t>& slices_of(OpId op) const { return slices_of_[op]; }
  // By (slice, device).
  const std::vector<Crossing>& crossings() const { return crossings_; }
  // The crossing that brings `slice` to `device`, or -1: it is there anyway.
  int32_t FindCrossing(int32_t slice, DeviceId device) const;

  // The op that made the slice's content in this step; invalid: it is there from the beginning.
  OpId WriterOf(const Slice& slice) const {
    return in_.graph.storage(slice.storage).versions[slice.version].writer;
  }
  const CostTable::CollectiveCost& cost(CollectiveId id) const {
    return in_.costs.collectives()[id];
  }
  bool IsMember(OpId op) const { return in_.graph.collective_of(op).valid(); }
  // Start and end of the op, or of the transfer of a crossing. A collective has those of its members.
  const OpSpan& span(OpId op) const { return in_.schedule.ops[op]; }
  const OpSpan& span(CollectiveId id) const {
    return span(in_.graph.collective(id).members.front());
  }
  const TransferSpan& span(const Crossing& crossing) const {
    return in_.schedule.transfers[crossing.span];
  }

  // Pairs every crossing with exactly one entry of the schedule, from its home, over a route.
  MaybeViolation MatchTransfers();

  std::string Name(OpId op) const;                   // "mm_1"
  std::string Name(CollectiveId id) const;           // "the collective \"grad.all_reduce\""
  std::string Name(const Crossing& crossing) const;  // "w version 0 bytes [0, 4000) to host0/gpu1"
  std::string Place(OpId op) const;                  // "schedule: ops[3] (mm_1)"
  std::string Place(CollectiveId id) const;          // that of its first member
  std::string Place(const Crossing& crossing) const;

 private:
  void FindHomes();
  void CollectSlices();
  void CollectCrossings();

  StepInputs in_;
  IdVector<StorageId, Residence> residence_;
  IdVector<StorageId, DeviceId> home_;
  std::vector<Slice> slices_;
  IdVector<OpId, std::vector<int32_t>> slices_of_;
  std::vector<Crossing> crossings_;
};

// The storage and version that an op reads by its i-th input: the newest before it in file order.
std::pair<StorageId, int32_t> ContentRead(const Graph& graph, OpId op, size_t input);

}  // namespace placewright::check

#endif  // CHECK_PLAN_STEP_H_
