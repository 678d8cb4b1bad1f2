#include "search/local/local_run.h"

#include <algorithm>

namespace placewright {

LocalProblem::LocalProblem(const Problem& of, CandidateScope scope)
    : problem(of),
      graph(BuildOpGraph(problem)),
      candidates(FindCandidateDevices(problem, graph, scope)),
      groups(DescribeGroups(problem, graph)) {}

bool LocalProblem::HasChoice() const {
  return std::any_of(candidates.any.begin(), candidates.any.end(),
                     [](const auto& devices) { return devices.size() > 1; });
}

void LocalProblem::MakeContext() {
  move_sets.emplace(problem, graph, groups);
  context.emplace(MakeLocalContext(problem, graph, candidates, *move_sets, groups));
}

}  // namespace placewright
