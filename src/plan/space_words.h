// Spaces of plans in sentences.
#ifndef PLACEWRIGHT_PLAN_SPACE_WORDS_H_
#define PLACEWRIGHT_PLAN_SPACE_WORDS_H_

#include <string_view>

#include "plan/plan_space.h"

namespace placewright {

// "placements of whole ops", "placement of whole ops", ...
struct SpaceWords {
  std::string_view plans, plan;
  std::string_view how;   // what becomes of ops: "every op whole, on one device"
  std::string_view does;  // what an algorithm of it does: "places whole ops"
};
const SpaceWords& WordsOf(PlanSpace space);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_SPACE_WORDS_H_
