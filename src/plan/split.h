// A split: which nodes of a pipeline workload run on which accelerator, the others on CPUs. The
// form in which the dnn-partitioning benchmarks state their placements.
#ifndef PLACEWRIGHT_PLAN_SPLIT_H_
#define PLACEWRIGHT_PLAN_SPLIT_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "plan/pipeline_workload.h"

namespace placewright {

// Ids of nodes as listed: they may repeat, be unknown to the workload, or be left out; what that
// means is the reader's.
struct Split {
  std::vector<std::vector<int64_t>> accelerators;  // entries may be empty
  std::vector<std::vector<int64_t>> cpus;
};

// Where a node runs: on entry `entry` of `accelerators`, or of `cpus`.
struct SplitDevice {
  bool accelerator = false;
  int32_t entry = -1;  // -1: nowhere
  bool listed() const { return entry >= 0; }
  friend bool operator==(SplitDevice, SplitDevice) = default;
};

// The device of every node. An id listed twice counts where it is listed last (CPUs come first,
// then the accelerators in order); ids that the workload does not have are skipped. A node that is
// not listed goes where the listed nodes of its colour class are, so that a split may name forward
// nodes only; all CPUs are one device to that rule, and the node then follows the last of its
// peers. Errors: kSplitIncomplete (not listed, nor is any peer), kSplitAmbiguous (peers on several
// devices).
Result<std::vector<SplitDevice>> DevicesOfNodes(const PipelineWorkload& workload,
                                                const Split& split);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_SPLIT_H_
