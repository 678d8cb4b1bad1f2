#include "plan/plan_space.h"

#include <string>

#include "base/text.h"
#include "plan/space_words.h"

namespace placewright {

std::string_view ToString(PlanSpace space) {
  switch (space) {
    case PlanSpace::kPlaced: return "placed";
    case PlanSpace::kReplicated: return "replicated";
    case PlanSpace::kPipelined: return "pipelined";
  }
  return "";
}

const SpaceWords& WordsOf(PlanSpace space) {
  static constexpr SpaceWords kWhole{"placements of whole ops", "placement of whole ops",
                                     "every op whole, on one device", "places whole ops"};
  static constexpr SpaceWords kInParts{"plans that may split or copy ops",
                                       "plan that may split or copy ops",
                                       "ops split and copied over devices", "splits ops otherwise"};
  switch (space) {
    case PlanSpace::kPlaced: return kWhole;
    case PlanSpace::kReplicated:
    case PlanSpace::kPipelined: break;
  }
  return kInParts;
}

Result<PlanSpace> ParsePlanSpace(std::string_view text) {
  for (const PlanSpace space : {PlanSpace::kPlaced, PlanSpace::kReplicated}) {
    if (ToString(space) == text) return space;
  }
  return MakeError(ErrorCode::kField, "there is no plan space \"" + Printable(text, 40) + "\"", "",
                   "The spaces are placed and replicated.");
}

}  // namespace placewright
