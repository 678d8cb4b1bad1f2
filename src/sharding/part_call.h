// The call that computes an op on a part of one of its axes: the op with the sizes of the part, or what
// the op's rule names in its place.
#ifndef PLACEWRIGHT_SHARDING_PART_CALL_H_
#define PLACEWRIGHT_SHARDING_PART_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/box.h"
#include "sharding/op_rule.h"

namespace placewright {

struct PartCall {
  std::string type;
  std::vector<Value> args;
  std::vector<NamedValue> attributes;
};

// `split`: of which axes it is a part. `sizes`: how long each axis of the rule is in it. Numbers that are no
// sizes keep the value that they have for the whole, and a place argument is an empty list. Precondition:
// `rule` is the op's. Of a mean, with weights or without, this is the sum without the division. Norms have no
// such call for parts of what is synchronised.
PartCall CallOnPart(const Op& op, const OpRule& rule, const SmallVector<RuleAxisId>& split,
                    const IdVector<RuleAxisId, int64_t>& sizes);

// That of an op whose instances do everything: its own, or, where what the op reads may have been put together
// anew, with other strides than the op states, what its rule names for parts. `rule`: nullptr where it has none.
PartCall CallOnWhole(const Op& op, const OpRule* rule);

// The argument of a call on a part that says which part of a tensor it is of.
struct PlaceArgument {
  int32_t argument = -1;  // -1: the call has none
  bool of_output = true;  // the tensor is output 0; else input 0
  RuleAxisId
      axis;  // of which alone it states the part (AxisPartOp); none: of all by which the op is split
  bool uneven = false;  // AxisPartOp::uneven

  bool there() const { return argument >= 0; }
  const TensorAxes& TensorOf(const OpRule& rule) const {
    return of_output ? rule.outputs[0] : rule.inputs[0];
  }
  // States in the call which part of that tensor: of the whole, where the op itself has a part. Precondition: it is
  // there.
  void Set(const TensorBox& box, PartCall& call) const;
};
PlaceArgument PlaceArgumentOf(const OpRule& rule, RuleAxisId axis);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_PART_CALL_H_
