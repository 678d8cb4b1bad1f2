// Paper mode: TAG's program (sfb_program.h) for every gradient of a replicated step, V and E inside the op group
// of METIS that the gradient's op is in.
#ifndef PLACEWRIGHT_SEARCH_SFB_GROUP_PROGRAMS_H_
#define PLACEWRIGHT_SEARCH_SFB_GROUP_PROGRAMS_H_

#include <cstdint>
#include <vector>

#include "search/sfb/replicated_step.h"
#include "search/sfb/sfb_program.h"

namespace placewright {

// Of one gradient.
struct GroupProgram {
  SfbProgram program;
  std::vector<int32_t> nodes;  // [op of the program] node of the step
  size_t gradient = 0;         // in ReplicatedStep::tensors
};

// Makes the programs one after the other, in memory of its own.
class GroupPrograms {
 public:
  // `op_groups`: the op group of every colocation group (graph/partition/tag_groups.h). `bandwidth`: tau.
  GroupPrograms(const ReplicatedStep& step, const IdVector<GroupId, int32_t>& op_groups,
                BytesPerSecond bandwidth);

  // The program of `step.gradients[index]`. It has the ops of the op group that lead to the gradient or would be
  // duplicated with them; the others are 0 at an optimum. Valid until the next call.
  const GroupProgram& Make(size_t index);

 private:
  void Visit(int32_t node);
  void AddTensors();
  int32_t OpGroup(int32_t node) const { return op_group_[static_cast<size_t>(node)]; }

  const ReplicatedStep& step_;
  std::vector<int32_t> op_group_;
  std::vector<std::vector<size_t>> reads_, makes_;  // by node: tensors
  std::vector<int32_t> op_of_;                      // by node: op of the program, or -1
  GroupProgram made_;
};

// The lowest bandwidth of the routes between two of the devices.
BytesPerSecond BottleneckOf(const Cluster& cluster, const std::vector<DeviceId>& devices);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_SFB_GROUP_PROGRAMS_H_
