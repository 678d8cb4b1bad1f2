// What every constructive planner is given, and the wrapper that makes a Planner of it.
#ifndef PLACEWRIGHT_SEARCH_CONSTRUCTIVE_PLACER_H_
#define PLACEWRIGHT_SEARCH_CONSTRUCTIVE_PLACER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/planner.h"
#include "search/problem/candidate_devices.h"
#include "search/problem/group_info.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

struct PlacerInput {
  const Problem& problem;
  const OpGraph& graph;
  const CandidateDevices& candidates;
  const GroupInfos& groups;
  uint64_t seed = 0;
  int attempt = 0;  // 0, 1, ...: each keeps more memory free, or takes the next device
  // heft and m-etf: transfers count this many times, since these methods do not see them queue.
  int64_t transfer_factor = 1;
  std::vector<std::string>* notes = nullptr;  // what a user should know of how it was placed
  bool* cut_short = nullptr;                  // set where the budget ended a part of it
  Budget budget{};  // what takes long looks at it, and goes on with less once it has expired
};

// The device of every colocation group, each of its CandidateDevices::any.
using PlaceFunction = std::function<GroupPlacement(const PlacerInput&)>;

// `place`, and of candidates with `connections` the connected placement nearest to its own, if
// found.
GroupPlacement PlaceConnected(const PlaceFunction& place, const PlacerInput& input);

// Runs `place` with attempts 0, 1, ... below `attempts` and takes the first plan that fits in
// memory when simulated; if none does, the one with the smallest overflow (the first of equals).
// Where some devices do not reach each other it does so twice, confined to devices that do and over
// all, and takes the better plan. Each note that a placement leaves is passed on once. Errors:
// kUnreachable.
Result<PlannerResult> PlanInAttempts(std::string_view name, const PlaceFunction& place,
                                     int attempts, const Problem& problem, Evaluator& evaluator,
                                     const PlannerOptions& options);

// PlanInAttempts as a Planner.
class ConstructivePlanner : public Planner {
 public:
  ConstructivePlanner(std::string_view name, std::string_view description, PlaceFunction place,
                      int attempts)
      : name_(name), description_(description), place_(std::move(place)), attempts_(attempts) {}

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return description_; }
  bool iterative() const override { return false; }
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override {
    return PlanInAttempts(name_, place_, attempts_, problem, evaluator, options);
  }

 private:
  std::string_view name_, description_;
  PlaceFunction place_;
  int attempts_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONSTRUCTIVE_PLACER_H_
