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

// `sizes`: how long each axis of the rule is in the part. Numbers that are no sizes keep the value that
// they have for the whole. Precondition: `rule` is the op's. Of a mean this is the sum without the
// division; means with weights have no such call, and norms none for parts of what is synchronised.
PartCall CallOnPart(const Op& op, const OpRule& rule, const IdVector<RuleAxisId, int64_t>& sizes);

// Of a mean (PartForm::kMean): by how much the sum is divided, in every part.
int64_t DivisorOf(const OpRule& rule);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_PART_CALL_H_
