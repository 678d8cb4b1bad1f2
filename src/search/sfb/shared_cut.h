// One minimum cut for all gradients of a device set together: what TAG's program (sfb_program.h) does not see.
//
//   min  sum_i alpha_i (t_i(B) - t_i(B/D)) + sum_j b_j gather(j) - sum_j alpha_from(j) saved(j)
//        b_j >= alpha_i - alpha_from(j)  for every node i that reads tensor j
//
// over all nodes of the step, not those of one op group. Deviations from the paper:
//   - a tensor is paid once, however many duplicated ops read it (the three gradients of Q, K and V share x); in
//     the cut it is a node that its readers draw to their side
//   - an op is paid what it takes whole (t_i(B), the batch of all devices) beyond its part, both as the cost model
//     says: twice the batch takes less than twice the time where launching dominates
//   - gather(j) is the time of an AllGather of the tensor, or of an AllReduce where its parts are added up;
//     saved(j) that of the AllReduce of a gradient, or with parameter servers of a Broadcast there and one back:
//     cost/communication.h, with latencies and the fastest algorithm. One cut: an op between two gradients saves
//     both
//   - what all devices need whole as the layouts are (`completed`) costs its readers nothing, and saves its
//     exchange where it is duplicated, gradient or not
// As in the paper, computing and communicating add up; whether a step is faster, a simulation says
// (sfb_search.h).
#ifndef PLACEWRIGHT_SEARCH_SFB_SHARED_CUT_H_
#define PLACEWRIGHT_SEARCH_SFB_SHARED_CUT_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cost/communication.h"
#include "search/sfb/replicated_step.h"

namespace placewright {

// Duplicated nodes that share tensors, and what they gain by the formula above, in ns; at least 0.
struct CutPiece {
  std::vector<int32_t> nodes;  // ascending
  int64_t gain = 0;
};

// The smallest optimal set, in connected pieces: the greatest gain first, then by first node. `price`: by what
// the times of ops are multiplied, 1 or more; sets of higher prices are parts of those of lower ones. Errors: those of
// Communication::Estimate.
Result<std::vector<CutPiece>> CutForAllGradients(const ReplicatedStep& step,
                                                 const Communication& communication,
                                                 int64_t price = 1);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_SFB_SHARED_CUT_H_
