// A learned planner that lives in the library with LibTorch, as an entry of a table without it.
#ifndef PLACEWRIGHT_TORCH_API_LIBRARY_PLANNER_H_
#define PLACEWRIGHT_TORCH_API_LIBRARY_PLANNER_H_

#include <memory>

#include "search/planner_table.h"
#include "torch_api/learned_algorithms.h"

namespace placewright {

// `algorithm` must outlive it. The library is opened where it begins to plan. Its errors are, besides those of the
// planner, those of opening the library.
std::shared_ptr<const Planner> MakeLibraryPlanner(const LearnedAlgorithm& algorithm,
                                                  const PlannerSettings& settings);

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_LIBRARY_PLANNER_H_
