// What a step that a set of devices replicates along the batch exchanges: the data that sufficient factor
// broadcasting decides on.
//
// Nodes are colocation groups, since a layout belongs to one; a gradient's views are contracted into the op that
// makes it. A group none of whose ops computes a part is no node: every device has all of it already.
//
// The states of tensors follow from the rules as in compile/instances.h; times are those of the compiled
// step's instances. Where the compiler knows better (a write in place that keeps an op whole), costs here are
// estimates; what a layout means is the compiler's alone.
#ifndef PLACEWRIGHT_SEARCH_SFB_REPLICATED_STEP_H_
#define PLACEWRIGHT_SEARCH_SFB_REPLICATED_STEP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "plan/layout.h"
#include "search/evaluator.h"
#include "search/problem/layout_problem.h"

namespace placewright {

struct ReplicatedStep {
  static constexpr int32_t kOutside = -1;

  struct Node {
    GroupId group;
    Nanos part;           // of its instances on the device that takes longest
    Nanos whole;          // of its ops, all of them, there
    bool pinned = false;  // may not be duplicated: a norm with statistics of each part alone
  };
  // What a node (or something outside) makes, as its readers need it: a storage at a version.
  struct Tensor {
    int32_t from = kOutside;
    Bytes whole, slice;  // slice: of the largest part; of a sum its whole size
    bool sum = false;    // the parts are added up, not put together
    // Something needs all of it as the layouts are: a gradient's update, say.
    bool completed = false;
    std::vector<int32_t> readers;  // nodes, ascending, distinct, without `from`
    std::vector<int32_t> adders;   // of a sum: those that take its parts and give parts of a sum
    // The group of the parameter that is updated by it, or none: the tensor is then its gradient.
    GroupId updates;
  };

  std::vector<DeviceId> devices;       // of the shares
  std::vector<Node> nodes;             // by group, ascending
  IdVector<GroupId, int32_t> node_of;  // kOutside: none
  std::vector<Tensor> tensors;    // that a node reads or makes, but for what is whole everywhere
  std::vector<size_t> gradients;  // indices of tensors with `updates`
  bool servers = false;           // some of those parameters are on one device each
};

// One for each set of shares of the batch over two devices or more, in the order of the layouts. `instances`: of
// the problem's step by `layouts`, which are resolved.
std::vector<ReplicatedStep> FindReplicatedSteps(const LayoutProblem& problem,
                                                const Layouts& layouts, bool local_batch_norm,
                                                std::span<const Feedback::Instance> instances);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_SFB_REPLICATED_STEP_H_
