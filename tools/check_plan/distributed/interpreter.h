// A compiled step read as what it says it is: the original step, computed in pieces.
//
// Every tensor of the step is followed from the inputs on: which part of which tensor of the original it is,
// at which version of its storage, and whether all of it or shares of a sum (held.h). Each instance of an op
// must be one that the op's rule licenses (sharding/op_rule.h, itself proven by execution): given these inputs,
// it computes this box of every output, a share of a sum, or all of it. The boxes of an op's instances cover its
// axes; equal ones are those of replicas, which compute the same. The shares of a sum are added up once each before
// anything reads them that is not linear. In the end every piece of what the next step reads is up to date.
//
// By induction over the order of the ops this proves that outputs and kept storages are those of the original,
// but for the rounding of sums that are associated otherwise. Batch norms in parts, which are several ops, are
// proven by what they compute (norms/norm_check.h). What it cannot prove (batch norms with statistics of each
// part, where the plan says so; draws of random numbers in parts) is listed, and taken to be what the step says.
#ifndef CHECK_PLAN_DISTRIBUTED_INTERPRETER_H_
#define CHECK_PLAN_DISTRIBUTED_INTERPRETER_H_

#include <vector>

#include "check_plan/distributed/part.h"
#include "check_plan/violation.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"

namespace placewright::check {

// What an instance computes of its op. Not found: it is behind a violation, or not proven.
struct FoundCut {
  bool found = false;
  Cut cut;
};

struct Findings {
  MaybeViolation violation;           // the first one in the order of execution
  std::vector<Violation> not_proven;  // kNotProven, one for each op of the original
  IdVector<OpId, FoundCut> cuts;      // by op of the step
};

// `local_batch_norm`: the plan says that batch norms may have statistics of each part, which is another step.
// O(ops + edges), times the devices of a sum; of batch norms also their channels.
Findings Interpret(const Graph& original, const DistributedStep& step,
                   bool local_batch_norm = false);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_INTERPRETER_H_
