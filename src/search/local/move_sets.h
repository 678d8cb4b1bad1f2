// The sets of colocation groups that local search moves together.
//
//  * branches: a parameter's group with the backward groups whose results reach nothing but that
//    parameter's update (its weight gradient), and these groups without the parameter;
//  * modules: the groups below every module path, by role: forward, backward, branches, all;
//  * patterns: the groups of a leaf module that play the same part (patterns.h), such as one
//    product of every time step;
//  * windows: every leaf module's groups of one role, every pattern, and all groups, halved again
//    and again by position in the step.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_MOVE_SETS_H_
#define PLACEWRIGHT_SEARCH_LOCAL_MOVE_SETS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/csr.h"
#include "search/problem/group_info.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

using MoveSetId = Id<struct MoveSetTag>;

class MoveSets {
 public:
  // O(groups * depth of modules * log groups).
  MoveSets(const Problem& problem, const OpGraph& graph, const GroupInfos& groups);

  size_t size() const { return members_.offsets.size() - 1; }
  // Ascending groups, at least two.
  std::span<const ColocationGroupId> members(MoveSetId move_set) const {
    return members_[move_set];
  }
  // The move sets that hold a group, ascending.
  std::span<const MoveSetId> Of(ColocationGroupId group) const { return of_group_[group]; }

 private:
  using GroupSet = std::vector<ColocationGroupId>;
  using GroupToGroup = IdVector<ColocationGroupId, ColocationGroupId>;

  void Add(GroupSet groups);
  void AddBranches(const GroupToGroup& branch_of);
  void AddModules(const Problem& problem, const GroupInfos& groups, const GroupToGroup& branch_of);
  void AddPatterns(const Problem& problem, const OpGraph& graph, const GroupInfos& groups);
  void AddHalves(GroupSet by_position);
  void Finish(size_t groups);

  std::vector<GroupSet> sets_;  // while building
  Csr<MoveSetId, ColocationGroupId> members_;
  Csr<ColocationGroupId, MoveSetId> of_group_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_MOVE_SETS_H_
