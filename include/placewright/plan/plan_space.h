// Spaces of plans. A lower bound, and every proof, holds for one of them: a plan that may split ops
// can be faster than any plan of whole ops.
#ifndef PLACEWRIGHT_PLAN_PLAN_SPACE_H_
#define PLACEWRIGHT_PLAN_PLAN_SPACE_H_

#include <placewright/base/result.h>

#include <cstdint>
#include <string_view>

namespace placewright {

enum class PlanSpace : uint8_t {
  kPlaced,      // every op whole, on one device
  kReplicated,  // ops may be split or copied over devices
  kPipelined,   // and the batch cut into micro-batches: named, but neither planned nor read
};
std::string_view ToString(PlanSpace space);  // "placed", "replicated", "pipelined"
// Never kPipelined. Errors: kField.
Result<PlanSpace> ParsePlanSpace(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_PLAN_SPACE_H_
