// Applies --pin, --forbid, --colocate and --colocate-each to colocation groups.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_CONSTRAINTS_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_CONSTRAINTS_H_

#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/module_globs.h"
#include "search/problem/problem.h"

namespace placewright {

// The devices that a name or glob means. Errors: kConstraint with near names when there is none.
Result<std::vector<DeviceId>> DevicesMatching(const Cluster& cluster, std::string_view glob);

// The ops of each module that a glob names: of the outermost ones whose path matches, everything
// at or below them, by smallest op id. So "layers.*" is every layer, not every module in it. The
// same views are left out as by OpsMatching; the root module is none.
std::vector<std::vector<OpId>> ModulesMatching(const Graph& graph, std::string_view glob);

// Joins groups along `colocate` and `colocate_each`: op -> dense group index, groups ordered by
// smallest op id. Errors: kConstraint with near names where a glob matches nothing.
Result<IdVector<OpId, ColocationGroupId>> JoinGroups(const Graph& graph,
                                                     const Constraints& constraints);

// What pins and forbids leave of the devices of every group, before `supports` is asked; row-major
// groups x devices. Errors: kConstraint (nothing matched, or nothing left: which rules hold the
// group, and by which of its ops).
Result<std::vector<char>> ConstrainedDevices(const Graph& graph, const Cluster& cluster,
                                             const Constraints& constraints,
                                             const IdVector<OpId, ColocationGroupId>& group_of,
                                             size_t groups);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_CONSTRAINTS_H_
