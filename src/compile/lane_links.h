// What the collectives of a step in lanes (compile/lane_classes.h) hold (internal to the module).
//
// Collectives of one class run at the same times, so that links over which the same classes go, equally often, are
// alike: one stands for all of them, and a collective holds it as often as its class goes over it.
#ifndef PLACEWRIGHT_COMPILE_LANE_LINKS_H_
#define PLACEWRIGHT_COMPILE_LANE_LINKS_H_

#include <vector>

#include "base/result.h"
#include "compile/step_arrays.h"
#include "cost/communication.h"

namespace placewright {

struct LaneCollective {
  Nanos time;
  std::vector<LinkId> links;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kNone;
  CostSource source = CostSource::kModelled;
};

struct LaneLinks {
  std::vector<LaneCollective> collectives;  // of arrays.joined, in their order
  IdVector<LinkId, LinkId> held, taken;     // by collectives and by transfers, for this one
};

// Errors: kPlanInvalid where collectives of a class take different times or meet
// different ones on their links, where several of one hold a link that only one can have (rule 15), or where transfers of
// two lanes share a link, or do not have routes that are alike; those of Communication::Estimate.
Result<LaneLinks> FindLaneLinks(const StepArrays& arrays, const Communication& communication);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_LANE_LINKS_H_
