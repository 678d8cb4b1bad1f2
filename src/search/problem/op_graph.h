// The dependencies of one problem between exec ops (ops that are no views), as planners and bounds
// see them: what an op reads, who made it, where content from before the step lives.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_OP_GRAPH_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_OP_GRAPH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/csr.h"
#include "search/problem/group_id.h"
#include "search/problem/problem.h"

namespace placewright {

// One (storage, version, byte range) that an op reads. Exactly one of the four origins holds:
// made by `producer`; at home with `home_group`; at home on `home_device`; resident everywhere.
struct OpInput {
  SliceId crossing;              // what crosses to a device once
  ExecOpId producer;             // or none
  ColocationGroupId home_group;  // whose device is home, or none
  DeviceId home_device;          // that the file gives, or none
  int64_t length = 0;            // bytes that move
  int64_t bytes = 0;             // that a copy occupies
};

struct OpGraph {
  int32_t ops = 0, devices = 0;
  IdVector<ExecOpId, ColocationGroupId> group_of;
  IdVector<ExecOpId, Phase> phase;
  std::vector<ExecOpId> order;  // topological
  Csr<ExecOpId, OpInput> inputs;
  Csr<ExecOpId, ExecOpId> before;      // ops that must end first without giving data: `after`, and
                                       // write-after-read within one colocation group
  Csr<ExecOpId, ExecOpId> successors;  // all ops that wait for this one, ascending, distinct

  IdRange<ExecOpId> exec_ops() const { return IdRange<ExecOpId>(group_of.size()); }
  IdRange<DeviceId> device_ids() const { return IdRange<DeviceId>(devices); }
  std::span<const OpInput> Inputs(ExecOpId op) const { return inputs[op]; }
  std::span<const ExecOpId> Before(ExecOpId op) const { return before[op]; }
  std::span<const ExecOpId> Successors(ExecOpId op) const { return successors[op]; }
  // The group that holds what the input reads before it crosses, if one does.
  ColocationGroupId SourceOf(const OpInput& input) const {
    return input.producer.valid() ? group_of[input.producer] : input.home_group;
  }
};

// O(ops + edges).
OpGraph BuildOpGraph(const Problem& problem);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_OP_GRAPH_H_
