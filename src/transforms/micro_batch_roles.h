// What each op and tensor of a step is when its batch is cut into micro-batches (internal to the module): done
// once, or for every micro-batch, or once behind the last one. It follows from the rules of its operators.
#ifndef PLACEWRIGHT_TRANSFORMS_MICRO_BATCH_ROLES_H_
#define PLACEWRIGHT_TRANSFORMS_MICRO_BATCH_ROLES_H_

#include "base/result.h"
#include "graph/graph.h"
#include "plan/box.h"
#include "sharding/named_axes.h"

namespace placewright {

enum class OpTurn : uint8_t {
  kBefore,  // once, and a micro-batch reads what it makes
  kEach,    // for every micro-batch
  kAfter    // once, behind the last micro-batch
};

enum class TensorTurn : uint8_t {
  kBefore,  // there is one, before what reads it; micro-batches read it, or their intervals of it
  kParts,   // every micro-batch has its interval
  kOwn,  // every micro-batch has one of its own: the statistics of a batch norm, counts of its rows
  kAlike,  // every micro-batch makes the same
  kSums,   // every micro-batch has a share of a sum
  kAfter   // there is one, behind the last micro-batch
};

struct MicroBatchRoles {
  IdVector<OpId, OpTurn> ops;
  IdVector<OpId, RuleAxisId>
      split;  // of those of each micro-batch: which axis of the rule is the batch; or none
  IdVector<TensorId, TensorTurn> tensors;
  IdVector<TensorId, AxisPlace> batch;  // of kParts: where the batch lies in it
  // Of kSums: it is read whole, so that it is added up over the micro-batches.
  IdVector<TensorId, bool> added_up;
  // Of losses that are means with weights: their total weight is found before the first micro-batch, from the
  // targets.
  IdVector<OpId, bool> weighs_targets;
  // Inputs that a micro-batch adds into, so that it needs one of its own, and only the first what was in it.
  bool IsAddedInto(const Graph& graph, const NamedAxes& axes, OpId op, size_t input) const;
};

// `axes`, which have a batch, are the step's. Errors: kTransform, by op, for an op that has the batch without a rule
// that cuts it, one that draws from a sequential generator, one that needs a sum over the whole batch before
// the last micro-batch, and one that writes into what others of the batch have.
// `chunk_of`: of a pipeline, or empty; what different chunks make of one gradient is added up by each of them.
// Complexity: O(ops + edges), once for each loss whose targets the step makes itself.
Result<MicroBatchRoles> RolesOverMicroBatches(const Graph& step, const NamedAxes& axes,
                                              const IdVector<OpId, int32_t>& chunk_of);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_MICRO_BATCH_ROLES_H_
