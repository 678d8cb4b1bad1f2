// The call that computes an op on a part of one of its axes: the op with the sizes of the part, or what
// the op's rule names in its place.
#ifndef PLACEWRIGHT_SHARDING_PART_CALL_H_
#define PLACEWRIGHT_SHARDING_PART_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "sharding/op_rule.h"

namespace placewright {

struct PartCall {
  std::string type;
  std::vector<Value> args;
  std::vector<NamedValue> attributes;
};

// `axis`: of which axis it is a part. `sizes`: how long each axis of the rule is in it. Numbers that are no
// sizes keep the value that they have for the whole, and a place argument is an empty list. Precondition:
// `rule` is the op's. Of a mean, with weights or without, this is the sum without the division. Norms have no
// such call for parts of what is synchronised.
PartCall CallOnPart(const Op& op, const OpRule& rule, RuleAxisId axis,
                    const IdVector<RuleAxisId, int64_t>& sizes);

// The argument of that call that says which part of a tensor it is of.
struct PlaceArgument {
  int32_t argument = -1;  // -1: the call has none
  bool of_output = true;  // the tensor is output 0; else input 0

  const TensorAxes& TensorOf(const OpRule& rule) const {
    return of_output ? rule.outputs[0] : rule.inputs[0];
  }
};
PlaceArgument PlaceArgumentOf(const OpRule& rule, RuleAxisId axis);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_PART_CALL_H_
