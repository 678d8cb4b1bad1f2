// Learned planners (Mars, EAGLE, HDP, GDP, ...) for PlanRequest::planners:
//
//   request.algorithm = "gdp";
//   request.planners = placewright::LearnedPlanners({"learning_rate=0.001"});
//
// They start without a policy, where the program takes one that comes with it.
// The library that includes LibTorch is opened when one of them begins to plan (PLACEWRIGHT_TORCH_LIBRARY in the
// environment, or where Placewright is installed).
#ifndef PLACEWRIGHT_TORCH_API_LEARNED_PLANNERS_H_
#define PLACEWRIGHT_TORCH_API_LEARNED_PLANNERS_H_

#include <placewright/base/result.h>

#include <memory>
#include <string>
#include <vector>

namespace placewright {

class Planner;

// Those that need LibTorch. `settings`: "NAME=VALUE", of the one that plans (`placewright train ALGO --settings` lists them). What is
// wrong with one is an error of planning, as is a library that cannot be opened.
std::vector<std::shared_ptr<const Planner>> LearnedPlanners(
    const std::vector<std::string>& settings = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_LEARNED_PLANNERS_H_
